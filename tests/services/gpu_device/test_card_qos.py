"""Which policy a node says that each card runs: the driver's word while there are slices, then what is to come."""

from typing import cast

import pytest

from builders.starts import inventory, metax, mthreads, sliced
from tangram.drivers.errors import DriverError, Kind
from tangram.model.cards import CardMode, QosPolicy
from tangram.model.devices import SliceRoom
from tangram.model.pods import Phase
from tangram.services.gpu_device.card_qos import CardQos, published_qos
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.records import BoundPod
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe

CARD = metax(0)
FIXED, BEST = QosPolicy.FIXED_SHARE, QosPolicy.BEST_EFFORT


def said(*pods: BoundPod, running: QosPolicy | None = None) -> QosPolicy | None:
    return published_qos([CARD], pods, {} if running is None else {CARD.uuid: running}).get(CARD.uuid)


def test_a_card_with_slices_runs_what_its_driver_says() -> None:
    assert said(sliced("a", (0, 4, 10), qos="best-effort"), running=FIXED) is FIXED
    assert said(running=FIXED) is FIXED, "also where nobody knows whose slices they are"


def test_before_the_first_slice_the_pod_that_was_bound_first_says_what_is_to_come() -> None:
    pods = [
        sliced("later", (0, 4, 10), at=2, qos="best-effort"),
        sliced("first", (0, 4, 10), at=1, qos="fixed-share"),
    ]
    assert said(*pods) is FIXED


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param((), id="idle"),
        pytest.param((sliced("over", (0, 4, 10), phase=Phase.SUCCEEDED),), id="its pod has ended"),
        pytest.param((sliced("other", (1, 4, 10)),), id="a pod on another card"),
        pytest.param((sliced("online", (0, 4, 10), app_class="online"),), id="online pods have no policy"),
    ],
)
def test_an_idle_card_says_nothing_because_it_may_change_to_any(pods: tuple[BoundPod, ...]) -> None:
    assert said(*pods) is None


def test_a_card_that_a_pod_has_to_itself_says_nothing_as_hami_expects() -> None:
    assert said(sliced("alone", (0, 4, 100)), running=BEST) is None


def test_whole_cards_and_those_of_others_say_nothing() -> None:
    cards = [metax(0, CardMode.WHOLE), mthreads(1)]
    assert published_qos(cards, [], dict.fromkeys([cards[0].uuid, cards[1].uuid], BEST)) == {}


class Rooms:
    """Answers what a card has room for, and counts the questions."""

    def __init__(self) -> None:
        self.slots = 16
        self.policy: Maybe[QosPolicy] = BEST
        self.broken = False
        self.asked: list[CardUuid] = []

    async def ask(self, _what: str, call: object) -> object:
        return cast("type", call)(self)

    def room(self, uuid: CardUuid) -> SliceRoom:
        self.asked.append(uuid)
        if self.broken:
            raise DriverError(Kind.STUCK, "a card hangs", call="room")
        return SliceRoom(self.slots, Bytes(0), 0, self.policy)


class Watched:
    def __init__(self) -> None:
        self.rooms = Rooms()
        self.cards = inventory(metax(0), metax(1, CardMode.WHOLE)).cards
        self.now = 0.0
        self.qos = CardQos(
            cast("Hardware", self.rooms), lambda: self.cards, lambda: None, clock=lambda: self.now
        )


async def test_the_driver_is_asked_when_slices_change_and_once_a_minute() -> None:
    watched = Watched()
    await watched.qos.read()
    assert (watched.rooms.asked, watched.qos.running) == ([CARD.uuid], {})
    watched.rooms.slots = 15
    await watched.qos.read()
    assert watched.qos.running == {}
    watched.qos.due(CARD.uuid)
    await watched.qos.read()
    assert watched.qos.running == {CARD.uuid: BEST}
    watched.rooms.policy = FIXED
    watched.now = 61.0
    await watched.qos.read()
    assert watched.qos.running == {CARD.uuid: FIXED}
    assert len(watched.rooms.asked) == 3


async def test_a_driver_that_fails_leaves_what_it_said_last_and_is_not_pressed() -> None:
    watched = Watched()
    watched.rooms.slots = 15
    await watched.qos.read()
    watched.rooms.broken = True
    watched.qos.due(CARD.uuid)
    await watched.qos.read()
    await watched.qos.read()
    assert watched.qos.running == {CARD.uuid: BEST}
    assert len(watched.rooms.asked) == 2


async def test_a_policy_that_the_driver_does_not_know_and_a_card_that_is_whole_now_say_nothing() -> None:
    watched = Watched()
    watched.rooms.slots = 15
    await watched.qos.read()
    watched.rooms.policy = NA
    watched.qos.due(CARD.uuid)
    await watched.qos.read()
    assert watched.qos.running == {}
    watched.rooms.policy = BEST
    watched.qos.due(CARD.uuid)
    await watched.qos.read()
    watched.cards = inventory(metax(0, CardMode.WHOLE)).cards
    await watched.qos.read()
    assert watched.qos.running == {}
