"""The agent and the kubelet come and go under running pods: nobody loses anything, and nothing is written twice."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncGenerator, Callable

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode, slices
from e2e.agent_view_kit import (
    GPU,
    SGPU,
    WHOLE_GIVEN,
    Inside,
    Setup,
    all_slices,
    empty,
    end_pods,
    inside,
    left_on,
    metax,
    on,
    run_here,
    running,
    slice_of,
    whole_pod,
)
from e2e.agent_watch_kit import (
    annotations,
    listed_cards,
    pod_annotations,
    until,
    until_annotation,
    until_counts,
)
from e2e.restarts_kit import PATIENCE, container_status, end_container, restart_kubelet, restarted
from tangram.model.devices import Slice
from testbed.api import Object, path_of
from testbed.manifests import container, is_over, pod

pytestmark = pytest.mark.xdist_group("agent and restarts")

MIXED = Setup(
    "mixed",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 2}\n- {product: C500, count: 2, sliced: true}\n",
    {GPU: 2, SGPU: 32},
    "mode: mixed\nslicedCards: [2, 3]\n",
)
AGENT = "tangram.dev/agent"
WRITES = "tangram_agent_api_writes_total"
REGISTERED = re.compile(r"registered with the kubelet resource=(\S+) seconds=([0-9.]+)")
PODS = ("whole", "slice", "after-init")


@pytest_asyncio.fixture
async def node(standing: AgentNode) -> AsyncGenerator[AgentNode]:
    await until_all(standing)
    yield standing
    await empty(standing)


async def until_all(node: AgentNode) -> None:
    await until_counts(node, GPU, 2, 2, fresh=True)
    await until_counts(node, SGPU, 32, 32)
    await until_annotation(node, AGENT, lambda value: value == "serving", "the agent serves")


async def populate(node: AgentNode) -> None:
    """A pod with a whole card, one with a slice, and one whose init container had a slice and is over."""
    cards = metax(node)
    await run_here(node, whole_pod("whole", 1))
    await node.place(pod("slice", slice_of(), restartPolicy="Always"), slices([(cards[2].uuid, 1024, 10)]))
    init = slice_of("init", cores=20, gib=2) | {"command": ["/bin/sh", "-c", "exit 0"]}
    await node.place(
        pod("after-init", slice_of(), inits=[init]),
        slices([(cards[3].uuid, 2048, 20)], [(cards[3].uuid, 1024, 10)]),
    )
    for name in PODS:
        await inside(node, name)
    # What the init container needed beyond that goes with it.
    await until(lambda: {part.memory for part in all_slices(node)} == {1 << 30}, "every slice has 1 GiB")


async def seen_in(node: AgentNode) -> dict[str, tuple[str, str, Inside]]:
    """Of each pod its uid, its container and what that finds."""
    found: dict[str, tuple[str, str, Inside]] = {}
    for name in PODS:
        one = await running(node, name)
        found[name] = (
            one["metadata"]["uid"],
            container_status(one)["containerID"],
            await inside(node, name),
        )
    return found


def made(node: AgentNode) -> list[Slice]:
    return sorted(all_slices(node), key=lambda part: part.name)


@on(MIXED)
async def test_pods_survive_a_restart_of_the_kubelet_and_the_agent_registers_again(
    node: AgentNode, record_property: Callable[[str, object], None]
) -> None:
    await populate(node)
    pods, parts = await seen_in(node), made(node)
    before = len(REGISTERED.findall(node.log()))
    await restart_kubelet(node.cluster)
    await until(
        lambda: {resource for resource, _ in REGISTERED.findall(node.log())[before:]} == {GPU, SGPU},
        "both resources are registered again",
    )
    for resource, seconds in REGISTERED.findall(node.log())[before:]:
        record_property(f"seconds without {resource}", seconds)
    await until_all(node)
    assert await seen_in(node) == pods
    assert made(node) == parts
    card = metax(node)[2]
    await node.place(pod("later", slice_of()), slices([(card.uuid, 1024, 10)]))
    assert (await inside(node, "later")).env["METAX_SGPUS"] != pods["slice"][2].env["METAX_SGPUS"]
    assert made(node) != parts


@on(MIXED)
async def test_an_agent_that_ends_tells_the_cluster_before_its_cards_are_gone(node: AgentNode) -> None:
    await populate(node)
    pods, parts = await seen_in(node), made(node)
    steps: list[tuple[str, str]] = []
    version = (await node.cluster.api.get(path_of("Node", node.name)))["metadata"]["resourceVersion"]

    async def follow() -> None:
        async for _, seen in node.cluster.api.watch(
            path_of("Node"), fieldSelector=f"metadata.name={node.name}", resourceVersion=version
        ):
            steps.append((seen["metadata"].get("annotations", {}).get(AGENT, ""), _allocatable(seen)))

    following = asyncio.create_task(follow())
    try:
        assert await node.stop_agent() == 0
        await until(lambda: ("stopping", "0") in steps, "the node has no cards to give any more")
    finally:
        following.cancel()
    told = [state for state, _ in steps].index("stopping")
    assert {allocatable for _, allocatable in steps[: told + 1]} == {"32"}
    assert await seen_in(node) == pods
    await node.start_agent()
    await until_all(node)
    assert await seen_in(node) == pods
    assert made(node) == parts


@on(MIXED)
async def test_an_agent_that_is_killed_finds_everything_as_it_was_and_writes_nothing(node: AgentNode) -> None:
    await populate(node)
    pods, parts, left = await seen_in(node), made(node), sorted(left_on(node))
    said = await told(node)
    await node.stop_agent(signal.SIGKILL)
    await node.cluster.until_node(node.name, lambda seen: _allocatable(seen) == "0", within=PATIENCE)
    assert await seen_in(node) == pods
    await node.start_agent()
    await until_all(node)
    # A pod that comes and goes makes the agent look at everything again.
    await node.cluster.api.create(pod("bystander", container(script="exit 0"), node=str(node.name)))
    await node.cluster.until_pod("bystander", is_over, within=PATIENCE)
    written = [line for line in (await node.metrics()).splitlines() if line.startswith(WRITES)]
    assert written == []
    assert await told(node) == said
    assert await seen_in(node) == pods
    assert made(node) == parts
    assert sorted(left_on(node)) == left
    # They are its own: a restart finds the same slice, and what is deleted is cleaned up.
    await end_container(node.cluster, await running(node, "slice"))
    await node.cluster.until_pod("slice", restarted(1), within=PATIENCE)
    assert await inside(node, "slice") == pods["slice"][2]
    await end_pods(node, *PODS)
    await until(lambda: not left_on(node), "slices and CDI files of the pods are gone")


@on(MIXED)
async def test_what_ended_while_the_agent_was_away_is_cleaned_up_when_it_is_back(node: AgentNode) -> None:
    await populate(node)
    await node.stop_agent(signal.SIGKILL)
    await end_pods(node, *PODS)
    assert left_on(node)
    await node.start_agent()
    await until(lambda: not left_on(node), "slices and CDI files of the pods are gone")
    await until_all(node)


async def told(node: AgentNode) -> dict[str, object]:
    """What the node and the pods say, once that is everything."""
    cards = metax(node)

    async def everything() -> bool:
        listed = await listed_cards(node)
        free = [listed[card.uuid].get("availableDevCount", 0) for card in cards[2:]]
        whole = json.loads((await annotations(node))["metax-tech.com/gpu.topology.scores"])
        memory = [listed[card.uuid]["availableVRam"] for card in cards[2:]]
        said = await pod_annotations(node, "whole")
        return (
            list(whole) == ["1"]
            and free == [15, 15]
            and memory == [63488, 63488]
            and {WHOLE_GIVEN, "hami.io/vgpu-node"} <= said.keys()
        )

    await until(everything, "the cluster knows who holds what", pause=0.2)
    return {"node": await annotations(node), **{name: await pod_annotations(node, name) for name in PODS}}


def _allocatable(seen: Object) -> str:
    return seen["status"].get("allocatable", {}).get(SGPU, "")
