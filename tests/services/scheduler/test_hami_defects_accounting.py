"""HAMi's defects in counting who holds what, played against our verbs. `docs/hami-defects.md` says what each was."""

from __future__ import annotations

import pytest

from builders.closed_nodes import closed_node, counted_node
from builders.scheduling import Object, World, metax_cards, node, pod
from builders.whole_scheduler import WholeScheduler
from tangram.kube.informer import Change, Key
from tangram.model.cards import CardMode
from tangram.services.scheduler.binding import BindOutcome
from tangram.services.scheduler.filtering import PROMISES_IN_THE_WAY
from tangram.services.scheduler.reservations import Times
from tangram.units.ids import PodUid

WHOLE = {"metax-tech.com/sgpu": 1}
GPU = {"metax-tech.com/gpu": 1}
HALF = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10, "metax-tech.com/vmemory": 32}
QOS = "metax-tech.com/sgpu-qos-policy"


def one_card(name: str = "a", **annotations: str) -> Object:
    return node(name, metax_cards(name, 1), **annotations)


def again(world: World) -> World:
    """A new process, which reads everything there is."""
    new = World(*world.nodes.values())
    for manifest in world.pods.values():
        new.create(manifest)
    return new


async def test_b4_a_policy_does_not_outlive_the_try_that_brought_it() -> None:
    world = World(closed_node("a", 1))
    world.create(pod("first", HALF, annotations={QOS: "fixed-share"}))
    world.create(pod("second", HALF, annotations={QOS: "best-effort"}))
    assert world.filter("first")["NodeNames"] == ["a"]
    assert world.filter("second")["Error"] == PROMISES_IN_THE_WAY, "two policies never share a card"
    world.now += Times().promise + 1
    world.state.reservations.expire()
    assert await world.schedule("second") == "a"
    world.delete("second")
    assert await world.schedule("first") == "a"


async def test_b7_cards_that_do_not_work_are_not_sold_by_their_number() -> None:
    world = World(counted_node("a", {"metax-tech.com/gpu": 1}, of={"metax-tech.com/gpu": 8}))
    for name in ("first", "second"):
        world.create(pod(name, GPU))
    assert await world.schedule("first") == "a"
    assert await world.schedule("second") == ""


async def test_b12_a_node_whose_plugin_is_gone_offers_nothing() -> None:
    there, gone = (
        {"mthreads.com/sgpu-core": 16 * cards, "mthreads.com/sgpu-memory": 96 * cards} for cards in (1, 0)
    )
    world = World(counted_node("a", there))
    world.create(pod("p", {"mthreads.com/vgpu": 1}))
    assert world.filter("p")["NodeNames"] == ["a"]
    world.put_node(counted_node("a", gone, of=there))
    assert not world.filter("p")["NodeNames"]


