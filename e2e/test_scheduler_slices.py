"""MetaX slices from `kubectl apply` to the container: our scheduler places, our agent makes, the container finds."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import (
    SGPU,
    Setup,
    all_slices,
    asking,
    end_pods,
    inside,
    metax,
    nodes_of,
    on,
    room_on,
    running,
    slice_of,
)
from e2e.scheduler_kit import (
    CARD_POLICY,
    GIVEN_ON,
    HAMI,
    Placement,
    annotations_of,
    apply,
    events_of,
    only_card,
    placing,
    slices_in,
    until_bound,
    until_waiting,
)
from e2e.slice_pods_kit import let_go, waiting_for_a_word
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.manifests import container, pod, sidecar

pytestmark = [pytest.mark.xdist_group("scheduler with slices"), pytest.mark.usefixtures("placement")]

GIB = 1 << 30
SLICED = Setup(
    "sliced",
    "tangram: cards/v1\ncards:\n- {product: C500, count: 2, sliced: true}\n- {product: C550, count: 1, sliced: true}\n",
    {SGPU: 48},
    "mode: sgpu\n",
)
QOS = "metax-tech.com/sgpu-qos-policy"
CLASS = "metax-tech.com/sgpu-app-class"


@pytest_asyncio.fixture(scope="module")
async def placement(bed: Cluster) -> AsyncIterator[Placement]:
    async with placing(bed) as ready:
        yield ready


async def found_as_given(node: AgentNode, name: str, *containers: str) -> Object:
    """The pod as it runs, when each container finds exactly the slices and nodes of the cards it was given."""
    seen = await running(node, name)
    cards: dict[str, Device] = {card.uuid: card for card in metax(node)}
    for own, container_name in zip(slices_in(seen), containers or ("main",), strict=True):
        found = await inside(node, name, container_name)
        told = found.env.get("METAX_SGPUS", "")
        made = [part for part in all_slices(node) if f"alias={part.name}" in told]
        assert sorted((part.card, part.memory >> 20, part.cores) for part in made) == sorted(own)
        assert found.nodes == nodes_of(cards[uuid] for uuid, _, _ in own)
    assert annotations_of(seen)[GIVEN_ON] == node.name
    return seen


async def run(node: AgentNode, *pods: Object) -> list[Object]:
    """Apply pods one after the other, each once the one before it runs."""
    seen: list[Object] = []
    for one in pods:
        await apply(node.cluster, one)
        seen.append(await running(node, one["metadata"]["name"]))
    return seen


# ---- how much


@pytest.mark.smoke
@on(SLICED)
async def test_a_part_of_a_card_is_asked_for_placed_made_and_found(node: AgentNode) -> None:
    await apply(node.cluster, pod("part", slice_of(cores=60, gib=4)))
    seen = await found_as_given(node, "part")
    ((_, memory, cores),) = slices_in(seen)[0]
    assert (memory, cores) == (4096, 60)
    (part,) = all_slices(node)
    assert (part.memory, part.cores) == (4 * GIB, 60)
    assert "BindingSucceed" in {event["reason"] for event in await events_of(node.cluster, "part")}


@pytest.mark.parametrize(
    ("limits", "memory", "cores"),
    [
        pytest.param(
            {SGPU: 1, "metax-tech.com/vmemory": "2048Mi", "metax-tech.com/vcore": 5}, 2048, 5, id="mib"
        ),
        pytest.param({SGPU: 1, "metax-tech.com/vmemory": 2}, 2048, 100, id="all-compute"),
        pytest.param({SGPU: 1, "metax-tech.com/vcore": 25}, 65536, 25, id="all-memory"),
        pytest.param({SGPU: 1}, 65536, 100, id="exclusive"),
    ],
)
@on(SLICED)
async def test_memory_may_have_a_unit_and_what_is_left_out_is_the_whole_cards(
    node: AgentNode, limits: dict[str, str | int], memory: int, cores: int
) -> None:
    made = asking()
    made["resources"] = {"limits": {key: str(value) for key, value in limits.items()}}
    await apply(node.cluster, pod("amounts", made))
    seen = await found_as_given(node, "amounts")
    assert [each[1:] for each in slices_in(seen)[0]] == [(memory, cores)]


@on(SLICED)
async def test_compute_and_memory_count_for_each_of_several_cards(node: AgentNode) -> None:
    await apply(node.cluster, pod("two", slice_of(cards=2, cores=30, gib=8)))
    (given,) = slices_in(await found_as_given(node, "two"))
    assert [each[1:] for each in given] == [(8192, 30), (8192, 30)]
    assert len({card for card, _, _ in given}) == 2


@on(SLICED)
async def test_an_exclusive_slice_shares_its_card_with_nobody_and_the_next_waits_for_room(
    node: AgentNode,
) -> None:
    await run(node, *(pod(f"alone-{n}", asking(sgpu=1)) for n in range(3)))
    await apply(node.cluster, pod("late", slice_of(cores=1)))
    await until_waiting(node.cluster, "late", "0/1 nodes are available")
    await end_pods(node, "alone-1")
    await found_as_given(node, "late")


# ---- with whom


@on(SLICED)
async def test_a_card_runs_one_policy_at_a_time_and_a_pod_of_that_policy_may_join(node: AgentNode) -> None:
    words = ["fixed-share", "best-effort", "burst-share", "best-effort", "fixed-share"]
    seen = await run(
        node, *(pod(f"q{n}", slice_of(), annotations={QOS: word}) for n, word in enumerate(words))
    )
    on_card = {word: only_card(one) for word, one in zip(words, seen, strict=True)}
    assert len(set(on_card.values())) == 3
    assert [only_card(one) for one in seen] == [on_card[word] for word in words]
    for card in metax(node):
        (word,) = [word for word, uuid in on_card.items() if uuid == card.uuid]
        assert room_on(node, card).policy is QosPolicy(word)


@on(SLICED)
async def test_online_pods_may_join_offline_ones_and_pods_of_no_class_go_elsewhere(node: AgentNode) -> None:
    cards = [card.uuid for card in metax(node)]
    away = {"metax-tech.com/nouse-gpuuuid": cards[2]}
    offline, plain = await run(
        node,
        pod("offline", slice_of(), annotations={CLASS: "offline"} | away),
        pod("plain", slice_of(), annotations=away),
    )
    assert only_card(offline) != only_card(plain)
    (online,) = await run(
        node, pod("online", asking(sgpu=1, vmemory=1), annotations={CLASS: "online"} | away)
    )
    assert only_card(online) == only_card(offline)
    assert [part.online for part in all_slices(node) if part.card == only_card(online)].count(True) == 1


# ---- which cards


@on(SLICED)
async def test_a_pod_may_name_cards_and_models_it_wants_or_wants_not(node: AgentNode) -> None:
    cards = metax(node)
    (c550,) = [card for card in cards if "550" in card.product]
    wanted = {
        "use": ({"metax-tech.com/use-gpuuuid": cards[1].uuid}, {cards[1].uuid}),
        "nouse": ({"metax-tech.com/nouse-gpuuuid": f"{cards[1].uuid},{cards[2].uuid}"}, {cards[0].uuid}),
        "type": ({"metax-tech.com/use-gputype": c550.product}, {c550.uuid}),
        "notype": (
            {"metax-tech.com/nouse-gputype": c550.product},
            {card.uuid for card in cards} - {c550.uuid},
        ),
    }
    for name, (annotations, allowed) in wanted.items():
        await apply(node.cluster, pod(name, slice_of(), annotations=annotations))
        assert only_card(await found_as_given(node, name)) in allowed
    await apply(
        node.cluster, pod("nobodys", slice_of(), annotations={"metax-tech.com/use-gpuuuid": "GPU-nobodys"})
    )
    await until_waiting(node.cluster, "nobodys")


@pytest.mark.parametrize(
    ("policy", "cards"), [pytest.param("binpack", 1, id="binpack"), pytest.param("spread", 3, id="spread")]
)
@on(SLICED)
async def test_the_card_policy_packs_slices_on_one_card_or_spreads_them_over_all(
    node: AgentNode, policy: str, cards: int
) -> None:
    seen = await run(
        node, *(pod(f"{policy}-{n}", slice_of(), annotations={CARD_POLICY: policy}) for n in range(3))
    )
    assert len({only_card(one) for one in seen}) == cards


@on(SLICED)
async def test_mutex_keeps_a_pod_off_cards_that_others_use(node: AgentNode) -> None:
    seen = await run(node, *(pod(f"m{n}", slice_of(), annotations={CARD_POLICY: "mutex"}) for n in range(3)))
    assert len({only_card(one) for one in seen}) == 3
    await apply(node.cluster, pod("fourth", slice_of(), annotations={CARD_POLICY: "mutex"}))
    await until_waiting(node.cluster, "fourth")


# ---- several containers


@on(SLICED)
async def test_containers_sidecars_and_init_containers_each_find_their_own(node: AgentNode) -> None:
    init = waiting_for_a_word("wait", {SGPU: 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 16})
    beside = sidecar(slice_of("beside", cores=20, gib=2))
    made = pod(
        "several",
        slice_of("big", cores=30, gib=8),
        container("none"),
        slice_of("small", cores=10, gib=1),
        inits=[beside, init],
    )
    await apply(node.cluster, made)
    bound = await until_bound(node.cluster, "several")
    assert [[each[1:] for each in row] for row in slices_in(bound)] == [
        [(2048, 20)],
        [(16384, 50)],
        [(8192, 30)],
        [],
        [(1024, 10)],
    ]
    await let_go(node, "several")
    by_name = dict(zip(("beside", "wait", "big", "none", "small"), slices_in(bound), strict=True))
    cards: dict[str, Device] = {card.uuid: card for card in metax(node)}
    for name in ("beside", "big", "small"):
        found = await inside(node, "several", name)
        ((uuid, memory, cores),) = by_name[name]
        assert f";compute={cores};vram={memory};" in found.env["METAX_SGPUS"]
        assert found.nodes == nodes_of([cards[uuid]])


# ---- other words


@on(SLICED)
async def test_a_pod_that_names_hamis_scheduler_is_served_all_the_same(node: AgentNode) -> None:
    await apply(node.cluster, pod("theirs", slice_of(cores=7, gib=3)), scheduler=HAMI)
    seen = await found_as_given(node, "theirs")
    card = only_card(seen)
    written = annotations_of(seen)
    assert written["hami.io/metax-sgpu-devices-allocated"] == f"{card},Metax-SGPU,3072,7:;"
    assert written["hami.io/metax-sgpu-devices-to-allocate"] == f"{card},Metax-SGPU,3072,7:;"
    assert seen["metadata"]["labels"][GIVEN_ON] == node.name


@pytest.mark.parametrize("policy", ["", "fixed-share", "burst-share"], ids=["unsaid", "fixed", "burst"])
@on(SLICED)
async def test_koordinators_words_give_the_same_slice(node: AgentNode, policy: str) -> None:
    made = asking()
    amounts = {
        "koordinator.sh/gpu.shared": "1",
        "koordinator.sh/gpu-core": "10",
        "koordinator.sh/gpu-memory": "1Gi",
        SGPU: "1",
    }
    made["resources"] = {"limits": amounts, "requests": amounts}
    await apply(node.cluster, pod("koord", made, annotations={QOS: policy} if policy else {}))
    seen = await running(node, "koord")
    found = await inside(node, "koord")
    (part,) = all_slices(node)
    assert (part.memory, part.cores) == (GIB, 10)
    assert f"alias={part.name}" in found.env["METAX_SGPUS"]
    (card,) = [card for card in metax(node) if card.uuid == part.card]
    assert found.nodes == nodes_of([card])
    assert only_card(seen) == card.uuid
    if policy:
        assert room_on(node, card).policy is QosPolicy(policy)


@on(SLICED)
async def test_a_request_that_makes_no_sense_is_refused_in_a_sentence_on_the_pod(node: AgentNode) -> None:
    await apply(node.cluster, pod("nonsense", slice_of(cores=101)))
    message = await until_waiting(node.cluster, "nonsense")
    assert "metax-tech.com/vcore" in message
    assert "101" in message
