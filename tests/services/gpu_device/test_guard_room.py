"""What a container may be given beside other pods: nothing is sold twice, and the earlier promise stands."""

import json
from collections.abc import Iterable
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.starts import (
    APP_CLASS,
    CORE,
    GIVEN,
    GPU,
    HAMI_MTHREADS,
    HAMI_SLICE,
    HAMI_WHOLE,
    MEMORY,
    QOS,
    TWO_METAX,
    bound,
    init,
    inventory,
    limits,
    metax,
    mthreads,
    mthreads_limits,
    sliced,
    starting,
    uuid,
    written,
)
from tangram.engine.usage import holds_of
from tangram.model.allocations import Allocation, ContainerShares, Tenant
from tangram.model.cards import CardMode
from tangram.model.pods import Container, Phase
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.grants import slice_wishes
from tangram.services.gpu_device.guard import check
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.units.ids import CardUuid, PodUid
from tangram.units.memory import GIB, MIB, from_gib
from tangram.wire.koordinator.names import DEVICE_ALLOCATED
from tangram.wire.tenants import Unnamed


def judge(
    who: BoundPod,
    *others: BoundPod,
    granted: Iterable[BoundPod] = (),
    container: str = "c0",
    on: Inventory = TWO_METAX,
    ids: int = 1,
    resource: str = "metax-tech.com/sgpu",
) -> str:
    """The code of the refusal, or nothing."""
    begins = starting(who, container, ids=ids, resource=resource)
    found = check(begins, on, [who, *others], {each.kubelet_uid for each in granted})
    return found.code if isinstance(found, Refusal) else ""


def test_of_two_pods_that_claim_the_same_memory_the_one_bound_later_is_refused_whoever_starts_first() -> None:
    early, late = sliced("early", (0, 40, 10), at=1), sliced("late", (0, 40, 10), at=2)
    assert judge(late, early) == "memory-oversold"
    assert judge(early, late) == ""
    assert judge(late, early, granted=[early]) == "memory-oversold"


def test_pods_bound_in_the_same_moment_are_told_apart_by_their_uid() -> None:
    one, two = sliced("aaa", (0, 40, 10)), sliced("bbb", (0, 40, 10))
    assert (judge(one, two), judge(two, one)) == ("", "memory-oversold")


def test_what_is_granted_counts_even_if_it_was_bound_later() -> None:
    early, late = sliced("early", (0, 40, 10), at=1), sliced("late", (0, 40, 10), at=2)
    assert judge(early, late, granted=[late]) == "memory-oversold"
    assert judge(late, early, granted=[late]) == ""


def test_pods_that_are_over_do_not_count_and_terminating_ones_do() -> None:
    late = sliced("late", (0, 40, 10), at=2)
    over = sliced("early", (0, 40, 10), phase=Phase.SUCCEEDED)
    leaving = sliced("early", (0, 40, 10), terminating=True)
    assert judge(late, over, granted=[over]) == ""
    assert judge(late, leaving) == "memory-oversold"


SLICES_63 = Inventory(
    node=TWO_METAX.node,
    devices=tuple(msgspec.structs.replace(each, memory=from_gib(64)) for each in TWO_METAX.devices),
    cards=tuple(msgspec.structs.replace(each, memory=from_gib(63)) for each in TWO_METAX.cards),
)


def test_who_asks_for_all_memory_gets_what_the_card_slices_where_a_peer_wrote_all_of_the_card() -> None:
    everything = sliced("all", (0, 64, 100), asked={"metax-tech.com/sgpu": "1"}, on=SLICES_63)
    found = check(starting(everything), SLICES_63, [everything], set[PodUid]())
    assert not isinstance(found, Refusal)
    assert [share.memory for each in found for share in each.shares] == [from_gib(63)]
    second = sliced("second", (0, 1, 0), at=2, on=SLICES_63)
    assert judge(second, everything, on=SLICES_63) == "memory-oversold"


