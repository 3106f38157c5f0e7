"""What the kubelet is offered: as many units as there is capacity, and exactly the right ones of them healthy."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.starts import CORE, GPU, MEMORY, NODE, SGPU, function, inventory, metax, mthreads, uuid
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.offers import Unit
from tangram.services.gpu_device.offer import offered_units, slots_of
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.resources import ALL, SLOTS, slot_id, slot_number, turn_id, unit_uuid
from tangram.units.ids import CardUuid
from tangram.units.memory import GIB

Holders = dict[str, dict[str, CardUuid | None]]

SLOT_RESOURCES = tuple(SLOTS)


@st.composite
def nodes(draw: st.DrawFn) -> Inventory:
    """Cards of both vendors in any mode, healthy or not, cordoned or not."""
    made: list[Card] = []
    functions: list[int] = []
    for index in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            mode = draw(st.sampled_from([CardMode.WHOLE, CardMode.SLICED, CardMode.SHARED, CardMode.VIRTUAL]))
            card = replace(metax(index, mode), slots={CardMode.WHOLE: 1, CardMode.SLICED: 16}.get(mode, 4))
            if mode is CardMode.VIRTUAL:
                functions.append(index)
        else:
            card = mthreads(index, draw(st.sampled_from([CardMode.WHOLE, CardMode.SLICED])))
        made.append(replace(card, healthy=draw(st.booleans()), cordoned=draw(st.booleans())))
    return inventory(*made, functions=[function(number, of) for of in functions for number in range(4)])


@st.composite
def holders(draw: st.DrawFn, on: Inventory) -> Holders:
    """Slots that pods hold, never more of a card than it has."""
    held: Holders = {}
    for resource, vendor in SLOTS.items():
        cards = [card for card in on.cards if card.vendor is vendor and card.mode is CardMode.SLICED]
        total = sum(slots_of(resource, card) for card in cards)
        left = {card.uuid: slots_of(resource, card) for card in cards}
        for number in (
            draw(st.sets(st.integers(0, max(0, total - 1)), max_size=min(total, 12))) if total else ()
        ):
            of = draw(st.sampled_from(sorted(left)))
            if left[of]:
                left[of] -= 1
                held.setdefault(resource, {})[slot_id(resource, number)] = of
    return held


@st.composite
def busy_nodes(draw: st.DrawFn) -> tuple[Inventory, Holders]:
    on = draw(nodes())
    return on, draw(holders(on))


def capacity(on: Inventory, resource: str) -> int:
    if resource in SLOTS:
        return sum(
            slots_of(resource, card)
            for card in on.cards
            if card.vendor is SLOTS[resource] and card.mode is CardMode.SLICED
        )
    vendor = Vendor.METAX if resource == GPU else Vendor.MTHREADS
    sizes = {CardMode.WHOLE: 1, CardMode.SHARED: 4, CardMode.VIRTUAL: 4, CardMode.SLICED: 0}
    return sum(sizes[card.mode] for card in on.cards if card.vendor is vendor)


def by_id(units: tuple[Unit, ...]) -> dict[str, bool]:
    return {unit.id: unit.healthy for unit in units}


@given(busy_nodes())
def test_there_are_as_many_units_as_capacity_and_no_id_twice(node: tuple[Inventory, Holders]) -> None:
    on, held = node
    offered = offered_units(on, held)
    for resource in ALL:
        assert len(offered.get(resource, ())) == capacity(on, resource)
    ids = [unit.id for units in offered.values() for unit in units]
    assert len(ids) == len(set(ids))


@given(busy_nodes())
def test_what_fails_and_recovers_or_is_held_changes_health_and_never_ids(
    node: tuple[Inventory, Holders],
) -> None:
    on, held = node
    well = replace(on, cards=tuple(replace(card, healthy=True, cordoned=False) for card in on.cards))
    for resource, units in offered_units(well, {}).items():
        assert {unit.id for unit in units} == {unit.id for unit in offered_units(on, held)[resource]}


@given(busy_nodes())
def test_a_broken_card_takes_exactly_its_units_along(node: tuple[Inventory, Holders]) -> None:
    on, held = node
    on = replace(on, cards=tuple(replace(card, cordoned=False) for card in on.cards))
    broken = {card.uuid for card in on.cards if not card.healthy}
    for resource, units in offered_units(on, held).items():
        if resource in SLOTS:
            unhealthy = sum(1 for unit in units if not unit.healthy)
            cards = [card for card in on.cards if card.uuid in broken and card.vendor is SLOTS[resource]]
            assert unhealthy == sum(
                slots_of(resource, card) for card in cards if card.mode is CardMode.SLICED
            )
        else:
            assert {unit.id for unit in units if not unit.healthy} == {
                unit.id for unit in units if unit.card in broken
            }


@given(busy_nodes(), st.data())
def test_a_held_unit_is_unhealthy_only_if_its_own_card_is_broken(
    node: tuple[Inventory, Holders], data: st.DataObject
) -> None:
    on, held = node
    in_service = data.draw(st.booleans())
    closed = data.draw(st.sets(st.sampled_from([card.uuid for card in on.cards])))
    offered = offered_units(on, held, closed=closed, in_service=in_service)
    for resource, taken in held.items():
        health = by_id(offered[resource])
        for unit, of in taken.items():
            card = on.card(of) if of is not None else None
            assert health[unit] == (card is None or card.healthy)


@given(busy_nodes())
def test_a_node_out_of_service_offers_nothing_that_is_free(node: tuple[Inventory, Holders]) -> None:
    on, held = node
    for resource, units in offered_units(on, held, in_service=False).items():
        free = [unit for unit in units if unit.id not in held.get(resource, {})]
        assert not any(unit.healthy for unit in free)


def healthy(units: Mapping[str, tuple[Unit, ...]], resource: str) -> set[str]:
    return {unit.id for unit in units[resource] if unit.healthy}


def test_units_of_each_mode_go_by_their_ids() -> None:
    split = replace(metax(2, CardMode.VIRTUAL), slots=2)
    shared = replace(metax(1, CardMode.SHARED), slots=3, numa=1)
    on = inventory(
        metax(0, CardMode.WHOLE),
        shared,
        split,
        metax(3),
        mthreads(4),
        functions=[function(0, 2), function(1, 2)],
    )
    offered = offered_units(on, {})
    assert [unit.id for unit in offered[GPU]] == [
        uuid(0),
        *(f"{uuid(1)}-share-{turn}" for turn in range(3)),
        "VF-2-0",
        "VF-2-1",
    ]
    assert [unit.numa for unit in offered[GPU]] == [0, 1, 1, 1, 0, 0]
    assert [unit.id for unit in offered[SGPU]] == [f"metax-sgpu-{number}" for number in range(16)]
    assert [unit.id for unit in offered[CORE]] == [f"mthreads-sgpu-core-{number}" for number in range(16)]
    assert len(offered[MEMORY]) == 48 * GIB // (GIB // 2)
    assert {unit.numa for unit in offered[SGPU]} == {-1}


def test_a_cordoned_card_closes_its_free_slots_and_keeps_the_held_ones() -> None:
    on = inventory(replace(metax(0), cordoned=True), metax(1))
    held: Holders = {SGPU: {"metax-sgpu-0": CardUuid(uuid(0)), "metax-sgpu-5": CardUuid(uuid(1))}}
    found = healthy(offered_units(on, held), SGPU)
    assert len(found) == 17
    assert {"metax-sgpu-0", "metax-sgpu-5"} <= found


def test_a_card_about_to_change_is_closed_but_for_who_holds_it() -> None:
    on = inventory(metax(0, CardMode.WHOLE), metax(1, CardMode.WHOLE))
    held: Holders = {GPU: {uuid(0): CardUuid(uuid(0))}}
    closed = {CardUuid(uuid(0)), CardUuid(uuid(1))}
    assert healthy(offered_units(on, held, closed=closed), GPU) == {uuid(0)}


def test_a_slot_beyond_the_capacity_stays_while_a_pod_holds_it() -> None:
    on = inventory(metax(0))
    offered = offered_units(on, {SGPU: {"metax-sgpu-31": None, "of another plugin": None}})
    assert {"metax-sgpu-31", "of another plugin"} <= healthy(offered, SGPU)
    assert len(offered[SGPU]) == 16


def test_a_node_without_cards_offers_nothing() -> None:
    assert offered_units(Inventory(node=NODE), {}) == {}


# ---- ids


@pytest.mark.parametrize("resource", SLOT_RESOURCES)
@given(number=st.integers(0, 10_000))
def test_a_slots_number_is_read_back_from_its_id(resource: str, number: int) -> None:
    assert slot_number(resource, slot_id(resource, number)) == number


@pytest.mark.parametrize("foreign", ["", "metax-sgpu-", "metax-sgpu-x", "metax-sgpu-٣", "other-3"])
def test_ids_of_others_come_after_all_of_ours(foreign: str) -> None:
    assert slot_number(SGPU, foreign) > slot_number(SGPU, slot_id(SGPU, 99_999))


@given(st.text(min_size=1, max_size=20), st.integers(0, 99))
def test_a_turn_leads_back_to_its_card(card: str, turn: int) -> None:
    assert unit_uuid(turn_id(CardUuid(card), turn)) == card


@pytest.mark.parametrize("unit", ["GPU-1", "GPU-share-x", "", "GPU-1-share-"])
def test_a_unit_that_is_no_turn_is_its_own_card(unit: str) -> None:
    assert unit_uuid(unit) == unit
