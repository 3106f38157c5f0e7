"""Every card that was ever seen, so that one that is gone can be reported and one that has lost its name recognised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple

from tangram.drivers.mxsml.sightings import Sighting
from tangram.drivers.unusable import uuid_at
from tangram.units.ids import CardUuid


class Remembered(NamedTuple):
    number: int
    bdf: str


class Voice(Enum):
    """Whether a card's figures can be read."""

    UNHEARD = auto()
    """Not yet, which is not held against it: there are cards that offer none."""
    ANSWERING = auto()
    SILENT = auto()
    """Not any more."""


class Roster:
    """For one thread at a time: the driver's questions are asked one after the other."""

    def __init__(self) -> None:
        self._cards: dict[CardUuid, Remembered] = {}
        self._voices: dict[CardUuid, Voice] = {}

    def recognise(self, seen: Iterable[Sighting]) -> tuple[Sighting, ...]:
        """The sightings under the names their cards had before, then remembered."""
        known = tuple(self._named(each) for each in seen)
        for each in known:
            if each.limited or not each.trouble:
                self._forget_stand_in(each)
                self._cards[each.uuid] = Remembered(each.number, each.bdf)
        return known

    def number_of(self, uuid: CardUuid) -> int:
        """The number a card had last, or -1."""
        found = self._cards.get(uuid)
        return -1 if found is None else found.number

    def missing(self, seen: Iterable[Sighting]) -> Mapping[CardUuid, Remembered]:
        """Cards that were seen before and are not among these."""
        present = {each.uuid for each in seen}
        return {uuid: card for uuid, card in dict(self._cards).items() if uuid not in present}

    def heard(self, uuid: CardUuid, answers: bool) -> tuple[Voice, Voice]:  # noqa: FBT001 - the one thing there is to hear
        """What was known of a card's voice, and what is known after it was listened to."""
        before = self._voices.get(uuid, Voice.UNHEARD)
        after = Voice.ANSWERING if answers else before if before is Voice.UNHEARD else Voice.SILENT
        self._voices[uuid] = after
        return before, after

    def forget(self) -> None:
        """Start anew, after a change that gives cards new names."""
        self._cards.clear()
        self._voices.clear()

    def _named(self, seen: Sighting) -> Sighting:
        if not seen.trouble:
            return seen
        for uuid, card in self._cards.items():
            same = card.bdf == seen.bdf if seen.bdf else card.number == seen.number
            if same:
                return seen._replace(uuid=uuid, bdf=card.bdf)
        return seen

    def _forget_stand_in(self, seen: Sighting) -> None:
        if seen.uuid != uuid_at(seen.bdf):
            self._cards.pop(uuid_at(seen.bdf), None)
