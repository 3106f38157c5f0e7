"""Pods that HAMi or Koordinator placed, served by the agent on a real kubelet, and their node lock given back."""

import json
import time
from collections.abc import AsyncGenerator, Mapping

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode, slices
from e2e.agent_view_kit import (
    GPU,
    NODE_LOCK,
    SGPU,
    TWO_GROUPS,
    Setup,
    all_slices,
    asking,
    empty,
    inside,
    metax,
    nodes_of,
    on,
    place_known,
    room_on,
    slice_of,
)
from e2e.agent_watch_kit import (
    annotate,
    annotations,
    listed_cards,
    until_annotation,
    until_counts,
    until_pod_says,
)
from tangram.model.cards import QosPolicy
from tangram.model.devices import Slice
from tangram.units.na import known
from tangram.wire.metax_listing import NODE_DEVICES
from testbed.api import Object, path_of
from testbed.box import REPOSITORY
from testbed.manifests import container, pod

pytestmark = pytest.mark.xdist_group("agent under peers")

GIB, MIB = 1 << 30, 1 << 20
SLICED = Setup(
    "sliced",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 4, sliced: true}\n",
    {SGPU: 64},
    "mode: sgpu\n",
)
WHOLE = Setup("whole", TWO_GROUPS, {GPU: 8})
PHASE = "hami.io/bind-phase"
QOS = "metax-tech.com/sgpu-qos-policy"
CAPTURES = REPOSITORY / "tests" / "data" / "captures"


@pytest_asyncio.fixture
async def node(standing: AgentNode) -> AsyncGenerator[AgentNode]:
    yield standing
    await annotate(standing, {NODE_LOCK: None})
    await empty(standing)


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def recorded(node: AgentNode, name: str) -> tuple[Object, dict[str, str]]:
    """A pod that HAMi's scheduler placed once, and what it wrote on it, with this node's cards for those of then."""
    captured = json.loads((CAPTURES / "hami.json").read_text("utf-8"))
    (placed,) = [each for each in captured["placement"] if each["pod"] == name]
    text = json.dumps(placed["annotations"])
    for number, card in enumerate(metax(node)):
        text = text.replace(f"{placed['node'].replace('sgpu-', 'GPU-')}-{number}", card.uuid)
        if sliceable := known(card.sliceable, 0):
            # An exclusive slice gets all memory that the node states, which was all of the card's on that day.
            text = text.replace(f"{64 * GIB // MIB}", f"{sliceable // MIB}")
    for end in ('"', "-metax-"):
        text = text.replace(f"{placed['node']}{end}", f"{node.name}{end}")
    written: dict[str, str] = json.loads(text)
    # HAMi counts by the clock, and so does whoever looks for old binds.
    written |= {"hami.io/bind-time": str(int(time.time())), "hami.io/vgpu-time": str(int(time.time()))}
    written["metax-tech.com/predicate-time"] = str(time.time_ns())
    containers = [
        asking(f"c{number}") | {"resources": {"limits": limits}}
        for number, limits in enumerate(placed["limits"])
    ]
    return pod(name, *containers, annotations=placed["asked"]), written


async def as_hami_does(node: AgentNode, made: Object, written: Mapping[str, str]) -> None:
    """Annotate at filter time, lock, and bind without annotations, as HAMi's scheduler goes about it."""
    name = made["metadata"]["name"]
    made["spec"]["schedulerName"] = "hami-scheduler"
    created = await node.cluster.api.create(made)
    await annotate(node, {NODE_LOCK: f"{now()},default,{name}"})
    labels = {"hami.io/vgpu-node": str(node.name)}
    await node.cluster.api.patch(
        path_of("Pod", name), {"metadata": {"annotations": dict(written), "labels": labels}}
    )
    await node.bind(created, {})


@pytest.mark.parametrize("name", ["s1", "s2", "s4-two-cards", "s5-two-containers", "s7-exclusive"])
@on(SLICED)
async def test_a_pod_placed_as_hami_does_gets_its_slices_and_hami_its_lock_and_phase(
    node: AgentNode, name: str
) -> None:
    await until_counts(node, SGPU, 64, 64)
    made, written = recorded(node, name)
    await as_hami_does(node, made, written)
    wanted = [
        [(card["uuid"], card["vRam"] << 20, card["compute"]) for card in row]
        for row in json.loads(written["metax-tech.com/gpu-devices-allocated"])
    ]
    cards = {card.uuid: card for card in metax(node)}
    parts: dict[tuple[str, int, int], Slice] = {}
    for number, own in enumerate(wanted):
        found = await inside(node, name, f"c{number}")
        assert found.nodes == nodes_of(cards[uuid] for uuid, _, _ in own)
        parts |= {
            (part.card, part.memory, part.cores): part
            for part in all_slices(node)
            if f"alias={part.name}" in found.env["METAX_SGPUS"]
        }
        assert {(uuid, memory, cores) for uuid, memory, cores in own} <= parts.keys()
    assert len(all_slices(node)) == sum(map(len, wanted))
    for card in {uuid for own in wanted for uuid, _, _ in own}:
        assert room_on(node, cards[card]).policy is QosPolicy(made["metadata"]["annotations"][QOS])
    await until_annotation(node, NODE_LOCK, lambda value: not value, "the lock is given back")
    await until_pod_says(node, name, PHASE, "success")


