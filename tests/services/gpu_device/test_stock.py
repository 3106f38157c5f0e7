"""From devices to the node's cards: what each is offered as, and which may change."""

import pytest

from builders.fake_driver import metax_card, mthreads_card
from tangram.model.cards import CardMode
from tangram.model.devices import Device, Health, LinkReport
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.stock import AWAITS_SPLIT, switches_due, take_stock
from tangram.units.ids import CardUuid, NodeName

ZERO = CardUuid("GPU-0")


def stock(
    *devices: Device,
    wanted: dict[CardUuid, CardMode] | None = None,
    held: dict[CardUuid, CardMode] | None = None,
    health: dict[CardUuid, Health] | None = None,
    cordoned: tuple[str, ...] = (),
) -> Inventory:
    return take_stock(
        NodeName("n"),
        devices,
        health or {},
        LinkReport(),
        wanted=wanted or {},
        share_count=3,
        held_as=held or {},
        cordoned=cordoned,
    )


@pytest.mark.parametrize(
    ("device", "wanted", "held", "mode", "slots"),
    [
        pytest.param(metax_card(0), None, None, CardMode.WHOLE, 1, id="nobody said"),
        pytest.param(metax_card(0), CardMode.SHARED, None, CardMode.SHARED, 3, id="shared"),
        pytest.param(
            metax_card(0), CardMode.SLICED, None, CardMode.WHOLE, 1, id="to be sliced, and is not yet"
        ),
        pytest.param(
            metax_card(0, sliced=True), CardMode.WHOLE, None, CardMode.SLICED, 16, id="the kernel's word"
        ),
        pytest.param(metax_card(0), CardMode.SHARED, CardMode.WHOLE, CardMode.WHOLE, 1, id="held whole"),
        pytest.param(metax_card(0), CardMode.WHOLE, CardMode.SHARED, CardMode.SHARED, 3, id="held in turns"),
        pytest.param(
            metax_card(0, virtual_functions=4), CardMode.WHOLE, None, CardMode.VIRTUAL, 4, id="split"
        ),
    ],
)
def test_a_card_is_what_it_is_until_it_can_be_what_is_wanted(
    device: Device, wanted: CardMode | None, held: CardMode | None, mode: CardMode, slots: int
) -> None:
    found = stock(
        device,
        wanted={} if wanted is None else {ZERO: wanted},
        held={} if held is None else {ZERO: held},
    )
    assert [(card.mode, card.slots) for card in found.cards] == [(mode, slots)]


def test_a_card_that_is_to_be_split_is_offered_only_once_it_is() -> None:
    (waiting,) = stock(metax_card(0), wanted={ZERO: CardMode.VIRTUAL}).cards
    assert (waiting.healthy, waiting.health_reason) == (False, AWAITS_SPLIT)
    split = metax_card(0, virtual_functions=2)
    functions = [
        metax_card(index, uuid=CardUuid(f"VF-{index}"), virtual_function_of=ZERO) for index in (1, 2)
    ]
    (card,) = stock(split, *functions, wanted={ZERO: CardMode.VIRTUAL}).cards
    assert (card.mode, card.slots, card.healthy) == (CardMode.VIRTUAL, 2, True)


def test_health_and_cordons_are_on_the_card() -> None:
    sick = {ZERO: Health(healthy=False, code="ecc", message="a memory error")}
    first, second = stock(metax_card(0), metax_card(1), health=sick, cordoned=("GPU-1",)).cards
    assert (first.healthy, first.health_reason, first.cordoned) == (False, "a memory error", False)
    assert (second.healthy, second.cordoned) == (True, True)


@pytest.mark.parametrize(
    ("device", "wanted", "due"),
    [
        pytest.param(metax_card(0), CardMode.SLICED, {ZERO: True}, id="to slices"),
        pytest.param(metax_card(0, sliced=True), CardMode.WHOLE, {ZERO: False}, id="to whole"),
        pytest.param(metax_card(0, sliced=True), CardMode.SHARED, {ZERO: False}, id="to turns"),
        pytest.param(metax_card(0), CardMode.WHOLE, {}, id="as it is"),
        pytest.param(metax_card(0, sliced=True), CardMode.VIRTUAL, {}, id="to be split by an administrator"),
        pytest.param(metax_card(0, virtual_functions=2), CardMode.SLICED, {}, id="split"),
        pytest.param(mthreads_card(0, uuid=ZERO), CardMode.SLICED, {}, id="Moore Threads"),
    ],
)
def test_a_switch_is_due_only_where_the_kernel_must_move(
    device: Device, wanted: CardMode, due: dict[CardUuid, bool]
) -> None:
    found = stock(device, wanted={ZERO: wanted})
    assert switches_due(found, {ZERO: wanted}, busy=()) == due
    assert switches_due(found, {ZERO: wanted}, busy={ZERO}) == {}
