"""How much of the cluster's cards is idle, and how much of that is of little use.

Idle is counted in cards' worth: a card of which half the memory and half the compute are left is half a card.
Remainders are what is idle on cards that are held in part: a whole-card job cannot have them. What is fragmented, and
what is without demand, is as `fragmentation` says. Cards that take no pods, failed or cordoned, are not room.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tangram.engine.columns import VENDOR_NUMBER, Rows
from tangram.engine.demand import Demand
from tangram.engine.fragmentation import Fragmentation
from tangram.engine.ledger import Ledger
from tangram.model.cards import Vendor

CHUNK: Final = 256
"""Nodes measured at a time, in a few milliseconds."""


class Idle(msgspec.Struct):
    """Cards' worth of one vendor."""

    cards: int = 0
    """That take pods, idle or not."""
    idle: float = 0.0
    remainders: float = 0.0
    fragmented: float = 0.0
    without_demand: float = 0.0


class Room(msgspec.Struct):
    """Of all nodes that were looked at so far."""

    by_vendor: dict[Vendor, Idle] = msgspec.field(
        default_factory=lambda: {each: Idle() for each in VENDOR_NUMBER}
    )

    @property
    def idle(self) -> float:
        """Of all vendors."""
        return sum(each.idle for each in self.by_vendor.values())

    @property
    def fragmented(self) -> float:
        """Of `idle`, what the expected pods cannot use."""
        return sum(each.fragmented for each in self.by_vendor.values())

    @property
    def without_demand(self) -> float:
        """Of `idle`, what no expected pod could use even if nothing ran."""
        return sum(each.without_demand for each in self.by_vendor.values())


def room_of(ledger: Ledger, demand: Demand) -> Iterator[Room]:
    """The same growing sum after every few nodes; whoever has other things to do does them in between.

    Nodes may come and go meanwhile: a sum over what was there when each was looked at.
    """
    room, fragmentation = Room(), Fragmentation(demand)
    yield room
    every = ledger.rows()
    for begin in range(0, every.size, CHUNK):
        _add(ledger, every[begin : begin + CHUNK], fragmentation, room)
        yield room


def _add(ledger: Ledger, rows: Rows, fragmentation: Fragmentation, room: Room) -> None:
    view = ledger.view_of_rows(rows)
    found = fragmentation.measure(view)
    for vendor, number in VENDOR_NUMBER.items():
        own = view.facts.vendor == number
        total = room.by_vendor[vendor]
        total.cards += int((found.usable & own).sum())
        total.idle += float(found.idle[own].sum())
        total.remainders += float(found.idle[own & (view.use.slots > 0)].sum())
        total.fragmented += float(found.fragmented[own].sum())
        total.without_demand += float(found.without_demand[own].sum())
