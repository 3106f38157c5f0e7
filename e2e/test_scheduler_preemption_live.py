"""Room for the more important on a real node: victims end in their own time, and the card is in the container that
they went for.
"""

import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import (
    GPU,
    SGPU,
    VCORE,
    VMEMORY,
    WHOLE_GIVEN,
    Setup,
    all_slices,
    asking,
    inside,
    metax,
    nodes_of,
    on,
    running,
    slice_of,
)
from e2e.priorities_kit import HIGH, LOW, MIDDLE, make_priorities, ranked
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import Placement, annotations_of, apply, events_of, placing, slices_in, until_waiting
from e2e.scheduling_kit import poll_until
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, is_gone, pod

pytestmark = [pytest.mark.xdist_group("preemption on a node"), pytest.mark.usefixtures("placement")]

ONE_CARD = Setup(
    "one card",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 1, sliced: true}\n",
    {SGPU: 16},
    "mode: sgpu\n",
)
TWO_CARDS = Setup(
    "two cards", "tangram: cards/v1\ncards:\n- {product: C500, count: 2}\n", {GPU: 2}, "mode: native\n"
)
STUBBORN = "trap '' TERM; until test -e /tmp/go; do sleep 0.1; done"
"""Does not end before somebody says so, whatever signal comes."""


@pytest_asyncio.fixture(scope="module")
async def placement(bed: Cluster) -> AsyncIterator[Placement]:
    await make_priorities(bed.api)
    async with placing(bed) as ready:
        yield ready


def stubborn(name: str) -> Object:
    """A pod with half a card that takes its time to end."""
    limits: dict[str, str | int] = {SGPU: 1, VCORE: 50, VMEMORY: 8}
    return pod(name, container(script=STUBBORN, limits=limits), terminationGracePeriodSeconds=600)


async def let_end(cluster: Cluster, name: str) -> None:
    said = await cluster.kubectl("exec", name, "--", "touch", "/tmp/go")  # noqa: S108 - in the container
    assert said.status == 0, said.errors


def is_leaving(seen: Object) -> bool:
    return "deletionTimestamp" in seen["metadata"]


@on(ONE_CARD)
async def test_a_victim_ends_in_its_own_time_while_its_share_is_kept_for_the_one_it_went_for(
    node: AgentNode,
) -> None:
    cluster = node.cluster
    await apply(cluster, ranked(stubborn("victim"), LOW))
    await running(node, "victim")
    await apply(cluster, ranked(pod("equal", slice_of(cores=50, gib=8)), HIGH))
    await running(node, "equal")

    await apply(cluster, ranked(pod("urgent", slice_of(cores=50, gib=16)), HIGH))
    leaving = await cluster.until_pod("victim", is_leaving, within=PATIENCE, what="the victim leaving")
    (told,) = [one for one in leaving["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert (told["status"], told["reason"]) == ("True", "EvictionByEvictionAPI")
    nominated = await cluster.until_pod(
        "urgent", lambda seen: bool(seen["status"].get("nominatedNodeName")), within=PATIENCE
    )
    assert nominated["status"]["nominatedNodeName"] == node.name
    await apply(cluster, ranked(pod("late", slice_of(cores=50, gib=8)), HIGH))
    await until_waiting(cluster, "late")

    await let_end(cluster, "victim")
    seen = await running(node, "urgent")
    await cluster.until_pod("victim", is_gone, within=PATIENCE)
    ((card, memory, cores),) = slices_in(seen)[0]
    assert (memory, cores) == (16384, 50)
    found = await inside(node, "urgent")
    assert found.nodes == nodes_of(metax(node))
    (made,) = [one for one in all_slices(node) if f"alias={one.name}" in found.env["METAX_SGPUS"]]
    assert (made.card, made.memory >> 20, made.cores) == (card, 16384, 50)
    late = await cluster.api.get(path_of("Pod", "late"))
    assert not late["spec"].get("nodeName"), "an equal that came later has to wait"

    events = {
        (event["reason"], event["involvedObject"]["name"]) for event in await events_of(cluster, "victim")
    }
    assert ("Preempted", "victim") in events
    assert "RoomMade" in {event["reason"] for event in await events_of(cluster, "urgent")}
    await cluster.api.delete(path_of("Pod", "urgent"))
    await running(node, "late")


@on(ONE_CARD)
async def test_a_scheduler_that_dies_while_victims_end_takes_no_second_victim_when_it_is_back(
    node: AgentNode, placement: Placement
) -> None:
    cluster = node.cluster
    for name in ("victim", "with-equal-right"):
        await apply(cluster, ranked(stubborn(name), LOW))
        await running(node, name)
    await apply(cluster, ranked(pod("urgent", slice_of(cores=50, gib=16)), HIGH))
    await cluster.until_pod("victim", is_leaving, within=PATIENCE, what="the victim leaving")
    await placement.stop(signal.SIGKILL)
    await placement.start()
    # Something changes, so kube-scheduler asks the new one, which knows of no promise.
    before = len(await events_of(cluster, "urgent"))
    await cluster.api.patch(
        path_of("Node", str(node.name)), {"metadata": {"labels": {"something": "changed"}}}
    )

    async def asked_again() -> bool:
        return len(await events_of(cluster, "urgent")) > before

    await poll_until(asked_again, within=PATIENCE, what="the new one being asked")
    await let_end(cluster, "victim")
    await running(node, "urgent")
    assert not is_leaving(await running(node, "with-equal-right"))
    await let_end(cluster, "with-equal-right")


@on(TWO_CARDS)
async def test_the_container_finds_the_very_card_whose_holder_had_to_go(node: AgentNode) -> None:
    cluster = node.cluster
    for name, priority in (("cheap", LOW), ("dear", MIDDLE)):
        await apply(cluster, ranked(pod(name, asking(gpu=1)), priority))
        await running(node, name)
    found = (await inside(node, "dear")).nodes
    (card,) = [one for one in metax(node) if nodes_of([one]) == found]
    # Which of two whole cards it is, is the kubelet's choice in the end; the agent writes it down.
    await cluster.until_pod(
        "dear",
        lambda seen: card.uuid in annotations_of(seen)[WHOLE_GIVEN],
        within=PATIENCE,
        what="card noted",
    )
    urgent = ranked(pod("urgent", asking(gpu=1)), HIGH)
    urgent["metadata"]["annotations"] = {"metax-tech.com/use-gpuuuid": card.uuid}
    await apply(cluster, urgent)
    assert (await inside(node, "urgent")).nodes == nodes_of([card])
    await cluster.until_pod("dear", is_gone, within=PATIENCE)
    assert not is_leaving(await running(node, "cheap"))
