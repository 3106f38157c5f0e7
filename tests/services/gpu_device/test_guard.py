"""What a container may be given, and why not: one pod alone against its request and the node's cards."""

import json

import msgspec
import pytest

from builders.clusters import card
from builders.starts import (
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
    function,
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
from tangram.model.allocations import ContainerShares, Share
from tangram.model.cards import CardMode, Vendor
from tangram.model.pods import Container, Phase, Role
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.guard import check, check_whole
from tangram.services.gpu_device.records import BoundPod, Inventory, Starting
from tangram.units.ids import CardUuid, PodUid
from tangram.units.memory import from_gib, from_mib

NOBODY: frozenset[PodUid] = frozenset()


def judge(
    who: Starting, on: Inventory = TWO_METAX, *, granted: frozenset[PodUid] = NOBODY
) -> tuple[ContainerShares, ...] | Refusal:
    return check(who, on, [who.bound], granted)


def shares(found: tuple[ContainerShares, ...] | Refusal) -> list[tuple[str, list[tuple[str, int, int]]]]:
    assert not isinstance(found, Refusal), found
    return [
        (each.name, [(str(one.card), one.memory // from_gib(1), one.cores) for one in each.shares])
        for each in found
    ]


def code_of(found: object) -> str:
    assert isinstance(found, Refusal), found
    return found.code


def test_a_slice_as_it_was_asked_for_is_given() -> None:
    assert shares(judge(starting(sliced("one", (1, 4, 10))))) == [("c0", [(uuid(1), 4, 10)])]


def test_slices_of_two_cards_need_two_slots() -> None:
    two = sliced("one", (0, 4, 10), (1, 4, 10))
    assert shares(judge(starting(two, ids=2))) == [("c0", [(uuid(0), 4, 10), (uuid(1), 4, 10)])]
    assert code_of(judge(starting(two, ids=1))) == "slots-mismatch"
    assert code_of(judge(starting(two, ids=3))) == "slots-mismatch"


def test_containers_that_share_ids_each_get_their_own() -> None:
    pod = bound(
        "one",
        init("warm", limits(gib=8)),
        Container("main", limits=limits()),
        annotations={HAMI_SLICE: written([(0, 8, 10)], [(0, 4, 10)])},
    )
    assert shares(judge(starting(pod, "warm", "main"))) == [
        ("warm", [(uuid(0), 8, 10)]),
        ("main", [(uuid(0), 4, 10)]),
    ]


def test_a_pod_that_no_scheduler_of_slices_placed_is_told_what_to_do() -> None:
    found = judge(starting(bound("one", limits(), scheduler="default-scheduler")))
    assert code_of(found) == "allocation-missing"
    assert isinstance(found, Refusal)
    for words in ("default-scheduler", "tangram-scheduler", "hami-scheduler", "koord-scheduler", "nodeName"):
        assert words in found.sentence


@pytest.mark.parametrize(
    ("annotations", "code", "part"),
    [
        pytest.param({HAMI_SLICE: ";"}, "allocation-missing", "wrote down", id="separators only"),
        pytest.param({GIVEN: "[[]]"}, "allocation-missing", "wrote down", id="empty list"),
        pytest.param({HAMI_SLICE: "garbage;"}, "allocation-unreadable", "garbage", id="garbage"),
        pytest.param({GIVEN: "[[GPU"}, "allocation-unreadable", GIVEN, id="no JSON"),
        pytest.param(
            {HAMI_SLICE: written([(0, 4, 10)]), "hami.io/vgpu-node": "elsewhere"},
            "allocation-unreadable",
            "elsewhere",
            id="another node",
        ),
        pytest.param(
            {HAMI_SLICE: written([], [(0, 4, 10)])},
            "allocation-unreadable",
            "more containers",
            id="wrong count",
        ),
        pytest.param({HAMI_SLICE: "GPU-x,Metax-SGPU,4096,10:;"}, "card-unknown", "GPU-x", id="unknown card"),
        pytest.param({HAMI_WHOLE: written([(0, 4, 10)])}, "card-not-sliced", "whole", id="whole by its key"),
    ],
)
def test_an_allocation_that_cannot_be_meant_is_refused(
    annotations: dict[str, str], code: str, part: str
) -> None:
    found = judge(starting(bound("one", limits(), annotations=annotations)))
    assert code_of(found) == code
    assert isinstance(found, Refusal)
    assert part in found.sentence


def test_fewer_cards_than_asked_are_refused() -> None:
    pod = bound("one", limits(2), annotations={HAMI_SLICE: written([(0, 4, 10)])})
    assert code_of(judge(starting(pod, ids=2))) == "allocation-unreadable"


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        pytest.param(limits(gib=4), [(0, 5, 10)], id="memory"),
        pytest.param(limits(cores=10), [(0, 4, 11)], id="compute"),
        pytest.param(limits(1), [(0, 4, 10), (1, 4, 10)], id="cards"),
    ],
)
def test_more_than_the_pod_asks_for_is_refused(
    asked: dict[str, str], parts: list[tuple[int, int, int]]
) -> None:
    pod = bound("one", asked, annotations={HAMI_SLICE: written(parts)})
    assert code_of(judge(starting(pod, ids=len(parts)))) == "more-than-asked"


def test_slices_for_a_container_that_asks_for_none_are_refused() -> None:
    pod = bound("one", limits(), {}, annotations={HAMI_SLICE: written([(0, 4, 10)], [(1, 4, 10)])})
    assert code_of(judge(starting(pod))) == "more-than-asked"


def test_an_exclusive_slice_may_be_the_whole_card() -> None:
    pod = bound("one", limits(1, None, None), annotations={HAMI_SLICE: written([(0, 64, 100)])})
    assert shares(judge(starting(pod))) == [("c0", [(uuid(0), 64, 100)])]


@pytest.mark.parametrize("mib", [64, 100])
def test_less_than_the_metax_kernel_can_make_a_slice_of_is_refused(mib: int) -> None:
    pod = bound("one", limits(), annotations={HAMI_SLICE: f"{uuid(0)},Metax-SGPU,{mib},10:;"})
    assert code_of(judge(starting(pod))) == "memory-impossible"


def test_an_unhealthy_card_stops_new_pods_and_no_restart() -> None:
    on = inventory(metax(0, healthy=False), metax(1))
    pod = sliced("one", (0, 4, 10), on=on)
    found = judge(starting(pod), on)
    assert code_of(found) == "card-unhealthy"
    assert isinstance(found, Refusal)
    assert "fell off the bus" in found.sentence
    assert shares(judge(starting(pod), on, granted=frozenset({pod.kubelet_uid})))


def test_a_cordoned_card_keeps_the_pods_that_were_bound_to_it() -> None:
    on = inventory(msgspec.structs.replace(metax(0), cordoned=True))
    assert shares(judge(starting(sliced("one", (0, 4, 10), on=on)), on))


@pytest.mark.parametrize("mode", [CardMode.WHOLE, CardMode.VIRTUAL, CardMode.SHARED])
def test_a_card_that_is_not_offered_in_slices_now_gives_none(mode: CardMode) -> None:
    on = inventory(metax(0, mode), metax(1))
    assert code_of(judge(starting(sliced("one", (0, 4, 10), on=on)), on)) == "card-not-sliced"


def test_a_card_of_the_other_vendor_is_refused() -> None:
    on = inventory(mthreads(0), metax(1))
    assert code_of(judge(starting(sliced("one", (0, 4, 10), on=on)), on)) == "card-of-other-vendor"


def test_a_pod_that_is_over_gets_nothing() -> None:
    over = sliced("one", (0, 4, 10), phase=Phase.FAILED)
    assert code_of(judge(starting(over))) == "pod-over"
    assert code_of(judge(starting(bound("one", limits(), node=None)))) == "pod-over"


def test_a_privileged_container_gets_nothing_since_it_sees_everything() -> None:
    main = Container("main", limits=limits(), privileged=True)
    pod = bound("one", main, annotations={HAMI_SLICE: written([(0, 4, 10)])})
    found = judge(starting(pod, "main"))
    assert code_of(found) == "request-refused"
    assert isinstance(found, Refusal)
    assert "privileged" in found.sentence


def test_wishes_about_placement_that_a_peer_passed_over_stop_nobody() -> None:
    notes = {HAMI_SLICE: written([(0, 4, 10)]), "hami.io/node-scheduler-policy": "bin-pack"}
    assert shares(judge(starting(bound("one", limits(), annotations=notes))))


def koordinated(*containers: Container) -> BoundPod:
    words = {"koordinator.sh/gpu-core": "10", "koordinator.sh/gpu-memory": "4Gi", "metax-tech.com/sgpu": "1"}
    given = json.dumps([[{"uuid": uuid(1), "compute": 10, "vRam": 4096}]])
    asking = [msgspec.structs.replace(each, limits=words) if each.limits else each for each in containers]
    return bound("one", *asking, annotations={GIVEN: given})


def test_koordinators_list_goes_to_the_one_container_that_asks() -> None:
    pod = koordinated(Container("web"), Container("main", limits={"any": "1"}))
    assert shares(judge(starting(pod, "main"))) == [("main", [(uuid(1), 4, 10)])]


def test_koordinators_list_reaches_the_container_that_asks_even_where_the_ledger_books_another() -> None:
    pod = koordinated(Container("web"), Container("main", limits={"any": "1"}))
    odd = bound(
        "one",
        *pod.pod.containers,
        annotations={**pod.pod.annotations, "hami.io/node-scheduler-policy": "bin-pack"},
    )
    assert shares(judge(starting(odd, "main"))) == [("main", [(uuid(1), 4, 10)])]
    assert code_of(judge(starting(odd, "web"))) == "slots-mismatch"


def test_koordinators_list_for_two_containers_that_ask_is_refused_for_both() -> None:
    pod = koordinated(Container("one", limits={"any": "1"}), Container("two", limits={"any": "1"}))
    assert code_of(judge(starting(pod, "one"))) == "allocation-per-pod"
    assert code_of(judge(starting(pod, "two"))) == "allocation-per-pod"


S4000 = inventory(mthreads(0), mthreads(1))


def mthreads_pod(asked: dict[str, str], *parts: tuple[int, int, int], on: Inventory = S4000) -> BoundPod:
    return bound("one", asked, annotations={HAMI_MTHREADS: written(parts, word="Mthreads")}, on=on)


def test_moore_threads_slots_are_as_many_as_the_slice_is_large() -> None:
    pod = mthreads_pod(mthreads_limits(32, 8), (0, 16, 8))
    given = [("c0", [(uuid(0), 16, 8)])]
    assert shares(judge(starting(pod, resource=MEMORY, ids=32), S4000)) == given
    assert shares(judge(starting(pod, resource=CORE, ids=8), S4000)) == given
    for resource, ids in ((MEMORY, 31), (MEMORY, 33), (CORE, 7), (CORE, 16)):
        assert code_of(judge(starting(pod, resource=resource, ids=ids), S4000)) == "slots-mismatch"


def test_several_whole_moore_threads_cards_count_together() -> None:
    pod = mthreads_pod(mthreads_limits(192, 32, 2), (0, 48, 16), (1, 48, 16))
    assert shares(judge(starting(pod, resource=MEMORY, ids=192), S4000))
    assert shares(judge(starting(pod, resource=CORE, ids=32), S4000))


def test_a_forged_moore_threads_slice_is_refused() -> None:
    assert (
        code_of(
            judge(starting(mthreads_pod(mthreads_limits(32, 8), (0, 32, 8)), resource=MEMORY, ids=32), S4000)
        )
        == "more-than-asked"
    )
    assert (
        code_of(
            judge(starting(mthreads_pod(mthreads_limits(32, 8), (0, 16, 9)), resource=CORE, ids=8), S4000)
        )
        == "more-than-asked"
    )


def test_a_size_that_the_moore_threads_kernel_would_round_is_refused() -> None:
    pod = mthreads_pod(mthreads_limits(32, 8), (0, 12, 8))
    assert code_of(judge(starting(pod, resource=MEMORY, ids=32), S4000)) == "memory-impossible"


def test_a_larger_model_has_larger_slices() -> None:
    large = msgspec.structs.replace(
        card("n", 0, vendor=Vendor.MTHREADS, memory=from_gib(80)),
        memory_tiers=tuple(from_gib(size) for size in (1, 2, 4, 8, 16, 32, 64, 80)),
    )
    on = inventory(large)
    half = mthreads_pod(mthreads_limits(128, 8), (0, 64, 8), on=on)
    assert shares(judge(starting(half, resource=MEMORY, ids=128), on))
    exclusive = mthreads_pod(mthreads_limits(160, 16), (0, 80, 16), on=on)
    assert shares(judge(starting(exclusive, resource=MEMORY, ids=160), on))


def test_a_container_with_slots_of_one_vendor_and_cards_of_the_other_gets_none() -> None:
    pod = sliced("one", (0, 4, 10))
    assert code_of(judge(starting(pod, resource=MEMORY, ids=8))) == "slots-mismatch"
    assert code_of(judge(starting(pod, resource="no.such/resource"))) == "slots-mismatch"


# --- whole cards


def whole(
    *ids: str,
    on: Inventory,
    resource: str = GPU,
    others: tuple[BoundPod, ...] = (),
    at: int = 1,
    granted: tuple[BoundPod, ...] = (),
) -> object:
    pod = bound("whole", {resource: str(len(ids))}, on=on, at=at)
    given = {each.kubelet_uid for each in granted}
    return check_whole(starting(pod, resource=resource, ids=ids), on, [pod, *others], given)


MIXED = inventory(metax(0, CardMode.WHOLE), metax(1), metax(2, CardMode.WHOLE))


def test_whole_cards_are_what_the_ids_say() -> None:
    assert whole(uuid(2), uuid(0), on=MIXED) == (uuid(2), uuid(0))


def test_virtual_functions_go_by_their_own_uuid() -> None:
    on = inventory(metax(0, CardMode.VIRTUAL), functions=[function(0, of=0), function(1, of=0)])
    assert whole("VF-0-1", on=on) == ("VF-0-1",)
    assert code_of(whole(uuid(0), on=on)) == "card-not-whole"


def test_a_shared_card_is_given_by_turns() -> None:
    on = inventory(msgspec.structs.replace(metax(0, CardMode.SHARED), slots=4))
    assert whole(f"{uuid(0)}-share-0", f"{uuid(0)}-share-3", on=on) == (uuid(0),)
    assert code_of(whole(f"{uuid(0)}-share-4", on=on)) == "card-not-whole"
    assert code_of(whole(uuid(0), on=on)) == "card-not-whole"


@pytest.mark.parametrize(
    ("unit", "resource", "code"),
    [
        pytest.param("GPU-x", GPU, "card-unknown", id="unknown"),
        pytest.param(uuid(1), GPU, "card-not-whole", id="sliced"),
        pytest.param(f"{uuid(0)}-share-0", GPU, "card-not-whole", id="turn at a whole card"),
        pytest.param(uuid(0), "mthreads.com/gpu", "card-of-other-vendor", id="vendor"),
        pytest.param(uuid(0), "no.such/resource", "card-of-other-vendor", id="no resource of ours"),
    ],
)
def test_units_that_are_not_offered_so_are_refused(unit: str, resource: str, code: str) -> None:
    assert code_of(whole(unit, on=MIXED, resource=resource)) == code


def test_an_unhealthy_whole_card_stops_new_pods_and_no_restart() -> None:
    on = inventory(metax(0, CardMode.WHOLE, healthy=False))
    assert code_of(whole(uuid(0), on=on)) == "card-unhealthy"
    pod = bound("whole", {GPU: "1"}, on=on)
    found = check_whole(starting(pod, resource=GPU, ids=(uuid(0),)), on, [pod], {pod.kubelet_uid})
    assert found == (uuid(0),)


def test_a_card_of_which_a_live_pod_was_given_a_slice_is_not_given_whole() -> None:
    holder = sliced("sliced", (0, 4, 10), at=3, on=MIXED)
    found = whole(uuid(0), on=MIXED, others=(holder,), at=2, granted=(holder,))
    assert code_of(found) == "card-promised"
    over = sliced("sliced", (0, 4, 10), at=1, on=MIXED, phase=Phase.SUCCEEDED)
    assert whole(uuid(0), on=MIXED, others=(over,), at=2, granted=(over,)) == (uuid(0),)


def test_a_slice_that_was_only_promised_of_a_whole_card_keeps_it_from_no_honest_pod() -> None:
    """HAMi sends slices to cards that are offered whole; such a pod never holds one."""
    promised = sliced("sliced", (0, 4, 10), at=1, on=MIXED)
    assert whole(uuid(0), on=MIXED, others=(promised,), at=2) == (uuid(0),)


def test_a_whole_moore_threads_card_of_which_a_slice_was_given_is_not_given() -> None:
    on = inventory(mthreads(0, CardMode.WHOLE))
    holder = mthreads_pod(mthreads_limits(32, 8), (0, 16, 8), on=on)
    found = whole(uuid(0), on=on, resource="mthreads.com/gpu", others=(holder,), at=2, granted=(holder,))
    assert code_of(found) == "card-promised"


def test_roles_and_records_are_those_of_the_pod() -> None:
    pod = bound(
        "one", init("warm", limits()), annotations={HAMI_SLICE: written([(0, 4, 10)]), QOS: "best-effort"}
    )
    expected = Share(CardUuid(uuid(0)), 0, from_mib(4096), 10)
    # A pod of init containers alone is none that Kubernetes would take.
    assert code_of(judge(starting(pod, "warm"))) == "request-refused"
    whole_pod = bound(
        "one", init("warm", limits()), Container("main"), annotations={HAMI_SLICE: written([(0, 4, 10)])}
    )
    assert judge(starting(whole_pod, "warm")) == (ContainerShares("warm", Role.INIT, (expected,)),)
