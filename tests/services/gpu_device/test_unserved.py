"""Pods that run without their cards: found by what the kubelet did not give them."""

import pytest

from builders.starts import GPU, HAMI_SLICE, SGPU, bound, held, init, limits, noted, sliced, written
from tangram.model.cards import Vendor
from tangram.model.pods import Phase
from tangram.services.gpu_device.kubelet_view import Sight
from tangram.services.gpu_device.records import BoundPod
from tangram.services.gpu_device.unserved import asked_units, running_pods, runs_without, unserved_pods
from tangram.units.ids import NodeName, PodUid
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint, CheckpointedAllocation
from tangram.wire.kubelet.holdings import HeldDevices

UNREADABLE = WireError("checkpoint-unknown", "of a form nobody knows")
RUNS = sliced("one", (0, 4, 10), phase=Phase.RUNNING)


def seen(*notes: CheckpointedAllocation, shown: tuple[HeldDevices, ...] | None = ()) -> Sight:
    return Sight(notes=Checkpoint(notes, ()), held=shown)


def found(pod: BoundPod, sight: Sight | None = None, *, granted: tuple[PodUid, ...] = ()) -> bool:
    ran = running_pods([pod])
    return bool(unserved_pods([pod], sight or seen(), ran=ran, granted=granted))


def test_a_pod_that_runs_with_nothing_from_the_kubelet_is_found() -> None:
    assert found(RUNS)
    assert found(RUNS, seen(noted("uid-other", "c0", "metax-sgpu-0")))
    assert found(RUNS, seen(noted("uid-one", "c0", "x", resource="nvidia.com/gpu")))


@pytest.mark.parametrize(
    ("pod", "sight"),
    [
        pytest.param(RUNS, seen(noted("uid-one", "c0", "metax-sgpu-0")), id="noted"),
        pytest.param(RUNS, seen(shown=(held("one", "c0", "metax-sgpu-0"),)), id="shown"),
        pytest.param(RUNS, Sight(notes=UNREADABLE, held=None), id="the kubelet says nothing"),
        pytest.param(sliced("one", (0, 4, 10)), seen(), id="it does not run yet"),
        pytest.param(sliced("one", (0, 4, 10), phase=Phase.SUCCEEDED), seen(), id="it is over"),
        pytest.param(
            sliced("one", (0, 4, 10), phase=Phase.RUNNING, terminating=True), seen(), id="it is ending"
        ),
        pytest.param(bound("one", {"cpu": "1"}, phase=Phase.RUNNING), seen(), id="it asks for no card"),
        pytest.param(bound("one", {GPU: "0"}, phase=Phase.RUNNING), seen(), id="it asks for none of a card"),
    ],
)
def test_a_pod_that_has_what_it_asks_for_or_may_still_get_it_is_not(pod: BoundPod, sight: Sight) -> None:
    assert not found(pod, sight)


def test_a_pod_that_was_given_its_devices_once_is_not_found_when_the_kubelet_has_lost_its_notes() -> None:
    assert not found(RUNS, granted=(RUNS.kubelet_uid,))


@pytest.mark.parametrize(
    ("vendors", "expected"),
    [
        pytest.param((Vendor.METAX, Vendor.MTHREADS), True, id="both are served"),
        pytest.param((Vendor.METAX,), True, id="its own is"),
        pytest.param((Vendor.MTHREADS,), False, id="its own is left to others"),
    ],
)
def test_a_pod_for_cards_that_are_left_to_others_is_theirs(
    vendors: tuple[Vendor, ...], *, expected: bool
) -> None:
    ran = running_pods([RUNS])
    assert bool(unserved_pods([RUNS], seen(), ran=ran, granted=(), vendors=vendors)) is expected


def test_a_pod_that_began_to_run_after_the_kubelet_was_looked_at_is_left_for_the_next_look() -> None:
    assert unserved_pods([RUNS], seen(), ran=running_pods([]), granted=()) == ()


def test_an_init_container_asks_too_and_the_sentence_says_for_what_and_who_bound_it() -> None:
    pod = bound(
        "one",
        init("warm", limits(2)),
        annotations={HAMI_SLICE: written([(0, 4, 10), (1, 4, 10)])},
        phase=Phase.RUNNING,
        scheduler="hami-scheduler",
    )
    assert asked_units(pod) == {SGPU: 2}
    refusal = runs_without(pod, NodeName("n"))
    assert refusal.code == "runs-without-cards"
    assert all(word in refusal.sentence for word in ("2 of metax-tech.com/sgpu", "hami-scheduler", "node n"))
