"""Which cards are not offered as the configuration wants them, and what each waits for. Pure.

A card that is idle changes within seconds and nobody needs to know. One that is busy waits for its pods, one that the
kernel cannot bring into the wanted mode waits for a person, and both would look like a configuration without effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.devices import Device
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.stock import known_split
from tangram.units.ids import CardUuid
from tangram.units.na import NA

MOST_CARDS: Final = 8
MOST_HOLDERS: Final = 3


class Reason(StrEnum):
    """Why a card is not what is wanted; the first that any card has is the node's."""

    CARDS_BUSY = "CardsBusy"
    DRIVER_REFUSED = "DriverRefused"
    NOT_POSSIBLE = "NotPossible"
    CHANGING = "Changing"
    """It is idle and about to change."""


class Waiting(msgspec.Struct, frozen=True):
    card: Card
    present: CardMode
    wanted: CardMode
    reason: Reason
    why: str


def waiting_cards(
    inventory: Inventory,
    wanted: Mapping[CardUuid, CardMode],
    holders: Mapping[CardUuid, Sequence[str]],
    refused: Mapping[CardUuid, str],
) -> tuple[Waiting, ...]:
    """The MetaX cards that are not what is wanted, in the order of their numbers.

    `holders` are the pods of each busy card, `refused` what the driver said to the last try.
    """
    split = known_split(inventory.devices)
    found: list[Waiting] = []
    for card in inventory.cards:
        wish, device = wanted.get(card.uuid), inventory.device(card.uuid)
        if wish is None or device is None or card.vendor is not Vendor.METAX:
            continue
        present = _present(card, device, is_split=card.uuid in split)
        if present is not wish:
            stuck = _impossible(device, present, wish)
            reason, why = (Reason.NOT_POSSIBLE, stuck) if stuck else _reason(card.uuid, holders, refused)
            found.append(Waiting(card, present, wish, reason, why))
    return tuple(found)


def reason_of(waiting: Sequence[Waiting]) -> Reason:
    """The one word for all of them."""
    return next(reason for reason in Reason if any(each.reason is reason for each in waiting))


def sentence_of(waiting: Sequence[Waiting]) -> str:
    """Each card with what it is, what it shall be and what keeps it; a few, where there are many."""
    parts = [
        f"card {each.card.index} ({each.card.uuid}) is {each.present} and is to be {each.wanted}: {each.why}"
        for each in waiting[:MOST_CARDS]
    ]
    if len(waiting) > MOST_CARDS:
        parts.append(f"and {len(waiting) - MOST_CARDS} more cards")
    return "; ".join(parts)


def _present(card: Card, device: Device, *, is_split: bool) -> CardMode:
    """What the card is now. One that only waits to be split counts as split elsewhere, and is not."""
    if card.mode is not CardMode.VIRTUAL or is_split:
        return card.mode
    return CardMode.SLICED if device.sliced is True else CardMode.WHOLE


def _reason(
    card: CardUuid, holders: Mapping[CardUuid, Sequence[str]], refused: Mapping[CardUuid, str]
) -> tuple[Reason, str]:
    if card in holders:
        return Reason.CARDS_BUSY, f"held by {_some(holders[card])}"
    if card in refused:
        return Reason.DRIVER_REFUSED, f"the driver refuses and is asked again every minute, {refused[card]}"
    return Reason.CHANGING, "nobody holds it, and it is about to change"


def _impossible(device: Device, present: CardMode, wish: CardMode) -> str:
    if present is CardMode.VIRTUAL:
        return "it is split into virtual functions, which the driver manager must join first (vfNum 0)"
    if wish is CardMode.VIRTUAL and present is CardMode.SLICED:
        return "a card in slices cannot be split; set native, have the driver manager split it, then set vgpu"
    if wish is CardMode.VIRTUAL:
        return "it is not split into virtual functions, which is the driver manager's part (vfNum)"
    if wish is CardMode.SLICED and device.sliced is NA:
        return "its driver offers no slices; update the driver, or set another mode"
    return ""


def _some(holders: Sequence[str]) -> str:
    more = len(holders) - MOST_HOLDERS
    named = ", ".join(holders[:MOST_HOLDERS])
    return f"{named} and {more} more" if more > 0 else named
