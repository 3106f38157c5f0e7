"""How much of the cluster's cards is idle, and how much of that is of little use.

Idle is counted in cards' worth: a card of which half the memory and half the compute are left is half a card.
Remainders are what is idle on cards that somebody holds a part of: a whole-card job cannot have them. Fragments are
what the expected demand cannot use (`frag`). Cards that take no pods, failed or cordoned, are not room.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tangram.engine.columns import VENDOR_NUMBER, Rows
from tangram.engine.frag import CHUNK, FragScores
from tangram.engine.ledger import Ledger
from tangram.model.cards import Vendor


class Idle(msgspec.Struct):
    """Cards' worth of one vendor."""

    cards: int = 0
    """That take pods, idle or not."""
    idle: float = 0.0
    remainders: float = 0.0


class Room(msgspec.Struct):
    """Of all nodes that were looked at so far."""

    by_vendor: dict[Vendor, Idle] = msgspec.field(
        default_factory=lambda: {each: Idle() for each in VENDOR_NUMBER}
    )
    fragments: float = 0.0

    @property
    def idle(self) -> float:
        """Of all vendors."""
        return sum(each.idle for each in self.by_vendor.values())


def room_of(ledger: Ledger, frag: FragScores) -> Iterator[Room]:
    """The same growing sum after every few nodes; whoever has other things to do does them in between.

    Nodes may come and go meanwhile: a sum over what was there when each was looked at.
    """
    room = Room()
    yield room
    every = ledger.rows()
    for begin in range(0, every.size, CHUNK):
        _add(ledger, every[begin : begin + CHUNK], frag, room)
        yield room


def _add(ledger: Ledger, rows: Rows, frag: FragScores, room: Room) -> None:
    view = ledger.view_of_rows(rows)
    facts, use = view.facts, view.use
    usable = facts.present & facts.healthy & ~facts.cordoned & view.nodes.live[:, None]
    memory = 1 - use.memory / np.maximum(facts.memory, 1)
    cores = 1 - use.cores / np.maximum(facts.cores, 1)
    idle = np.where(usable & (facts.slots > use.slots), np.clip((memory + cores) / 2, 0, 1), 0.0)
    for vendor, number in VENDOR_NUMBER.items():
        own = facts.vendor == number
        total = room.by_vendor[vendor]
        total.cards += int((usable & own).sum())
        total.idle += float(idle[own].sum())
        total.remainders += float(idle[own & (use.slots > 0)].sum())
    room.fragments += float(frag.fragments(view).sum())
