"""Allocations that cannot be honoured, on the real kubelet: the container waits, somebody is told why, nothing is made,
and when the cause is gone it starts by itself.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import datetime

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.nodes_kit import until_refused
from e2e.restarts_kit import container_status, get_pod
from e2e.slice_pods_kit import (
    Part,
    annotate,
    asking,
    let_go,
    place_slice,
    promise,
    slice_pod,
    until_running,
    waiting_for_a_word,
)
from e2e.storm_kit import (
    Given,
    assert_has,
    assert_never_started,
    assert_nobody_shares,
    emptied,
    given_to,
    parts_of,
    sliced_node,
    until_event,
    uuids,
)
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("agent refusals")

Unique = Callable[[str], str]
ALLOCATED = "metax-tech.com/gpu-devices-allocated"


@pytest_asyncio.fixture(scope="module")
async def serving() -> AsyncGenerator[AgentNode]:
    async with Cluster.open(Options(nodes=1)) as cluster, sliced_node(cluster) as node:
        yield node


@pytest_asyncio.fixture
async def node(serving: AgentNode) -> AsyncGenerator[AgentNode]:
    """The module's node, which every test finds and leaves without pods, slices and CDI files."""
    yield serving
    await emptied(serving)


async def until_told(node: AgentNode, name: str, code: str) -> str:
    """The container waits with the agent's sentence, an event on the pod says it too, and nothing was started."""
    message = await until_refused(node.cluster, name, "CreateContainerConfigError", f"[{code}]")
    assert await until_event(node.cluster, name, f"[{code}]") in message
    assert_never_started(await get_pod(node.cluster, name))
    return message


def of_another_node(part: Part) -> dict[str, str]:
    """In HAMi's words, which name the node."""
    row = f"{part.card},Metax-SGPU,{part.memory},{part.cores}:;"
    return {"hami.io/metax-sgpu-devices-allocated": row, "hami.io/vgpu-node": "elsewhere"}


BAD: dict[str, tuple[Callable[[Part], Mapping[str, str]], str, str]] = {
    "garbage": (lambda _: {ALLOCATED: "mud"}, "allocation-unreadable", "not JSON"),
    "another form": (
        lambda _: {ALLOCATED: '[[{"uuid":7}]]'},
        "allocation-unreadable",
        "uuid, compute and vRam",
    ),
    "nobody's cards": (
        lambda _: {ALLOCATED: "[[]]"},
        "allocation-missing",
        "schedulerName: tangram-scheduler",
    ),
    "unknown card": (lambda part: promise(part._replace(card="GPU-X")), "card-unknown", "'GPU-X'"),
    "another node": (of_another_node, "allocation-unreadable", "'elsewhere'"),
    "more memory": (
        lambda part: promise(part._replace(memory=2 * part.memory)),
        "more-than-asked",
        "somebody else wrote this",
    ),
    "more compute": (
        lambda part: promise(part._replace(cores=2 * part.cores)),
        "more-than-asked",
        "somebody else wrote this",
    ),
    "two cards": (lambda part: promise((part, part)), "more-than-asked", "2 cards"),
    "two containers": (
        lambda part: promise(part, part),
        "allocation-unreadable",
        "more containers than it has",
    ),
    "less than a step": (lambda part: promise(part._replace(memory=64)), "memory-impossible", "128 MiB"),
}
"""What is written on the pod, the code it is refused with, and words that must be in the sentence."""


@pytest.mark.smoke
async def test_an_allocation_that_cannot_be_meant_starts_nothing_until_a_good_one_is_there(
    node: AgentNode, unique: Unique
) -> None:
    (card, _) = uuids(node)

    async def refused(number: int, case: str) -> tuple[str, Part, Mapping[str, str]]:
        annotations, code, words = BAD[case]
        name, part = unique(f"bad-{number}"), Part(card, 128 * (number + 1), number + 1)
        bad = annotations(part)
        await node.place(slice_pod(name, part), bad)
        assert words in await until_told(node, name, code), case
        return name, part, bad

    placed = await asyncio.gather(*(refused(number, case) for number, case in enumerate(BAD)))
    assert parts_of(node) == [], "nothing was made for any of them"
    for name, part, bad in placed:
        # A correction is a change of the pod, at which the kubelet tries again.
        await annotate(node, name, {**dict.fromkeys(bad), **promise(part)})
    found: list[Given] = []
    for name, part, _ in placed:
        await until_running(node, name)
        found.append(await given_to(node, name))
        assert_has(node, found[-1], part)
    assert_nobody_shares(found)


