"""Slices of both vendors through the agent on a real kubelet: what is made, what a container finds, what is left."""

import pytest

from e2e.agent_kit import AgentNode, slices
from e2e.agent_view_kit import (
    CORE,
    MEMORY,
    MTHREADS_GPU,
    SGPU,
    Inside,
    Setup,
    all_slices,
    asking,
    end_pods,
    inside,
    left_on,
    metax,
    mthreads,
    nodes_of,
    on,
    room_on,
    run_here,
    running,
    share,
    slice_of,
)
from e2e.agent_watch_kit import until, until_counts, until_event
from e2e.restarts_kit import PATIENCE, end_container, restarted
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Slice
from testbed.api import path_of
from testbed.manifests import pod

pytestmark = pytest.mark.xdist_group("agent with slices")

GIB = 1 << 30
SLICED = Setup(
    "sliced",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 3, sliced: true}\n",
    {SGPU: 48},
    "mode: sgpu\n",
)
MTHREADS = Setup(
    "mthreads",
    "tangram: cards/v1\ncards:\n- {product: S4000, count: 2}\n- {product: S4000, count: 1, sliced: false}\n",
    {MTHREADS_GPU: 1, CORE: 32, MEMORY: 192},
)
QOS = "metax-tech.com/sgpu-qos-policy"
CLASS = "metax-tech.com/sgpu-app-class"


def told(card: Device, part: Slice) -> str:
    """How a container learns of its slice."""
    return f"sgpu={card.bdf}#{part.id};compute={part.cores};vram={part.memory // 2**20};alias={part.name}"


# ---- MetaX


@pytest.mark.smoke
@on(SLICED)
async def test_a_container_finds_its_slice_and_its_cards_nodes_and_nothing_is_left_of_it(
    node: AgentNode,
) -> None:
    await until_counts(node, SGPU, 48, 48)
    card = metax(node)[1]
    await node.place(pod("one", slice_of(cores=25, gib=4)), slices([(card.uuid, 4096, 25)]))
    found = await inside(node, "one")
    (part,) = all_slices(node)
    assert (part.card, part.memory, part.cores, part.online) == (card.uuid, 4 * GIB, 25, False)
    assert found == Inside({"METAX_SGPUS": told(card, part)}, nodes_of([card]))
    await end_pods(node, "one")
    await until(lambda: not left_on(node), "slice and CDI file are gone")


@on(SLICED)
async def test_two_containers_of_a_pod_have_a_slice_each(node: AgentNode) -> None:
    cards = metax(node)
    await node.place(
        pod("two", slice_of("left", cores=10, gib=1), slice_of("right", cores=20, gib=2)),
        slices([(cards[0].uuid, 1024, 10)], [(cards[0].uuid, 2048, 20)]),
    )
    found = {name: await inside(node, "two", name) for name in ("left", "right")}
    parts = {part.cores: part for part in all_slices(node)}
    assert {cores: part.memory for cores, part in parts.items()} == {10: GIB, 20: 2 * GIB}
    assert parts[10].name != parts[20].name
    assert found["left"].env["METAX_SGPUS"] == told(cards[0], parts[10])
    assert found["right"].env["METAX_SGPUS"] == told(cards[0], parts[20])


@on(SLICED)
async def test_a_container_may_have_slices_of_two_cards(node: AgentNode) -> None:
    cards = metax(node)
    await node.place(
        pod("wide", slice_of(cards=2, cores=30, gib=16)),
        slices([(cards[2].uuid, 16384, 30), (cards[0].uuid, 16384, 30)]),
    )
    found = await inside(node, "wide")
    parts = {part.card: part for part in all_slices(node)}
    assert {card: (part.memory, part.cores) for card, part in parts.items()} == {
        card.uuid: (16 * GIB, 30) for card in (cards[2], cards[0])
    }
    assert found.env["METAX_SGPUS"] == ",".join(told(card, parts[card.uuid]) for card in (cards[2], cards[0]))
    assert found.nodes == nodes_of([cards[2], cards[0]])


@on(SLICED)
async def test_the_first_pod_of_a_card_sets_its_policy_and_an_online_pods_slice_goes_first(
    node: AgentNode,
) -> None:
    cards = metax(node)
    for card, policy in zip(cards[:2], (QosPolicy.FIXED_SHARE, QosPolicy.BURST_SHARE), strict=True):
        name = policy.value
        made = pod(name, slice_of(), annotations={QOS: policy.value})
        await node.place(made, slices([(card.uuid, 1024, 10)]))
        await running(node, name)
        assert room_on(node, card).policy is policy
    online = pod("online", asking(sgpu=1, vmemory=1), annotations={CLASS: "online"})
    await node.place(online, slices([(cards[2].uuid, 1024, 0)]))
    await inside(node, "online")
    (part,) = [part for part in all_slices(node) if part.card == cards[2].uuid]
    assert part.online is True


@pytest.mark.smoke
@on(SLICED)
async def test_a_container_that_restarts_finds_the_slice_it_had(node: AgentNode) -> None:
    card = metax(node)[0]
    made = pod("again", slice_of(), restartPolicy="Always")
    await node.place(made, slices([(card.uuid, 1024, 10)]))
    before = await inside(node, "again")
    (part,) = all_slices(node)
    await end_container(node.cluster, await running(node, "again"))
    await node.cluster.until_pod("again", restarted(1), within=PATIENCE)
    assert await inside(node, "again") == before
    assert all_slices(node) == [part]


