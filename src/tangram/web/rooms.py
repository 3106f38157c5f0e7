"""Idle room by model of card, read from the records alone: what no engine is needed for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from tangram.reports.status_shape import FREE, READY, USED, CardStatus, NodeStatus
from tangram.web.picture import Picture


class ModelRoom(msgspec.Struct, frozen=True, kw_only=True):
    """Cards of one model that take pods. Room is cards' worth: the mean of the memory and compute that are left."""

    vendor: str
    product: str
    cards: int = 0
    free: int = 0
    """Cards that nobody holds a part of."""
    idle: float = 0.0
    remainders: float = 0.0
    """Of `idle`, what is on cards that somebody holds a part of."""


_remembered: Final[WeakKeyDictionary[Picture, tuple[int, list[ModelRoom]]]] = WeakKeyDictionary()


def rooms_in(picture: Picture) -> list[ModelRoom]:
    """Of every node, worked out once for all who look at the same picture."""
    version, rooms = _remembered.get(picture, (-1, []))
    if version != picture.version:
        rooms = rooms_of(picture.nodes.values())
        _remembered[picture] = (picture.version, rooms)
    return rooms


def rooms_of(nodes: Iterable[NodeStatus]) -> list[ModelRoom]:
    """By vendor and model, in that order."""
    found: dict[tuple[str, str], list[CardStatus]] = {}
    for node in nodes:
        if node.state == READY:
            for card in node.cards:
                if card.state in (FREE, USED):
                    found.setdefault((card.vendor, card.product), []).append(card)
    return [_room(vendor, product, cards) for (vendor, product), cards in sorted(found.items())]


def _room(vendor: str, product: str, cards: list[CardStatus]) -> ModelRoom:
    idle = [(card.state, _idle(card)) for card in cards]
    return ModelRoom(
        vendor=vendor,
        product=product,
        cards=len(cards),
        free=sum(state == FREE for state, _ in idle),
        idle=round(sum(left for _, left in idle), 4),
        remainders=round(sum(left for state, left in idle if state == USED), 4),
    )


def _idle(card: CardStatus) -> float:
    if card.slots_used >= card.slots:
        return 0.0
    memory = 1 - card.memory_used / card.memory if card.memory else 0.0
    cores = 1 - card.cores_used / card.cores if card.cores else 0.0
    return min(max((memory + cores) / 2, 0.0), 1.0)