def koordinated(
    name: str, percent: int, *, at: int = 1, of_bytes: int | None = None, asked: dict[str, str] | None = None
) -> BoundPod:
    """A pod that koord-scheduler placed by what koord-device-daemon reports: all 64 GiB of the card."""
    given = from_gib(64) * percent // 100 if of_bytes is None else of_bytes
    words = {
        "koordinator.sh/gpu.shared": "1",
        "koordinator.sh/gpu-core": str(percent),
        "koordinator.sh/gpu-memory-ratio": str(percent),
        "metax-tech.com/sgpu": "1",
    }
    resources = {
        "koordinator.sh/gpu-core": str(percent),
        "koordinator.sh/gpu-memory": str(given),
        "koordinator.sh/gpu-memory-ratio": str(percent),
    }
    notes = {
        DEVICE_ALLOCATED: json.dumps({"gpu": [{"minor": 0, "resources": resources, "id": uuid(0)}]}),
        GIVEN: json.dumps([[{"uuid": uuid(0), "compute": percent, "vRam": given // MIB}]]),
    }
    return bound(name, asked or words, annotations=notes, at=at, on=SLICES_63, scheduler="koord-scheduler")


@pytest.mark.parametrize(
    ("percent", "promised", "made"),
    [
        pytest.param(100, 64512 * MIB, 64512, id="all of it"),
        pytest.param(50, 32256 * MIB, 32256, id="a half is 252 steps of the card"),
        pytest.param(25, 16128 * MIB, 16128, id="a quarter is 126 steps"),
        pytest.param(33, 63 * GIB * 33 // 100, 21248, id="a third ends within a step"),
        pytest.param(1, 63 * GIB // 100, 640, id="one percent is five steps and a rest"),
    ],
)
def test_a_percentage_is_of_what_the_card_slices_where_a_peer_took_it_of_all_of_the_card(
    percent: int, promised: int, made: int
) -> None:
    one = koordinated("one", percent)
    found = check(starting(one), SLICES_63, [one], set[PodUid]())
    assert not isinstance(found, Refusal)
    assert [share.memory for each in found for share in each.shares] == [promised]
    assert [wish.memory for wish in slice_wishes(PodUid("one"), found)] == [made * MIB]


@pytest.mark.parametrize("percents", [(50, 50), (25, 25, 25, 25), (50, 25, 25), (33, 33, 33, 1)])
def test_percentages_that_make_one_card_share_it(percents: tuple[int, ...]) -> None:
    pods = [koordinated(f"p{at}", percent, at=at) for at, percent in enumerate(percents)]
    assert [judge(each, *pods, on=SLICES_63) for each in pods] == ["" for _ in pods]
    assert [judge(each, *pods, granted=pods, on=SLICES_63) for each in pods] == ["" for _ in pods]
    assert judge(koordinated("more", 5, at=9), *pods, on=SLICES_63) == "memory-oversold"


def test_more_than_the_percentage_of_all_of_the_card_is_still_refused() -> None:
    above = koordinated("above", 50, of_bytes=from_gib(32) + MIB)
    assert judge(above, on=SLICES_63) == "more-than-asked"


def test_bytes_that_koordinator_was_asked_for_are_not_cut() -> None:
    words = {
        "koordinator.sh/gpu.shared": "1",
        "koordinator.sh/gpu-core": "50",
        "koordinator.sh/gpu-memory": "32Gi",
        "metax-tech.com/sgpu": "1",
    }
    pods = [koordinated(f"p{at}", 50, at=at, asked=words) for at in range(2)]
    assert [judge(each, *pods, on=SLICES_63) for each in pods] == ["", "memory-oversold"]


@pytest.mark.parametrize(
    ("gib", "asked"),
    [
        pytest.param(65, {"metax-tech.com/sgpu": "1"}, id="more than the card has"),
        pytest.param(64, {"metax-tech.com/sgpu": "1", "metax-tech.com/vmemory": "20"}, id="more than asked"),
    ],
)
def test_more_memory_than_that_is_still_refused(gib: int, asked: dict[str, str]) -> None:
    assert judge(sliced("more", (0, gib, 100), asked=asked, on=SLICES_63), on=SLICES_63) == "more-than-asked"


def test_a_size_that_was_asked_for_is_not_cut() -> None:
    exact = sliced("exact", (0, 64, 50), on=SLICES_63)
    assert judge(exact, on=SLICES_63) == "memory-oversold"


def test_other_cards_do_not_matter() -> None:
    assert judge(sliced("late", (0, 40, 10), at=2), sliced("early", (1, 40, 100))) == ""


def test_compute_of_a_card_is_sold_once() -> None:
    early, late = sliced("early", (0, 4, 60), at=1), sliced("late", (0, 4, 50), at=2)
    assert judge(late, early) == "compute-oversold"
    assert judge(sliced("late", (0, 4, 40), at=2), early) == ""


def test_a_card_has_sixteen_slots() -> None:
    tenants = [sliced(f"p{number:02}", (0, 1, 1), at=number) for number in range(17)]
    assert judge(tenants[15], *tenants[:15]) == ""
    assert judge(tenants[16], *tenants[:16]) == "slots-oversold"


def test_a_slice_with_all_compute_has_its_card_to_itself() -> None:
    quiet, all_of_it = sliced("quiet", (0, 4, 0), at=1), sliced("all", (0, 4, 100), at=2)
    assert judge(all_of_it, quiet) == "card-exclusive"
    assert judge(quiet, all_of_it) == ""
    later = sliced("later", (0, 4, 0), at=3)
    assert judge(later, all_of_it) == "compute-oversold"


def test_a_slice_without_compute_joins_only_where_some_is_left() -> None:
    full = [sliced("a", (0, 4, 50), at=1), sliced("b", (0, 4, 50), at=3)]
    assert judge(sliced("last", (0, 4, 0), at=4), *full) == "compute-oversold"
    assert judge(sliced("middle", (0, 4, 0), at=2), *full, granted=full) == ""


def test_a_card_runs_one_policy_at_a_time() -> None:
    early, late = sliced("early", (0, 4, 10), at=1), sliced("late", (0, 4, 10), at=2, qos="fixed-share")
    assert judge(late, early) == "qos-clash"
    assert judge(early, late) == ""
    assert judge(early, late, granted=[late]) == "qos-clash"
    assert judge(sliced("late", (0, 4, 10), at=2), early) == ""


@pytest.mark.parametrize(
    ("present", "joining", "code"),
    [
        ("", "", ""),
        ("", "offline", "app-class-clash"),
        ("", "online", "app-class-clash"),
        ("offline", "", "app-class-clash"),
        ("offline", "offline", ""),
        ("offline", "online", ""),
        ("online", "", "app-class-clash"),
        ("online", "offline", ""),
        ("online", "online", ""),
    ],
)
def test_classes_meet_on_a_card_as_hami_lets_them(present: str, joining: str, code: str) -> None:
    """In either order of binding: binds run in parallel, so the one placed first may be bound second."""
    early = sliced("early", (0, 4, 0 if present == "online" else 10), app_class=present, at=1)
    late = sliced("late", (0, 4, 0 if joining == "online" else 10), app_class=joining, at=2)
    assert judge(late, early) == code
    assert judge(early, late) == ""


def test_an_online_pod_joins_an_offline_one_that_has_all_compute_and_both_start_in_any_order() -> None:
    offline = sliced("offline", (0, 4, 100), app_class="offline", at=1)
    online = sliced("online", (0, 4, 50), app_class="online", at=2, qos="fixed-share")
    assert judge(online, offline) == ""
    assert judge(offline, online, granted=[online]) == ""
    sooner = sliced("online", (0, 4, 50), app_class="online", at=0, qos="fixed-share")
    assert (judge(offline, sooner, granted=[sooner]), judge(sooner, offline)) == ("", "")


def pod_with_init(name: str, *, at: int, done: bool = False) -> BoundPod:
    return bound(
        name,
        init("warm", limits(gib=40, cores=40)),
        Container("main", limits=limits(gib=8)),
        annotations={HAMI_SLICE: written([(0, 40, 40)], [(0, 8, 10)]), QOS: "best-effort"},
        at=at,
        init_done=done,
    )


def test_an_init_container_counts_until_it_is_over() -> None:
    late = sliced("late", (0, 32, 10), at=2)
    assert judge(late, pod_with_init("early", at=1)) == "memory-oversold"
    assert judge(late, pod_with_init("early", at=1, done=True)) == ""


def test_an_init_container_and_the_container_after_it_do_not_add_up() -> None:
    early = sliced("early", (0, 24, 10), at=1)
    assert judge(pod_with_init("late", at=2), early, container="warm") == ""
    assert (
        judge(pod_with_init("late", at=2), sliced("early", (0, 25, 10)), container="warm")
        == "memory-oversold"
    )


def test_an_init_container_that_runs_again_needs_its_room_again() -> None:
    early = sliced("early", (0, 32, 10), at=1)
    late = pod_with_init("late", at=2, done=True)
    assert judge(late, early, container="main") == ""
    assert judge(late, early, container="warm") == "memory-oversold"


def test_a_pod_is_judged_as_a_whole_since_a_grant_is_a_promise_to_all_its_containers() -> None:
    early = sliced("early", (1, 40, 10), at=1)
    late = bound(
        "late",
        limits(),
        limits(gib=40),
        annotations={HAMI_SLICE: written([(0, 4, 10)], [(1, 40, 10)])},
        at=2,
    )
    assert judge(late, early, container="c0") == "memory-oversold"


def test_claims_that_are_never_granted_take_no_room() -> None:
    late = sliced("late", (0, 40, 10), at=2)
    forged = bound("forged", limits(gib=1), annotations={HAMI_SLICE: written([(0, 60, 100)])})
    alone = bound(
        "alone",
        limits(gib=40),
        limits(gib=40),
        annotations={HAMI_SLICE: written([(0, 40, 10)], [(0, 40, 10)])},
    )
    assert judge(late, forged, alone) == ""
    assert judge(alone) == "memory-oversold"


def test_a_granted_pod_counts_whatever_its_annotation_says_now() -> None:
    late = sliced("late", (0, 40, 10), at=2)
    inflated = bound("early", limits(gib=40), annotations={HAMI_SLICE: written([(0, 60, 10)])})
    assert judge(late, inflated, granted=[inflated]) == "memory-oversold"
    erased = bound("early", limits(gib=40))
    assert isinstance(erased.holds, Unnamed)
    assert judge(late, erased, granted=[erased]) == "memory-oversold"
    assert judge(sliced("late", (0, 8, 10), at=2), erased, granted=[erased]) == ""
    assert judge(late, erased) == ""
    odd = bound("early", {"metax-tech.com/sgpu": "two"})
    assert judge(late, odd, granted=[odd]) == "memory-oversold"


def test_a_whole_card_tenant_on_a_sliced_card_holds_all_of_it() -> None:
    whole = bound("whole", {GPU: "1"}, annotations={HAMI_WHOLE: written([(0, 1, 1)], word="Metax-GPU")})
    assert judge(sliced("late", (0, 4, 10), at=2), whole) == "memory-oversold"


def test_whole_card_tenants_that_nobody_named_count_once_there_are_more_than_whole_cards() -> None:
    on = inventory(metax(0), metax(1, CardMode.WHOLE), metax(2, CardMode.WHOLE))
    late = sliced("late", (0, 4, 10), at=9, on=on)
    unnamed = [bound(f"whole-{number}", {GPU: "1"}, on=on) for number in range(3)]
    assert judge(late, *unnamed[:2], on=on) == ""
    assert judge(late, *unnamed, on=on) == "card-held-whole"
    assert judge(late, *unnamed, granted=[late], on=on) == ""
    named = bound(
        "named", {GPU: "1"}, annotations={HAMI_WHOLE: written([(1, 64, 100)], word="Metax-GPU")}, on=on
    )
    assert judge(late, named, *unnamed[:1], on=on) == ""
    assert judge(late, named, *unnamed[:2], on=on) == "card-held-whole"


def test_moore_threads_cards_are_sold_once_too() -> None:
    on = inventory(mthreads(0))

    def pod(name: str, gib: int, cores: int, at: int) -> BoundPod:
        notes = {HAMI_MTHREADS: written([(0, gib, cores)], word="Mthreads"), APP_CLASS: "online"}
        return bound(name, mthreads_limits(gib * 2, cores), annotations=notes, at=at, on=on)

    early = pod("early", 32, 8, 1)
    assert judge(pod("late", 32, 8, 2), early, on=on, resource=MEMORY, ids=64) == "memory-oversold"
    assert judge(pod("late", 16, 9, 2), early, on=on, resource=CORE, ids=9) == "compute-oversold"
    assert judge(pod("late", 16, 8, 2), early, on=on, resource=CORE, ids=8) == ""


def test_a_static_pod_is_not_its_own_rival() -> None:
    mirror = bound(
        "p",
        limits(gib=40),
        uid="new",
        kubelet_uid="hash",
        at=2,
        annotations={HAMI_SLICE: written([(0, 40, 10)])},
    )
    before = bound(
        "p",
        limits(gib=40),
        uid="old",
        kubelet_uid="hash",
        at=1,
        annotations={HAMI_SLICE: written([(0, 40, 10)])},
    )
    assert judge(mirror, before) == ""


def test_a_refusal_names_the_card_the_amounts_and_who_is_there() -> None:
    many = [sliced(f"early-{number}", (0, 10, 1), at=number) for number in range(6)]
    late = sliced("late", (0, 40, 10), at=9)
    found = check(starting(late), TWO_METAX, many, ())
    assert isinstance(found, Refusal)
    for words in ("40 GiB", "60 GiB", "64 GiB", uuid(0), "default/early-0", "3 more"):
        assert words in found.sentence


def test_a_refusal_names_the_same_pod_in_whatever_order_pods_are_known() -> None:
    others = [
        sliced("a", (0, 4, 10), qos="fixed-share", at=1),
        sliced("b", (0, 4, 10), app_class="offline", at=2),
    ]
    late = sliced("late", (0, 4, 10), at=9)
    there, back = (check(starting(late), TWO_METAX, pods, ()) for pods in (others, others[::-1]))
    assert there == back
    assert isinstance(there, Refusal)


# --- whatever is written and whoever starts when

PARTS = st.tuples(
    st.integers(0, 1), st.sampled_from([0, 1, 8, 24, 40, 64]), st.sampled_from([0, 10, 50, 100])
)


@st.composite
def pods(draw: st.DrawFn) -> list[BoundPod]:
    made: list[BoundPod] = []
    for number in range(draw(st.integers(1, 7))):
        rows = draw(st.lists(PARTS, min_size=1, max_size=3))
        containers = [Container("main", limits=limits(1, rows[0][1] or 1, rows[0][2]))]
        if len(rows) > 1:
            containers.insert(0, init("warm", limits(1, rows[1][1] or 1, rows[1][2])))
            rows = [rows[1], rows[0], *rows[2:]]
        told = [[row] for row in rows[: len(containers)]]
        if draw(st.integers(0, 5)) == 0:
            # Somebody's own handwriting.
            told[-1] = [draw(PARTS), *([draw(PARTS)] if draw(st.booleans()) else [])]
        notes = {HAMI_SLICE: written(*told)} if draw(st.integers(0, 9)) else {}
        notes[QOS] = draw(st.sampled_from(["best-effort", "best-effort", "best-effort", "fixed-share"]))
        kind = draw(st.sampled_from(["", "", "", "", "online", "offline"]))
        if kind:
            notes[APP_CLASS] = kind
        made.append(
            bound(
                f"p{number}",
                *containers,
                annotations=notes,
                at=draw(st.integers(1, 4)),
                init_done=draw(st.booleans()),
            )
        )
    return made


def start_in(order: list[BoundPod], everybody: list[BoundPod]) -> dict[PodUid, str]:
    """Every container of every pod starts once, pod by pod, as the agent would judge it."""
    granted: set[PodUid] = set()
    answers: dict[PodUid, str] = {}
    for who in order:
        names = [each.name for each in who.pod.containers if not (who.pod.init_done and each.name == "warm")]
        found = [check(starting(who, name), TWO_METAX, everybody, granted) for name in names]
        refused = next((each for each in found if isinstance(each, Refusal)), None)
        answers[who.kubelet_uid] = "" if refused is None else refused.code
        if refused is None:
            granted.add(who.kubelet_uid)
        assert_nothing_sold_twice([each for each in everybody if each.kubelet_uid in granted])
    return answers


def assert_nothing_sold_twice(granted: list[BoundPod]) -> None:
    memory: dict[CardUuid, int] = {}
    cores: dict[CardUuid, int] = {}
    slots: dict[CardUuid, int] = {}
    for each in granted:
        assert isinstance(each.holds, Tenant)
        online = each.holds.app_class == "online"
        for card, hold in holds_of(each.holds.allocation, init_done=each.holds.init_done).items():
            memory[card] = memory.get(card, 0) + hold.memory
            cores[card] = cores.get(card, 0) + (0 if online else hold.cores)
            slots[card] = slots.get(card, 0) + hold.slots
    for card in TWO_METAX.cards:
        assert memory.get(card.uuid, 0) <= card.memory
        assert cores.get(card.uuid, 0) <= card.cores
        assert slots.get(card.uuid, 0) <= card.slots


@given(pods(), st.randoms(use_true_random=False))
def test_nothing_is_sold_twice_and_no_order_of_starts_changes_an_answer(
    everybody: list[BoundPod], chance: Random
) -> None:
    in_order = sorted(everybody, key=lambda each: (each.bound_at, each.kubelet_uid))
    expected = start_in(in_order, everybody)
    shuffled = list(everybody)
    chance.shuffle(shuffled)
    assert start_in(shuffled, everybody) == expected


@given(pods())
def test_whoever_is_bound_later_changes_nothing_for_those_before(everybody: list[BoundPod]) -> None:
    in_order = sorted(everybody, key=lambda each: (each.bound_at, each.kubelet_uid))
    every = start_in(in_order[::-1], everybody)
    for count in range(1, len(in_order)):
        first = in_order[:count]
        assert start_in(first, first) == {each.kubelet_uid: every[each.kubelet_uid] for each in first}


@given(pods(), st.data())
def test_what_is_granted_is_never_more_than_was_asked_for(
    everybody: list[BoundPod], data: st.DataObject
) -> None:
    who = data.draw(st.sampled_from(everybody))
    for container in who.pod.containers:
        found = check(starting(who, container.name), TWO_METAX, everybody, ())
        if isinstance(found, Refusal):
            continue
        assert [each.name for each in found] == [container.name]
        asked = int(container.limits["metax-tech.com/vmemory"]), int(container.limits["metax-tech.com/vcore"])
        assert all(share.memory <= asked[0] * 2**30 and share.cores <= asked[1] for share in found[0].shares)
        assert len(found[0].shares) == 1


@given(pods(), st.data())
def test_when_pods_come_and_go_nothing_is_sold_twice(everybody: list[BoundPod], data: st.DataObject) -> None:
    """The agent may learn of pods in any order, so a later one may be granted before an earlier one is known."""
    known: list[BoundPod] = []
    granted: set[PodUid] = set()
    for _ in range(data.draw(st.integers(1, 15))):
        match data.draw(st.sampled_from(["come", "start", "start", "go"])):
            case "come":
                known += [each for each in everybody if each not in known][:1]
            case "start" if known:
                who = data.draw(st.sampled_from(known))
                again = who.kubelet_uid in granted
                found = check(starting(who, "main"), TWO_METAX, known, granted)
                if not isinstance(found, Refusal):
                    granted.add(who.kubelet_uid)
                elif again:
                    # Nobody takes from a container that restarts what its pod was given.
                    raise AssertionError(found)
            case "go" if known:
                gone = data.draw(st.sampled_from(known))
                known.remove(gone)
                granted.discard(gone.kubelet_uid)
            case _:
                pass
        assert_nothing_sold_twice([each for each in known if each.kubelet_uid in granted])


def test_shares_are_records_that_add_up() -> None:
    pod = pod_with_init("one", at=1)
    found = check(starting(pod, "warm", "main"), TWO_METAX, [pod], ())
    assert not isinstance(found, Refusal)
    assert all(isinstance(each, ContainerShares) for each in found)
    assert isinstance(pod.holds, Tenant)
    assert pod.holds.allocation == Allocation(TWO_METAX.node, found)
