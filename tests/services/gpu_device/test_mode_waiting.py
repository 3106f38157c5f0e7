"""Cards that are not what the configuration wants, each with what it waits for."""

import pytest

from builders.fake_driver import metax_card, mthreads_card
from tangram.model.cards import CardMode
from tangram.model.devices import Device, LinkReport
from tangram.services.gpu_device.mode_waiting import Reason, Waiting, reason_of, sentence_of, waiting_cards
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.stock import take_stock
from tangram.units.ids import CardUuid, NodeName
from tangram.units.na import NA

ZERO = CardUuid("GPU-0")
FUNCTION = metax_card(1, uuid="vf-0", virtual_function_of="GPU-0")
SPLIT = metax_card(0, virtual_functions=1)


def stock(
    *devices: Device, wanted: dict[CardUuid, CardMode], held: dict[CardUuid, CardMode] | None = None
) -> Inventory:
    return take_stock(
        NodeName("n"),
        devices,
        {},
        LinkReport(),
        wanted=wanted,
        share_count=4,
        held_as=held or {},
        cordoned=(),
    )


def waiting(
    *devices: Device,
    wish: CardMode,
    holders: tuple[str, ...] = (),
    refused: str = "",
    held: CardMode | None = None,
) -> tuple[Waiting, ...]:
    wanted = {device.uuid: wish for device in devices}
    on = stock(*devices, wanted=wanted, held={} if held is None else {ZERO: held})
    return waiting_cards(on, wanted, {ZERO: holders} if holders else {}, {ZERO: refused} if refused else {})


@pytest.mark.parametrize(
    ("devices", "wish"),
    [
        pytest.param([metax_card(0)], CardMode.WHOLE, id="whole"),
        pytest.param([metax_card(0, sliced=True)], CardMode.SLICED, id="sliced"),
        pytest.param([metax_card(0)], CardMode.SHARED, id="shared"),
        pytest.param([SPLIT, FUNCTION], CardMode.VIRTUAL, id="split"),
        pytest.param([metax_card(0, sliced=NA)], CardMode.WHOLE, id="a driver that cannot tell"),
        pytest.param([mthreads_card(0, uuid=ZERO)], CardMode.SLICED, id="another vendor's"),
    ],
)
def test_a_card_that_is_what_it_should_be_waits_for_nothing(devices: list[Device], wish: CardMode) -> None:
    assert waiting(*devices, wish=wish, holders=("ns/a",)) == ()


@pytest.mark.parametrize(
    ("devices", "wish", "present", "reason", "part"),
    [
        pytest.param(
            [metax_card(0)], CardMode.SLICED, CardMode.WHOLE, Reason.CHANGING, "about to change", id="idle"
        ),
        pytest.param(
            [metax_card(0)], CardMode.VIRTUAL, CardMode.WHOLE, Reason.NOT_POSSIBLE, "not split", id="unsplit"
        ),
        pytest.param(
            [metax_card(0, sliced=True)],
            CardMode.VIRTUAL,
            CardMode.SLICED,
            Reason.NOT_POSSIBLE,
            "set native",
            id="slices cannot be split",
        ),
        pytest.param(
            [SPLIT, FUNCTION],
            CardMode.SLICED,
            CardMode.VIRTUAL,
            Reason.NOT_POSSIBLE,
            "vfNum 0",
            id="split cannot be sliced",
        ),
        pytest.param(
            [metax_card(0, sliced=NA)],
            CardMode.SLICED,
            CardMode.WHOLE,
            Reason.NOT_POSSIBLE,
            "offers no slices",
            id="a driver without slices",
        ),
    ],
)
def test_what_a_card_waits_for_is_said(
    devices: list[Device], wish: CardMode, present: CardMode, reason: Reason, part: str
) -> None:
    (found, *_) = waiting(*devices, wish=wish)
    assert (found.present, found.wanted, found.reason) == (present, wish, reason)
    assert part in found.why


def test_a_busy_card_names_its_pods_and_is_busy_before_it_is_refused() -> None:
    (found,) = waiting(metax_card(0), wish=CardMode.SLICED, holders=("ns/a", "ns/b"), refused="in use")
    assert (found.reason, found.why) == (Reason.CARDS_BUSY, "held by ns/a, ns/b")
    (many,) = waiting(metax_card(0), wish=CardMode.SLICED, holders=tuple(f"ns/{each}" for each in "abcde"))
    assert many.why == "held by ns/a, ns/b, ns/c and 2 more"


def test_a_card_held_in_turns_waits_to_be_whole_and_the_other_way_round() -> None:
    (turns,) = waiting(metax_card(0), wish=CardMode.WHOLE, held=CardMode.SHARED, holders=("ns/a",))
    assert (turns.present, turns.reason) == (CardMode.SHARED, Reason.CARDS_BUSY)
    (whole,) = waiting(metax_card(0), wish=CardMode.SHARED, held=CardMode.WHOLE, holders=("ns/a",))
    assert (whole.present, whole.reason) == (CardMode.WHOLE, Reason.CARDS_BUSY)


def test_a_driver_that_refuses_is_quoted() -> None:
    (found,) = waiting(metax_card(0), wish=CardMode.SLICED, refused="a process runs on it")
    assert found.reason is Reason.DRIVER_REFUSED
    assert "a process runs on it" in found.why


def test_a_card_without_a_wish_waits_for_nothing() -> None:
    assert waiting_cards(stock(metax_card(0), wanted={}), {}, {}, {}) == ()


def test_the_sentence_names_cards_modes_and_reasons_and_stays_short() -> None:
    few = waiting(metax_card(0), wish=CardMode.SLICED, holders=("ns/a",))
    assert sentence_of(few) == "card 0 (GPU-0) is native and is to be sgpu: held by ns/a"
    many = waiting(*(metax_card(at) for at in range(16)), wish=CardMode.SLICED, holders=("ns/a",))
    assert reason_of(many) is Reason.CARDS_BUSY
    assert sentence_of(many).endswith("; and 8 more cards")
    assert len(sentence_of(many)) < 1024
