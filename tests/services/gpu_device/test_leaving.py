"""Before it goes, the agent lets pods arrive that were bound before anybody heard of its going."""

import asyncio
from collections.abc import Iterable

import pytest

from builders.starts import GPU, bound, noted, sliced
from builders.virtual_time import in_virtual_time
from tangram.model.pods import Phase
from tangram.services.gpu_device.leaving import ARRIVE_S, HEARD_S, on_the_way, until_arrived
from tangram.services.gpu_device.records import BoundPod
from tangram.units.ids import PodUid
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint

NOTHING = Checkpoint((), ())
SLICED = sliced("one", (0, 4, 10))
ARRIVED = Checkpoint((noted("uid-one", "c0", "metax-sgpu-1"),), ())


@pytest.mark.parametrize(
    ("pods", "notes", "missing"),
    [
        pytest.param([SLICED], NOTHING, ("default/one",), id="the kubelet has not asked for it yet"),
        pytest.param([SLICED], ARRIVED, (), id="the kubelet has"),
        pytest.param([bound("plain")], NOTHING, (), id="it holds no card"),
        pytest.param(
            [bound("over", phase=Phase.FAILED, annotations=SLICED.pod.annotations)],
            NOTHING,
            (),
            id="it is over",
        ),
        pytest.param(
            [SLICED], WireError("checkpoint-unreadable", "no"), (), id="the kubelet's notes are closed"
        ),
    ],
)
def test_a_pod_is_on_its_way_until_the_kubelet_has_asked_for_its_cards(
    pods: Iterable[BoundPod], notes: Checkpoint | WireError, missing: tuple[str, ...]
) -> None:
    assert on_the_way(pods, notes) == missing


RUNNING = sliced("one", (0, 4, 10), phase=Phase.RUNNING)
WHOLE = bound("whole", {GPU: "1"})


@pytest.mark.parametrize(
    ("pod", "begun", "missing"),
    [
        pytest.param(SLICED, frozenset[PodUid](), ("default/one",), id="admitted and not begun"),
        pytest.param(SLICED, frozenset({SLICED.pod.ref.uid}), (), id="its devices were made"),
        pytest.param(SLICED, None, (), id="devices are made when it is admitted"),
        pytest.param(RUNNING, frozenset[PodUid](), (), id="it runs, whoever began it"),
    ],
)
def test_a_pod_that_was_admitted_is_on_its_way_until_its_devices_are_made(
    pod: BoundPod, begun: frozenset[PodUid] | None, missing: tuple[str, ...]
) -> None:
    assert on_the_way([pod], ARRIVED, begun) == missing


def test_a_pod_whose_whole_cards_nobody_wrote_down_is_on_its_way_too() -> None:
    assert on_the_way([WHOLE], NOTHING) == ("default/whole",)
    arrived = Checkpoint((noted("uid-whole", "c0", "GPU-1"),), ())
    assert on_the_way([WHOLE], arrived, frozenset()) == ("default/whole",)
    assert on_the_way([WHOLE], arrived, frozenset({WHOLE.pod.ref.uid})) == ()


async def _waited(
    pods: dict[float, list[BoundPod]], notes: dict[float, Checkpoint]
) -> tuple[float, tuple[str, ...]]:
    """How long it took, and who was missing, where both change at these moments."""
    clock = asyncio.get_running_loop().time
    begun = clock()

    def latest_pods() -> list[BoundPod]:
        return pods[max(moment for moment in pods if moment <= clock() - begun)]

    async def latest_notes() -> Checkpoint:
        return notes[max(moment for moment in notes if moment <= clock() - begun)]

    missing = await until_arrived(latest_pods, latest_notes)
    return clock() - begun, missing


def test_it_goes_as_soon_as_everybody_has_arrived() -> None:
    took, missing = in_virtual_time(_waited({0.0: [SLICED]}, {0.0: NOTHING, 2.0: ARRIVED}))
    assert (round(took, 1), missing) == (2.0, ())


def test_a_binding_that_was_under_way_is_waited_for() -> None:
    took, missing = in_virtual_time(_waited({0.0: [], 0.3: [SLICED]}, {0.0: NOTHING, 1.0: ARRIVED}))
    assert (round(took, 1), missing) == (1.0, ())


def test_with_nobody_on_the_way_it_waits_only_until_schedulers_have_heard() -> None:
    assert in_virtual_time(_waited({0.0: []}, {0.0: NOTHING})) == (HEARD_S, ())


def test_a_kubelet_that_is_away_is_not_waited_for_longer_than_the_limit() -> None:
    took, missing = in_virtual_time(_waited({0.0: [SLICED]}, {0.0: NOTHING}))
    assert ARRIVE_S <= took < ARRIVE_S + 0.2
    assert missing == ("default/one",)