@on(SLICED)
async def test_a_container_that_restarts_after_its_init_container_needs_no_more_than_its_own_slice(
    node: AgentNode,
) -> None:
    card = metax(node)[0]
    init = slice_of("init", cores=100, gib=63) | {"command": ["/bin/sh", "-c", "exit 0"]}
    made = pod("after", slice_of(), inits=[init], restartPolicy="Always")
    await node.place(made, slices([(card.uuid, 63 << 10, 100)], [(card.uuid, 1024, 10)]))
    await inside(node, "after")
    await until(lambda: [part.memory for part in all_slices(node)] == [GIB], "the slice has 1 GiB")
    (part,) = all_slices(node)
    await node.place(pod("rest", slice_of(cores=90, gib=62)), slices([(card.uuid, 62 << 10, 90)]))
    await inside(node, "rest")
    await end_container(node.cluster, await running(node, "after"))
    await node.cluster.until_pod("after", restarted(1), within=PATIENCE)
    assert f"alias={part.name}" in (await inside(node, "after")).env["METAX_SGPUS"]
    assert {(each.memory, each.cores) for each in all_slices(node)} == {(GIB, 10), (62 * GIB, 90)}


@on(SLICED)
async def test_a_finished_pod_gives_its_slice_back_though_its_object_stays(node: AgentNode) -> None:
    card = metax(node)[0]
    made = pod("done", slice_of(cores=100, gib=63))
    made["spec"]["containers"][0]["command"] = ["/bin/sh", "-c", "exit 0"]
    await node.place(made, slices([(card.uuid, 63 << 10, 100)]))
    await node.cluster.until_pod("done", lambda seen: seen["status"].get("phase") == "Succeeded")
    await until(lambda: not left_on(node), "slice and CDI file of the finished pod are gone")
    await node.place(pod("next", slice_of(cores=100, gib=63)), slices([(card.uuid, 63 << 10, 100)]))
    await inside(node, "next")


# ---- Moore Threads


def given_by_hami(node: AgentNode, *containers: tuple[list[Device], int, int]) -> dict[str, str]:
    """What HAMi writes of cards, MiB and sixteenths by container; it names cards by their numbers."""
    return {
        "hami.io/mthreads-vgpu-devices-allocated": "".join(
            "".join(f"{node.name}-mthreads-{card.index},Mthreads,{memory},{cores}:" for card in cards) + ";"
            for cards, memory, cores in containers
        ),
        "hami.io/vgpu-node": str(node.name),
        "mthreads.com/gpu-index": ",".join(str(card.index) for cards, _, _ in containers for card in cards),
        "mthreads.com/predicate-node": str(node.name),
        "mthreads.com/predicate-time": "1794777344774509474",
    }


@on(MTHREADS)
async def test_moore_threads_nodes_offer_and_label_whole_and_sliced_cards(node: AgentNode) -> None:
    await until_counts(node, MTHREADS_GPU, 1, 1)
    await until_counts(node, CORE, 32, 32)
    await until_counts(node, MEMORY, 192, 192)
    seen = await node.cluster.until_node(
        node.name, lambda seen: "mthreads.com/gpu.count" in seen["metadata"]["labels"]
    )
    labels = {key: value for key, value in seen["metadata"]["labels"].items() if "mthreads" in key}
    assert labels == {
        "mthreads.com/gpu.count": "3",
        "mthreads.com/sgpu.cores": "0-1",
        **{f"mthreads.com/gpu{number}.memory": str(48 * GIB) for number in range(3)},
    }


@on(MTHREADS)
async def test_every_moore_threads_container_finds_its_share_in_variables_and_no_nodes(
    node: AgentNode,
) -> None:
    await until_counts(node, CORE, 32, 32)
    await until_counts(node, MEMORY, 192, 192)
    cards = mthreads(node)
    await node.place(
        pod("parts", asking("big", vgpu=1, core=8, memory=32), asking("small", vgpu=1, core=1, memory=2)),
        given_by_hami(node, ([cards[1]], 16384, 8), ([cards[0]], 1024, 1)),
    )
    assert await inside(node, "parts", "big") == share("1", 16 * GIB, 8, 32, 8)
    assert await inside(node, "parts", "small") == share("0", GIB, 1, 2, 1)


@on(MTHREADS)
async def test_a_moore_threads_container_may_have_two_cards_in_full(node: AgentNode) -> None:
    await until_counts(node, CORE, 32, 32)
    cards = mthreads(node)
    made = pod("both", asking(vgpu=2, core=32, memory=192), annotations={"mthreads.com/request-gpu-num": "2"})
    await node.place(made, given_by_hami(node, ([cards[1], cards[0]], 49152, 16)))
    assert await inside(node, "both") == share("0,1", 48 * GIB, 16, 192, 32)


@on(MTHREADS)
async def test_a_whole_moore_threads_card_is_named_by_its_number(node: AgentNode) -> None:
    await until_counts(node, MTHREADS_GPU, 1, 1)
    await run_here(node, pod("whole", asking(mtgpu=1)))
    assert await inside(node, "whole") == Inside({"MTHREADS_VISIBLE_DEVICES": "2"}, frozenset())


@on(MTHREADS)
async def test_compute_without_memory_is_refused_with_what_to_write(node: AgentNode) -> None:
    await until_counts(node, CORE, 32, 32)
    await node.cluster.api.create(pod("alone", asking(vgpu=1, core=8), node=str(node.name)))
    event = await until_event(node, "alone", "GpuNotGiven")
    assert "mthreads.com/sgpu-memory" in event["message"]
    assert "[memory-missing]" in event["message"]
    seen = await node.cluster.api.get(path_of("Pod", "alone"))
    assert seen["status"]["phase"] == "Pending"
