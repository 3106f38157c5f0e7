"""Who holds what: the kubelet's notes, as far as the API server still knows the pod."""

import pytest
from msgspec.structs import replace

from builders.starts import (
    CORE,
    GPU,
    HAMI_MTHREADS,
    HAMI_SLICE,
    HAMI_WHOLE,
    MEMORY,
    SGPU,
    TWO_METAX,
    bound,
    function,
    held,
    inventory,
    limits,
    metax,
    mthreads,
    mthreads_limits,
    noted,
    sliced,
    uuid,
    written,
)
from tangram.engine.usage import Hold
from tangram.model.cards import CardMode
from tangram.model.pods import Phase
from tangram.services.gpu_device.holdings import (
    Holding,
    busy_cards,
    held_units,
    held_whole,
    holdings_in,
    shares_of,
    usage_of,
)
from tangram.services.gpu_device.kubelet_view import Sight
from tangram.services.gpu_device.records import BoundPod
from tangram.units.ids import CardUuid
from tangram.units.memory import GIB, from_gib
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint, CheckpointedAllocation
from tangram.wire.kubelet.holdings import HeldDevices

UNREADABLE = WireError("checkpoint-unknown", "of a form nobody knows")


def seen(*notes: CheckpointedAllocation, shown: tuple[HeldDevices, ...] | None = ()) -> Sight:
    return Sight(notes=Checkpoint(notes, ()), held=shown)


def found(sight: Sight, *pods: BoundPod, fresh: bool = True) -> tuple[Holding, ...]:
    by_uid = {each.kubelet_uid: each for each in pods}
    by_name = {(str(each.pod.ref.namespace), str(each.pod.ref.name)): each for each in pods}
    return holdings_in(sight, by_uid, by_name, fresh=fresh)


def test_a_note_counts_while_the_api_server_has_the_pod_running() -> None:
    pod = sliced("one", (0, 4, 10))
    note = noted("uid-one", "c0", "metax-sgpu-3")
    assert [each.ids for each in found(seen(note), pod)] == [("metax-sgpu-3",)]
    over = sliced("one", (0, 4, 10), phase=Phase.SUCCEEDED)
    assert found(seen(note), over) == ()


def test_a_note_of_an_unknown_pod_counts_only_while_the_api_server_is_away() -> None:
    note = noted("uid-gone", "c0", "metax-sgpu-3")
    assert found(seen(note)) == ()
    assert len(found(seen(note), fresh=False)) == 1


def test_unreadable_notes_are_made_up_for_by_pod_resources() -> None:
    pod = sliced("one", (0, 4, 10))
    sight = Sight(notes=UNREADABLE, held=(held("one", "c0", "metax-sgpu-3"),))
    (holding,) = found(sight, pod)
    assert (holding.uid, holding.ids) == ("uid-one", ("metax-sgpu-3",))
    assert found(Sight(notes=UNREADABLE, held=None), pod) == ()


def test_resources_of_others_are_none_of_ours() -> None:
    assert (
        found(seen(noted("uid-one", "c0", "x", resource="nvidia.com/gpu")), sliced("one", (0, 4, 10))) == ()
    )


def test_slots_stand_for_the_cards_of_the_allocation_in_their_order() -> None:
    pod = sliced("one", (1, 4, 10), (0, 4, 10))
    holdings = found(seen(noted("uid-one", "c0", "metax-sgpu-10", "metax-sgpu-9")), pod)
    assert held_units(holdings, TWO_METAX) == {
        SGPU: {"metax-sgpu-9": uuid(1), "metax-sgpu-10": uuid(0)},
    }


def test_units_of_moore_threads_stand_for_as_much_as_the_share_has() -> None:
    on = inventory(mthreads(0), mthreads(1))
    annotations = {HAMI_MTHREADS: written([(1, 2, 8)], word="Mthreads")}
    pod = bound("one", mthreads_limits(4, 8), annotations=annotations, on=on)
    memory = noted("uid-one", "c0", *(f"mthreads-sgpu-memory-{n}" for n in range(4)), resource=MEMORY)
    cores = noted("uid-one", "c0", *(f"mthreads-sgpu-core-{n}" for n in range(8)), resource=CORE)
    units = held_units(found(seen(memory, cores), pod), on)
    assert set(units[MEMORY].values()) == set(units[CORE].values()) == {CardUuid(uuid(1))}
    assert (len(units[MEMORY]), len(units[CORE])) == (4, 8)


