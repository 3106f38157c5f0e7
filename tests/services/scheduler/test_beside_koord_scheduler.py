"""On nodes that Koordinator describes, koord-scheduler and ours never count on the same share of a card."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.described_nodes import DEVICE_ALLOCATED, SLICE, bare_node, describe, device_manifest, serve
from builders.scheduling import GIB, Object, World, metax_cards, mthreads_cards, node, pod
from tangram.kube.errors import ApiError
from tangram.model.cards import Card, CardMode
from tangram.model.requests import AskKind
from tangram.services.scheduler.binding import BindOutcome
from tangram.wire.nodelock import NODE_LOCK

MOST = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 60, "metax-tech.com/vmemory": 40}
KOORDINATORS = "koord-scheduler"


def written_on(world: World, name: str) -> dict[str, str]:
    return world.pods["default", name]["metadata"]["annotations"]


def lock_of(world: World) -> str:
    return world.nodes["a"]["metadata"]["annotations"].get(NODE_LOCK, "")


def reads(world: World) -> list[Any]:
    return [query for method, _, query in world.calls if method == "LIST"]


def koordinators_pod(name: str, minor: int | None = None, core: int = 60, memory: str = "40Gi") -> Object:
    """A pod that koord-scheduler places; with a minor, as its PreBind leaves it."""
    made = pod(
        name,
        {**SLICE, "koordinator.sh/gpu-core": core, "koordinator.sh/gpu-memory": memory},
        scheduler=KOORDINATORS,
    )
    if minor is not None:
        resources = {"koordinator.sh/gpu-core": str(core), "koordinator.sh/gpu-memory": memory}
        device = {"minor": minor, "resources": resources, "id": f"GPU-a-{minor}"}
        made["metadata"]["annotations"] = {DEVICE_ALLOCATED: json.dumps({"gpu": [device]})}
    return made


def bind_by_koordinator(world: World, name: str, *, heard: bool) -> None:
    world.pods["default", name]["spec"]["nodeName"] = "a"
    if heard:
        world.hear("default", name)


# --- whole cards in Koordinator's words -----------------------------------------------------------------------------

PAIR = {"koordinator.sh/gpu-core": 200, "koordinator.sh/gpu-memory-ratio": 200, "metax-tech.com/gpu": 2}


async def test_whole_cards_in_koordinators_words_are_given_and_counted_like_any_whole_card() -> None:
    world = World(node("a", metax_cards("a", 3, mode=CardMode.WHOLE)))
    world.create(pod("pair", PAIR))
    assert await world.schedule("pair") == "a"
    written = written_on(world, "pair")
    devices = json.loads(written[DEVICE_ALLOCATED])["gpu"]
    assert [each["resources"] for each in devices] == 2 * [
        {
            "koordinator.sh/gpu-core": "100",
            "koordinator.sh/gpu-memory": "64Gi",
            "koordinator.sh/gpu-memory-ratio": "100",
        }
    ]
    (row,) = json.loads(written["metax-tech.com/gpu-devices-allocated"])
    assert [(each["compute"], each["vRam"]) for each in row] == 2 * [(100, 64 << 10)]
    fresh = World(*world.nodes.values())
    fresh.create(world.pods["default", "pair"])
    (holding,) = fresh.state.ledger.holdings()
    assert not holding.tenant.guessed
    assert {share.kind for each in holding.tenant.allocation.containers for share in each.shares} == {
        AskKind.WHOLE
    }
    for name in ("last", "none"):
        fresh.create(pod(name, {"metax-tech.com/gpu": 1}))
    assert await fresh.schedule("last") == "a"
    assert await fresh.schedule("none") == ""


@pytest.mark.parametrize("mode", [CardMode.VIRTUAL, CardMode.SHARED, CardMode.SLICED])
async def test_whole_cards_in_koordinators_words_are_nothing_less_than_cards(mode: CardMode) -> None:
    world = World(node("a", metax_cards("a", 4, mode=mode)))
    world.create(pod("pair", PAIR))
    assert await world.schedule("pair") == ""


# --- what koord-scheduler is told ---------------------------------------------------------------------------------


def told(core: int, memory: str, ratio: int, minor: int = 0, uuid: str = "GPU-a-0") -> str:
    return (
        f'{{"gpu":[{{"minor":{minor},"resources":{{"koordinator.sh/gpu-core":"{core}",'
        f'"koordinator.sh/gpu-memory":"{memory}","koordinator.sh/gpu-memory-ratio":"{ratio}"}},"id":"{uuid}"}}]}}'
    )


@pytest.mark.parametrize(
    ("limits", "cards", "expected"),
    [
        pytest.param(
            {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 5, "metax-tech.com/vmemory": 5},
            metax_cards("a", 1),
            told(5, "5Gi", 8),
            id="a MetaX slice, whose 7.8 percent are 8",
        ),
        pytest.param(
            {"metax-tech.com/sgpu": 1}, metax_cards("a", 1), told(100, "64Gi", 100), id="a full slice"
        ),
        pytest.param(
            {"metax-tech.com/gpu": 1},
            metax_cards("a", 1, mode=CardMode.WHOLE),
            told(100, "64Gi", 100),
            id="a whole MetaX card",
        ),
        pytest.param(
            {"metax-tech.com/gpu": 1},
            metax_cards("a", 1, mode=CardMode.SHARED),
            told(100, "64Gi", 100),
            id="a card without isolation",
        ),
        pytest.param(
            {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-core": 2, "mthreads.com/sgpu-memory": 16},
            mthreads_cards("a", 1),
            told(13, "8Gi", 17, uuid="MT-a-0"),
            id="two sixteenths, whose 12.5 percent are 13",
        ),
        pytest.param(
            {
                "koordinator.sh/gpu-core": 10,
                "koordinator.sh/gpu-memory": "8Gi",
                "mthreads.com/vgpu": 1,
            },
            mthreads_cards("a", 1),
            told(13, "8Gi", 16, uuid="MT-a-0"),
            id="Moore Threads in Koordinator's words",
        ),
    ],
)
async def test_every_pod_on_a_described_node_tells_koord_scheduler_what_it_holds(
    limits: dict[str, str | int], cards: list[Card], expected: str
) -> None:
    world = World(node("a", cards))
    describe(world, device_manifest("a", 1))
    world.create(pod("p", limits))
    assert await world.schedule("p") == "a"
    assert written_on(world, "p")[DEVICE_ALLOCATED] == expected


async def test_a_pod_on_a_node_without_a_device_tells_nobody() -> None:
    world = World(node("a"))
    world.create(pod("p"))
    assert await world.schedule("p") == "a"
    assert DEVICE_ALLOCATED not in written_on(world, "p")


async def test_the_number_told_is_the_devices_own() -> None:
    world = World(node("a", metax_cards("a", 1)))
    manifest = device_manifest("a", 1)
    manifest["spec"]["devices"][0]["minor"] = 3
    describe(world, manifest)
    world.create(pod("p", {"metax-tech.com/sgpu": 1}))
    assert await world.schedule("p") == "a"
    assert written_on(world, "p")[DEVICE_ALLOCATED] == told(100, "64Gi", 100, minor=3)


def test_a_number_without_an_id_is_the_devices_too() -> None:
    """An id is optional there."""
    world = World(node("a"))
    manifest = device_manifest("a")
    for entry, minor in zip(manifest["spec"]["devices"], (1, 0), strict=True):
        entry["minor"] = minor
    describe(world, manifest)
    theirs = koordinators_pod("theirs", 0)
    del (text := json.loads(theirs["metadata"]["annotations"][DEVICE_ALLOCATED]))["gpu"][0]["id"]
    theirs["metadata"]["annotations"][DEVICE_ALLOCATED] = json.dumps(text)
    theirs["spec"]["nodeName"] = "a"
    world.create(theirs)
    assert world.state.ledger.view().use.cores[0, :2].tolist() == [0, 60]


async def test_what_is_told_to_koord_scheduler_is_not_counted_twice() -> None:
    world = World(node("a", metax_cards("a", 1)))
    describe(world, device_manifest("a", 1))
    for name in ("p", "q"):
        world.create(pod(name))
        assert await world.schedule(name) == "a"
    view = world.state.ledger.view()
    assert (int(view.use.cores[0, 0]), int(view.use.memory[0, 0])) == (100, 32 * GIB)


# --- the lock, and the second look --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("described", "rival", "locked"),
    [
        pytest.param(True, True, True, id="beside koord-scheduler"),
        pytest.param(True, False, False, id="no pod of koord-scheduler"),
        pytest.param(False, True, False, id="a node without a Device"),
    ],
)
async def test_under_our_own_agent_the_lock_is_taken_only_beside_koord_scheduler(
    *, described: bool, rival: bool, locked: bool
) -> None:
    world = World(node("a"))
    if described:
        describe(world, device_manifest("a"))
    if rival:
        world.create(koordinators_pod("theirs"))
    world.create(pod("p"))
    assert await world.schedule("p") == "a"
    assert bool(lock_of(world)) is locked
    assert bool(reads(world)) is locked


async def test_whole_cards_take_the_lock_too_as_koord_schedulers_own_do() -> None:
    world = World(node("a", metax_cards("a", mode=CardMode.WHOLE)))
    describe(world, device_manifest("a"))
    world.create(koordinators_pod("theirs"))
    world.create(pod("p", {"metax-tech.com/gpu": 2}))
    assert await world.schedule("p") == "a"
    assert lock_of(world).endswith(",default,p")


async def test_moore_threads_cards_have_no_lock_and_are_looked_at_again_all_the_same() -> None:
    world = World(node("a", mthreads_cards("a")))
    describe(world, device_manifest("a", vendor="mthreads", memory="48Gi"))
    world.create(koordinators_pod("theirs"))
    world.create(
        pod("p", {"mthreads.com/vgpu": 1, "mthreads.com/sgpu-core": 2, "mthreads.com/sgpu-memory": 16})
    )
    assert await world.schedule("p") == "a"
    assert (lock_of(world), len(reads(world))) == ("", 1)


async def test_koord_scheduler_is_known_by_what_it_wrote_under_any_name() -> None:
    world = World(node("a"))
    describe(world, device_manifest("a"))
    renamed = koordinators_pod("theirs", 0)
    renamed["spec"] |= {"schedulerName": "batch-scheduler", "nodeName": "a"}
    world.create(renamed)
    world.create(pod("p"))
    assert await world.schedule("p") == "a"
    assert lock_of(world)


async def test_with_its_last_pod_koord_scheduler_is_forgotten() -> None:
    world = World(node("a"))
    describe(world, device_manifest("a"))
    world.create(koordinators_pod("theirs"))
    world.delete("theirs")
    world.create(pod("p"))
    assert await world.schedule("p") == "a"
    assert lock_of(world) == ""


async def test_a_card_that_koord_scheduler_sold_meanwhile_is_exchanged_for_another() -> None:
    world = World(node("a"))
    describe(world, device_manifest("a"))
    world.create(koordinators_pod("theirs", None))
    world.create(pod("p", MOST))
    assert world.filter("p")["NodeNames"] == ["a"]
    promised = world.state.reservations.tenant(world.state.read_pod(world.pods["default", "p"]).ref.uid)
    assert promised is not None
    (card,) = promised.allocation.cards
    taken = int(card[-1])
    world.pods["default", "theirs"]["metadata"] = koordinators_pod("theirs", taken)["metadata"]
    bind_by_koordinator(world, "theirs", heard=False)
    assert (await world.bind("p", "a")).outcome is BindOutcome.BOUND
    (given,) = json.loads(written_on(world, "p")[DEVICE_ALLOCATED])["gpu"]
    assert given["minor"] == 1 - taken


async def test_a_node_that_koord_scheduler_filled_meanwhile_is_given_up_and_its_lock_too() -> None:
    world = World(node("a", metax_cards("a", 1)))
    describe(world, device_manifest("a", 1))
    world.create(koordinators_pod("theirs", 0))
    world.create(pod("p", MOST))
    assert world.filter("p")["NodeNames"] == ["a"]
    bind_by_koordinator(world, "theirs", heard=False)
    result = await world.bind("p", "a")
    assert (result.outcome, world.node_of("p"), lock_of(world)) == (BindOutcome.UNFIT, "", "")
    assert result.sentence == (
        "koord-scheduler was faster on node a, which has no room for the pod any more; trying again elsewhere"
    )
    assert len(world.state.reservations) == 0


async def test_pods_that_cannot_be_read_again_are_no_reason_to_bind_on() -> None:
    world = World(node("a"))
    describe(world, device_manifest("a"))
    world.create(koordinators_pod("theirs"))
    world.create(pod("p"))
    world.filter("p")
    world.unlisted = ApiError(503, "ServiceUnavailable", "the server is busy")
    result = await world.bind("p", "a")
    assert (result.outcome, world.node_of("p"), lock_of(world)) == (BindOutcome.NOT_NOW, "", "")
    assert result.sentence.startswith("the pods of a cannot be read: ")


async def test_the_lock_of_koord_schedulers_pod_is_waited_for() -> None:
    world = World(node("a"))
    describe(world, device_manifest("a"))
    world.create(koordinators_pod("theirs", 0))
    world.nodes["a"]["metadata"]["annotations"][NODE_LOCK] = "1970-01-01T00:16:40Z,default,theirs"
    world.create(pod("p"))
    world.filter("p")
    assert (await world.bind("p", "a")).outcome is BindOutcome.LOCKED
    bind_by_koordinator(world, "theirs", heard=False)
    serve(world)
    assert await world.schedule("p") == "a"


def test_a_pod_that_koord_scheduler_wrote_on_and_did_not_bind_yet_holds_nothing() -> None:
    """Its bind may still fail, and nobody would tell us; the lock that it was written under keeps us off meanwhile."""
    world = World(bare_node("a"))
    describe(world, device_manifest("a", 1))
    world.create(koordinators_pod("theirs", 0))
    view = world.state.ledger.view()
    assert int(view.use.slots.sum()) == 0
    bind_by_koordinator(world, "theirs", heard=True)
    view = world.state.ledger.view()
    assert (int(view.use.cores[0, 0]), int(view.use.memory[0, 0])) == (60, 40 * GIB)


# --- the checklist ------------------------------------------------------------------------------------------------


async def test_a_card_takes_sixteen_slices_in_koordinators_words_and_no_more() -> None:
    world = World(bare_node("a"))
    describe(world, device_manifest("a", 1))
    small = {**SLICE, "koordinator.sh/gpu-core": 1, "koordinator.sh/gpu-memory": "1Gi"}
    for number in range(17):
        world.create(pod(f"p{number}", small))
        chosen = await world.schedule(f"p{number}")
        assert chosen == ("a" if number < 16 else "")
        serve(world)


async def test_a_card_runs_one_qos_policy_for_pods_in_koordinators_words_too() -> None:
    world = World(bare_node("a"))
    describe(world, device_manifest("a", 1))
    key = "metax-tech.com/sgpu-qos-policy"
    for name, policy in (("p", "fixed-share"), ("q", "best-effort"), ("r", "fixed-share")):
        world.create(pod(name, SLICE, annotations={key: policy}))
        assert await world.schedule(name) == ("" if name == "q" else "a")
        serve(world)


MIB = 1 << 20
CARD = 64 * GIB
asks = st.lists(
    st.tuples(
        st.booleans(),
        st.one_of(st.integers(1, 100), st.integers(1, 64 * 1024).map(lambda mib: f"{mib}Mi")),
        st.integers(1, 40),
    ),
    max_size=14,
)


@given(asks=asks)
def test_bytes_and_percent_together_never_take_more_of_a_card_than_it_has(
    asks: list[tuple[bool, int | str, int]],
) -> None:
    """Some are placed by koord-scheduler, which cuts percentages off and sums each unit on its own; some by us."""
    world = World(bare_node("a"))
    describe(world, device_manifest("a", 1))
    memory = cores = 0
    for number, (theirs, amount, core) in enumerate(asks):
        name = f"p{number}"
        size = amount * CARD // 100 if isinstance(amount, int) else int(amount[:-2]) * MIB
        word = "koordinator.sh/gpu-memory-ratio" if isinstance(amount, int) else "koordinator.sh/gpu-memory"
        limits = {"koordinator.sh/gpu-core": core, word: amount, "metax-tech.com/sgpu": 1}
        if not theirs:
            world.create(pod(name, limits))
            if not world.filter(name)["NodeNames"]:
                world.delete(name)
                continue
            assert memory + size <= CARD
            assert cores + core <= 100
            world.pods["default", name]["spec"]["nodeName"] = "a"
        elif memory + size <= CARD and cores + core <= 100:
            world.create(pod(name, limits, scheduler=KOORDINATORS))
            world.pods["default", name]["spec"]["nodeName"] = "a"
        else:
            continue
        resources = {
            "koordinator.sh/gpu-core": str(core),
            "koordinator.sh/gpu-memory": str(size),
            "koordinator.sh/gpu-memory-ratio": str(amount if isinstance(amount, int) else size * 100 // CARD),
        }
        device = {"minor": 0, "resources": resources, "id": "GPU-a-0"}
        written_on(world, name)[DEVICE_ALLOCATED] = json.dumps({"gpu": [device]})
        world.hear("default", name)
        memory, cores = memory + size, cores + core
        view = world.state.ledger.view()
        assert (int(view.use.memory[0, 0]), int(view.use.cores[0, 0])) == (memory, cores)