@on(SLICED)
async def test_a_pod_placed_as_koordinator_does_gets_its_slice_and_koordinator_its_lock(
    node: AgentNode,
) -> None:
    captured = json.loads((CAPTURES / "koordinator.json").read_text("utf-8"))
    card = metax(node)[0]
    written: dict[str, str] = json.loads(
        json.dumps(captured["written_at_bind"]).replace("GPU-00759-0", card.uuid)
    )
    made = pod("koordinated", asking(), annotations=captured["pod"]["annotations"])
    made["spec"]["containers"][0]["resources"] = {"limits": captured["pod"]["limits"]}
    made["spec"]["schedulerName"] = "koord-scheduler"
    created = await node.cluster.api.create(made)
    await annotate(node, {NODE_LOCK: f"{now()},default,koordinated"})
    await node.cluster.api.patch(path_of("Pod", "koordinated"), {"metadata": {"annotations": written}})
    await node.bind(created, {})
    found = await inside(node, "koordinated")
    (part,) = all_slices(node)
    assert (part.card, part.memory, part.cores) == (card.uuid, 4 * GIB, 10)
    assert f"alias={part.name}" in found.env["METAX_SGPUS"]
    assert found.nodes == nodes_of([card])
    await until_annotation(node, NODE_LOCK, lambda value: not value, "the lock is given back")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("{now},default,somebody-else", id="another pod"),
        pytest.param("{now},elsewhere,served", id="another namespace"),
        pytest.param("{now}", id="nobody, a moment ago"),
        pytest.param("not a lock", id="something else"),
    ],
)
@on(SLICED)
async def test_a_lock_that_is_not_of_a_served_pod_is_left_alone(node: AgentNode, value: str) -> None:
    lock = value.format(now=now())
    await annotate(node, {NODE_LOCK: lock})
    made, written = recorded(node, "s1")
    made["metadata"]["name"] = "served"
    created = await node.cluster.api.create(made)
    await node.bind(created, written)
    await until_pod_says(node, "served", PHASE, "success")
    # By then the agent has looked at the node's annotations and at the pod.
    await inside(node, "served", "c0")
    assert (await annotations(node))[NODE_LOCK] == lock


@on(SLICED)
async def test_a_lock_of_a_pod_that_asks_for_no_card_is_left_alone(node: AgentNode) -> None:
    await annotate(node, {NODE_LOCK: f"{now()},default,bystander"})
    before = (await annotations(node))[NODE_LOCK]
    await node.cluster.api.create(pod("bystander", container(), node=str(node.name)))
    made, written = recorded(node, "s1")
    created = await node.cluster.api.create(made)
    await node.bind(created, written)
    await until_pod_says(node, "s1", PHASE, "success")
    assert (await annotations(node))[NODE_LOCK] == before


@on(SLICED)
async def test_a_lock_of_a_pod_that_is_not_bound_yet_stays_until_the_pod_is_here(node: AgentNode) -> None:
    await annotate(node, {NODE_LOCK: f"{now()},default,coming"})
    before = (await annotations(node))[NODE_LOCK]
    created = await node.cluster.api.create(pod("coming", slice_of(), scheduler="hami-scheduler"))
    made, written = recorded(node, "s1")
    await node.bind(await node.cluster.api.create(made), written)
    await until_pod_says(node, "s1", PHASE, "success")
    assert (await annotations(node))[NODE_LOCK] == before
    await node.bind(created, slices([(metax(node)[2].uuid, 1024, 10)]))
    await inside(node, "coming")
    await until_annotation(node, NODE_LOCK, lambda value: not value, "the lock is given back")


@on(SLICED)
async def test_a_lock_on_another_node_is_left_alone_though_it_names_a_pod_that_is_served_here(
    node: AgentNode,
) -> None:
    lock = f"{now()},default,s1"
    other: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n9", "annotations": {NODE_LOCK: lock}},
    }
    await node.cluster.api.create(other)
    try:
        made, written = recorded(node, "s1")
        await node.bind(await node.cluster.api.create(made), written)
        await until_pod_says(node, "s1", PHASE, "success")
        seen = await node.cluster.api.get(path_of("Node", "n9"))
        assert seen["metadata"]["annotations"][NODE_LOCK] == lock
    finally:
        await node.cluster.api.delete(path_of("Node", "n9"))


@on(WHOLE)
async def test_whole_cards_that_hami_named_by_its_own_numbers_are_the_ones_that_are_given(
    node: AgentNode,
) -> None:
    await until_counts(node, GPU, 8, 8)
    made, written = recorded(node, "g1")
    await place_known(node, made, {key: text for key, text in written.items() if "predicate" not in key})
    cards = metax(node)
    assert (await inside(node, "g1", "c0")).nodes == nodes_of([cards[4], cards[5]])
    await until_pod_says(node, "g1", PHASE, "success")


@on(SLICED)
async def test_an_agent_that_ends_holds_the_node_by_the_lock_and_the_next_gives_it_back(
    node: AgentNode,
) -> None:
    made, written = recorded(node, "s1")
    await as_hami_does(node, made, written)
    await until_pod_says(node, "s1", PHASE, "success")
    await until_annotation(node, NODE_LOCK, lambda value: not value, "the lock is given back")
    await inside(node, "s1", "c0")
    await node.stop_agent()
    try:
        lock = (await annotations(node))[NODE_LOCK]
        holder = lock.split(",")[2]
        assert (await node.cluster.api.get(path_of("Pod", holder)))["spec"]["nodeName"] == node.name
        assert not any(card.get("healthy") for card in (await listed_cards(node)).values())
    finally:
        await node.start_agent()
    await until_annotation(node, NODE_LOCK, lambda value: not value, "the lock is given back")
    await until_counts(node, SGPU, 64, 64)
    await until_annotation(node, NODE_DEVICES, lambda text: text.count('"healthy":true') == 4)