def test_a_slot_without_an_allocation_stands_for_no_card() -> None:
    holdings = found(seen(noted("uid-one", "c0", "metax-sgpu-1")), bound("one", limits()))
    assert held_units(holdings, TWO_METAX) == {SGPU: {"metax-sgpu-1": None}}


def whole(*ids: str) -> tuple[Holding, ...]:
    return found(seen(noted("uid-one", "c0", *ids, resource=GPU)), bound("one", {GPU: str(len(ids))}))


def test_how_a_card_is_held_whole_is_read_from_its_unit() -> None:
    assert held_whole(whole(uuid(0), f"{uuid(1)}-share-2")) == {
        uuid(0): CardMode.WHOLE,
        uuid(1): CardMode.SHARED,
    }


@pytest.mark.parametrize(
    ("mode", "units", "hold"),
    [
        pytest.param(CardMode.WHOLE, [uuid(0)], Hold(64 * GIB, 100, 1), id="whole"),
        pytest.param(
            CardMode.SHARED, [f"{uuid(0)}-share-0", f"{uuid(0)}-share-1"], Hold(32 * GIB, 50, 2), id="turns"
        ),
        pytest.param(CardMode.VIRTUAL, ["VF-0-1"], Hold(16 * GIB, 25, 1), id="a virtual function"),
    ],
)
def test_whole_units_use_their_part_of_the_card(mode: CardMode, units: list[str], hold: Hold) -> None:
    on = inventory(replace(metax(0, mode), slots=4), functions=[function(n, 0) for n in range(4)])
    assert usage_of(whole(*units), (), on) == {uuid(0): hold}


def test_slices_use_what_their_allocation_says_and_ended_pods_nothing() -> None:
    pods = [
        sliced("a", (0, 4, 10)),
        sliced("b", (0, 8, 20), (1, 8, 20)),
        sliced("over", (1, 32, 50), phase=Phase.FAILED),
    ]
    assert usage_of((), pods, TWO_METAX) == {
        uuid(0): Hold(from_gib(12), 30, 2),
        uuid(1): Hold(from_gib(8), 20, 1),
    }


def test_a_card_is_busy_when_it_is_held_or_promised() -> None:
    on = inventory(metax(0, CardMode.WHOLE), metax(1, CardMode.WHOLE), metax(2, CardMode.WHOLE), metax(3))
    promised = bound(
        "p", {GPU: "1"}, annotations={HAMI_WHOLE: written([(1, 64, 100)], word="Metax-GPU")}, on=on
    )
    slice_of = bound("s", limits(), annotations={HAMI_SLICE: written([(3, 4, 10)])}, on=on)
    ended = bound(
        "e", limits(), annotations={HAMI_SLICE: written([(2, 4, 10)])}, on=on, phase=Phase.SUCCEEDED
    )
    assert busy_cards(whole(uuid(0)), [promised, slice_of, ended], on) == {
        uuid(0): ("default/one",),
        uuid(1): ("default/p",),
        uuid(3): ("default/s",),
    }


def test_a_slice_of_a_card_that_is_offered_whole_keeps_no_card_from_changing_its_mode() -> None:
    on = inventory(metax(0, CardMode.WHOLE), metax(1))
    astray = bound("s", limits(), annotations={HAMI_SLICE: written([(0, 4, 10)])}, on=on)
    right = bound("t", limits(), annotations={HAMI_SLICE: written([(1, 4, 10)])}, on=on)
    assert busy_cards((), [astray, right], on) == {uuid(1): ("default/t",)}
    assert usage_of((), [astray], on) == {}


def test_every_card_is_busy_that_may_have_the_slice_of_a_pod_whose_allocation_is_spoilt() -> None:
    on = inventory(metax(0), metax(1), metax(2, CardMode.WHOLE))
    spoilt = bound("p", limits(), annotations={HAMI_SLICE: "GPU-9,Metax-SGPU,1,1:;"}, on=on)
    started = found(seen(noted("uid-p", "c0", "metax-sgpu-0")), spoilt)
    assert busy_cards(started, [spoilt], on) == {uuid(0): ("default/p",), uuid(1): ("default/p",)}
    assert busy_cards((), [spoilt], on) == {}, "what it was never given it does not hold"


def test_shares_are_those_of_the_named_container_and_of_slices_only() -> None:
    pod = bound("p", limits(), limits(gib=8), annotations={HAMI_SLICE: written([(0, 4, 10)], [(1, 8, 10)])})
    assert [share.card for share in shares_of(pod, "c1")] == [uuid(1)]
    assert shares_of(pod, "c9") == ()
    assert shares_of(None, "c0") == ()
