"""What the kubelet is offered: from the node's cards to units with ids and health.

Whole cards, virtual functions and turns at shared cards go by their uuid. A slot of a sliced card stands for no card
until a pod holds it, so a failing card must take the right ones along: those its own pods hold, and as many free ones
as it has left. A closed card (cordoned, about to change its mode, or on a node in maintenance) takes only free units
along: the kubelet refuses to admit a running pod again whose unit is unhealthy, and those pods are to stay.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.offers import Unit
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.resources import SLOTS, WHOLE, slot_id, slot_number, turn_id
from tangram.units.ids import CardUuid
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.mthreads.tiers import card_units

Held = Mapping[str, Mapping[str, CardUuid | None]]
"""By resource, the ids that pods hold and the card each stands for; None where that is not known yet."""


class State(Enum):
    OPEN = "open"
    CLOSED = "closed"
    """Takes no new tenants; those it has stay."""
    BROKEN = "broken"


def offered_units(
    inventory: Inventory, held: Held, *, closed: Collection[CardUuid] = (), in_service: bool = True
) -> dict[str, tuple[Unit, ...]]:
    """The units of every resource this node has cards for; a resource it had before is the caller's to empty."""
    states = {card.uuid: _state(card, closed, in_service=in_service) for card in inventory.cards}
    units: dict[str, tuple[Unit, ...]] = {}
    for resource, vendor in WHOLE.items():
        cards = [
            card for card in inventory.cards if card.vendor is vendor and card.mode is not CardMode.SLICED
        ]
        if cards:
            taken = held.get(resource, {})
            units[resource] = tuple(unit for card in cards for unit in _whole(inventory, card, states, taken))
    for resource, vendor in SLOTS.items():
        cards = [card for card in inventory.cards if card.vendor is vendor and card.mode is CardMode.SLICED]
        if cards:
            units[resource] = _slots(resource, cards, states, held.get(resource, {}))
    return units


def _state(card: Card, closed: Collection[CardUuid], *, in_service: bool) -> State:
    if not card.healthy:
        return State.BROKEN
    return State.OPEN if in_service and not card.cordoned and card.uuid not in closed else State.CLOSED


def _whole(
    inventory: Inventory, card: Card, states: Mapping[CardUuid, State], taken: Collection[str]
) -> list[Unit]:
    if card.mode is CardMode.VIRTUAL:
        ids = [device.uuid for device in inventory.devices if device.virtual_function_of == card.uuid]
    elif card.mode is CardMode.SHARED:
        ids = [turn_id(card.uuid, number) for number in range(card.slots)]
    else:
        ids = [card.uuid]
    state = states[card.uuid]
    return [
        Unit(
            id=each,
            healthy=state is State.OPEN or (state is State.CLOSED and each in taken),
            numa=card.numa,
            card=card.uuid,
        )
        for each in ids
    ]


def slots_of(resource: str, card: Card) -> int:
    """How many units of the resource one sliced card brings."""
    if resource == mthreads.SGPU_MEMORY:
        return card_units(card.memory)
    if resource == mthreads.SGPU_CORE:
        return card.cores
    return card.slots if resource == metax.SGPU and card.vendor is Vendor.METAX else 0


def _slots(
    resource: str,
    cards: list[Card],
    states: Mapping[CardUuid, State],
    taken: Mapping[str, CardUuid | None],
) -> tuple[Unit, ...]:
    total = sum(slots_of(resource, card) for card in cards)
    in_order = sorted(taken, key=lambda each: (slot_number(resource, each), each))
    free = [
        each
        for each in (slot_id(resource, number) for number in range(total + len(taken)))
        if each not in taken
    ]
    # The last free ones go first, so that a card that fails and recovers touches the same ids.
    free = free[: max(0, total - len(taken))]
    withdrawn = min(
        len(free), sum(_free_slots(resource, card, taken) for card in cards if _shut(states, card))
    )
    broken = {uuid for uuid, state in states.items() if state is State.BROKEN}
    return (
        *(Unit(id=each, healthy=taken[each] not in broken) for each in in_order),
        *(Unit(id=each, healthy=place < len(free) - withdrawn) for place, each in enumerate(free)),
    )


def _shut(states: Mapping[CardUuid, State], card: Card) -> bool:
    return states[card.uuid] is not State.OPEN


def _free_slots(resource: str, card: Card, taken: Mapping[str, CardUuid | None]) -> int:
    return max(0, slots_of(resource, card) - sum(1 for each in taken.values() if each == card.uuid))