async def test_b16_a_pod_that_was_ending_when_the_scheduler_started_still_holds_its_cards() -> None:
    world = World(one_card())
    world.create(pod("ending", WHOLE))
    assert await world.schedule("ending") == "a"
    world.pods["default", "ending"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    world = again(world)
    world.create(pod("next", WHOLE))
    assert not world.filter("next")["NodeNames"]
    world.delete("ending")
    assert world.filter("next")["NodeNames"] == ["a"]


async def test_b17_a_sidecar_and_the_container_beside_it_are_counted_together() -> None:
    world = World(one_card())
    sidecar = {"name": "side", "restartPolicy": "Always", "resources": {"limits": HALF}}
    world.create(pod("both", HALF, spec={"initContainers": [sidecar]}))
    world.create(pod("more", {**HALF, "metax-tech.com/vmemory": 1}))
    assert await world.schedule("both") == "a"
    assert not world.filter("more")["NodeNames"]
    assert not again(world).filter("more")["NodeNames"]


@pytest.mark.parametrize("spoilt", ["", ";;", "GPU-a-0,Metax-SGPU,lots,50:;", '[["'])
async def test_b20_and_2958_a_running_pod_with_a_spoilt_annotation_still_holds_what_it_asks_for(
    spoilt: str,
) -> None:
    world = World(one_card())
    world.create(pod("runs", WHOLE))
    assert await world.schedule("runs") == "a"
    annotations = world.pods["default", "runs"]["metadata"]["annotations"]
    annotations.update({key: spoilt for key in annotations if "allocate" in key})
    world = again(world)
    world.create(pod("next", WHOLE))
    assert not world.filter("next")["NodeNames"]


async def test_b21_a_standby_counts_a_pod_where_it_was_bound_and_not_where_it_was_tried_first() -> None:
    active, standby = World(one_card("a"), one_card("b")), World(one_card("a"), one_card("b"))
    for world in (active, standby):
        world.create(pod("p", WHOLE))
    assert standby.filter("p", ["a"])["NodeNames"] == ["a"], "the first try, before the Lease went elsewhere"
    assert active.filter("p", ["b"])["NodeNames"] == ["b"]
    assert (await active.bind("p", "b")).done
    standby.create(active.pods["default", "p"])
    for name in ("first", "second"):
        standby.create(pod(name, WHOLE))
    assert await standby.schedule("first") == "a"
    assert await standby.schedule("second") == "", "nothing leaks on a, nothing is booked twice on b"


async def test_b22_cards_of_a_pod_that_never_comes_to_its_bind_are_free_again() -> None:
    """Volumes, a permit, or CPU: kube-scheduler gives up after filter and tells nobody."""
    world = World(one_card())
    for name in ("stuck", "next"):
        world.create(pod(name, WHOLE))
    assert world.filter("stuck")["NodeNames"] == ["a"]
    assert world.filter("next")["Error"] == PROMISES_IN_THE_WAY
    world.now += Times().promise + 1
    world.state.reservations.expire()
    assert await world.schedule("next") == "a"
    assert (await world.bind("stuck", "a")).outcome is BindOutcome.UNFIT


async def test_b28_a_card_that_is_announced_whole_and_in_slices_is_sold_once() -> None:
    both = closed_node("a", 1)
    both["status"]["allocatable"]["metax-tech.com/gpu"] = "1"
    world = World(both, node("b", metax_cards("b", 1, mode=CardMode.UNDECIDED)))
    names = [f"p{number}" for number in range(4)]
    for number, name in enumerate(names):
        world.create(pod(name, (WHOLE, GPU)[number % 2]))
    placed = [where for name in names if (where := await world.schedule(name))]
    assert sorted(placed) == ["a", "b"]


async def test_b33_of_two_pods_decided_about_at_the_same_time_one_gets_the_card() -> None:
    world = World(one_card())
    for name in ("first", "second"):
        world.create(pod(name, WHOLE))
    answers = [world.filter(name) for name in ("first", "second")]
    assert answers[0]["NodeNames"] == ["a"]
    assert answers[1]["Error"] == PROMISES_IN_THE_WAY
    # Somebody binds all the same: a filter call that outlived its caller, or a second kube-scheduler.
    assert not (await world.bind("second", "a")).done
    assert (await world.bind("first", "a")).done


# --- what users reported beside ------------------------------------------------------------------------------------


async def test_987_asking_again_about_a_running_pod_moves_none_of_its_cards() -> None:
    world = World(one_card("a"), one_card("b"))
    world.create(pod("runs", WHOLE))
    assert await world.schedule("runs") == "a"
    before = world.state.ledger.holding(PodUid("uid-runs"))
    for _ in range(3):
        assert world.filter("runs")["Error"] == "the pod has a node already: a"
    assert world.state.ledger.holding(PodUid("uid-runs")) == before
    assert len(world.state.reservations) == 0


async def test_2592_a_pod_on_a_card_that_the_node_no_longer_reports_still_holds_it() -> None:
    world = World(node("a", metax_cards("a", 2)))
    world.create(pod("runs", WHOLE))
    assert await world.schedule("runs") == "a"
    missing = world.state.ledger.holdings_on(next(iter(world.state.ledger.nodes())).name)
    held = next(iter(missing)).tenant.allocation.cards[0]
    world.put_node(node("a", [card for card in metax_cards("a", 2) if card.uuid != held]))
    world = again(world)
    world.put_node(node("a", metax_cards("a", 2)))
    for name in ("second", "third"):
        world.create(pod(name, WHOLE))
    assert await world.schedule("second") == "a"
    assert await world.schedule("third") == "", "the card that came back is not offered a second time"


@pytest.mark.parametrize(
    "init", [[], [{"name": "prepares", "resources": {}}]], ids=["alone", "after another"]
)
async def test_3052_an_init_container_without_cards_does_not_lift_the_quota(init: list[Object]) -> None:
    whole = WholeScheduler(node("a"))
    quota = {"spec": {"hard": {"limits.metax-tech.com/vmemory": "40"}}}
    book = whole.scheduler._book  # pyright: ignore[reportPrivateUsage] - informers feed it
    book.quota_changed(Change(Key("default", "cards"), None, quota))
    for name in ("first", "second"):
        whole.world.create(pod(name, HALF, spec={"initContainers": init}))
    assert (await whole.filter("first", ["a"]))["NodeNames"] == ["a"]
    assert await whole.bind("first", "a") == ""
    told = (await whole.filter("second", ["a"]))["FailedNodes"]["a"]
    assert "vmemory" in told
    assert list(whole.holdings()) == ["uid-first"]


async def test_594_a_deployment_that_changes_its_size_leaves_nothing_of_the_old_pod_behind() -> None:
    world = World(one_card())
    world.create(pod("web-old", WHOLE))
    assert await world.schedule("web-old") == "a"
    world.create(pod("web-new", HALF))
    assert await world.schedule("web-new") == "", "the old one runs until the new one does"
    world.delete("web-old")
    assert await world.schedule("web-new") == "a"
    world.create(pod("beside", HALF))
    assert await world.schedule("beside") == "a"


async def test_812_and_1557_a_pod_that_waited_for_a_rebooting_node_is_placed_when_it_is_back() -> None:
    world = World(one_card())
    world.create(pod("waits", WHOLE))
    world.put_node(node("a", []))
    assert not world.filter("waits")["NodeNames"]
    world.remove_node("a")
    assert not world.filter("waits", ["a"])["NodeNames"]
    world.put_node(one_card())
    assert await world.schedule("waits") == "a"