async def test_rows_that_do_not_fit_the_containers_start_none_of_them(
    node: AgentNode, unique: Unique
) -> None:
    """One row for two containers could be Koordinator's total of the pod, and nobody says whose it is."""
    card, part = uuids(node)[0], Part(uuids(node)[0], 1024, 10)
    names = ("main", "second", "third")
    for rows, count, code in ((1, 2, "allocation-per-pod"), (2, 3, "allocation-unreadable")):
        name = unique(f"rows-{rows}")
        made = pod(name, *(asking(part, each) for each in names[:count]), restartPolicy="Always")
        await node.place(made, promise(*[Part(card, 1024, 10)] * rows))
        await until_told(node, name, code)
    assert parts_of(node) == []


async def test_of_two_overlapping_allocations_the_later_bound_waits_whichever_starts_first(
    node: AgentNode, unique: Unique
) -> None:
    part = Part(uuids(node)[0], 40 * 1024, 60)
    earlier, later = unique("earlier"), unique("later")
    made = pod(earlier, asking(part), inits=[waiting_for_a_word()], restartPolicy="Always")
    await node.place(made, promise(None, part))
    bound = await node.cluster.until_pod(earlier, lambda seen: scheduled_at(seen) is not None)
    # The API server tells the moment of binding in whole seconds.
    await asyncio.sleep(max(0.0, (scheduled_at(bound) or 0) + 1.05 - time.time()))
    await place_slice(node, later, part)
    message = await until_told(node, later, "memory-oversold")
    assert f"default/{earlier}" in message, "it says who was bound before"
    await let_go(node, earlier)
    await until_running(node, earlier)
    assert_has(node, await given_to(node, earlier), part)
    await until_told(node, later, "memory-oversold")
    assert parts_of(node) == [part]
    await node.cluster.api.delete(path_of("Pod", earlier))
    # Nobody touches it: the kubelet asks again by itself.
    await until_running(node, later)
    assert_has(node, await given_to(node, later), part)


def scheduled_at(seen: Object) -> float | None:
    for one in seen.get("status", {}).get("conditions", []):
        if one["type"] == "PodScheduled" and one["status"] == "True":
            return datetime.fromisoformat(one["lastTransitionTime"]).timestamp()
    return None


@pytest.mark.smoke
async def test_an_allocation_copied_from_a_running_pod_takes_nothing_from_it(
    node: AgentNode, unique: Unique
) -> None:
    """With room beside it the copy gets a slice of its own; without, it waits. The original stays as it is."""
    owner, copy, third = unique("owner"), unique("copy"), unique("third")
    part = Part(uuids(node)[0], 20 * 1024, 40)
    await place_slice(node, owner, part)
    before = await until_running(node, owner)
    copied = {key: value for key, value in before["metadata"]["annotations"].items() if key == ALLOCATED}
    await node.place(slice_pod(copy, part), copied)
    await until_running(node, copy)
    await node.place(slice_pod(third, part), copied)
    await until_told(node, third, "compute-oversold")
    found = [await given_to(node, name) for name in (owner, copy)]
    for one in found:
        assert_has(node, one, part)
    assert_nobody_shares(found)
    now = await get_pod(node.cluster, owner)
    assert container_status(now)["containerID"] == container_status(before)["containerID"]
    assert container_status(now)["restartCount"] == 0


async def test_a_pod_whose_annotation_is_changed_while_it_runs_keeps_what_it_has(
    node: AgentNode, unique: Unique
) -> None:
    name, part = unique("changed"), Part(uuids(node)[0], 1024, 10)
    await place_slice(node, name, part)
    await until_running(node, name)
    first = await given_to(node, name)
    await annotate(node, name, promise(part._replace(card=uuids(node)[1])))
    await asyncio.sleep(2)  # an absence: two rounds of tidying
    assert parts_of(node) == [part]
    assert_has(node, first, part)
