"""Every card that was ever seen, so that one that is gone can be reported and one that has lost its name recognised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tangram.drivers.mxsml.sightings import Sighting
from tangram.drivers.unusable import uuid_at
from tangram.units.ids import CardUuid


class Remembered(NamedTuple):
    number: int
    bdf: str


PATIENCE: Final = 3
"""Looks in a row for which one figure may be silent while others of its card answer: a single read may fail."""


class Heard(NamedTuple):
    """Figures of one card that were told once and are not told any more."""

    before: tuple[str, ...]
    now: tuple[str, ...]


class Roster:
    """For one thread at a time: the driver's questions are asked one after the other."""

    def __init__(self) -> None:
        self._cards: dict[CardUuid, Remembered] = {}
        self._missed: dict[CardUuid, dict[str, int]] = {}
        """By card and figure that was ever read, the looks since it was. What never answered is not held against a
        card: there are cards that offer none."""

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

    def bdf_of(self, uuid: CardUuid) -> str:
        """Where a card sat last; empty for one that was never seen."""
        found = self._cards.get(uuid)
        return "" if found is None else found.bdf

    def places(self) -> list[str]:
        return [card.bdf for card in dict(self._cards).values()]

    def missing(self, seen: Iterable[Sighting]) -> Mapping[CardUuid, Remembered]:
        """Cards that were seen before and are not among these."""
        present = {each.uuid for each in seen}
        return {uuid: card for uuid, card in dict(self._cards).items() if uuid not in present}

    def heard(self, uuid: CardUuid, silences: Mapping[str, str]) -> Heard:
        """The figures that the card stopped telling, before this look and after it.

        All of them at once is a card that is gone from the kernel driver's files, and is believed at once. One of
        several is believed when it stays away.
        """
        missed = self._missed.setdefault(uuid, {})
        before = _silent(missed)
        for figure, why in silences.items():
            if not why:
                missed[figure] = 0
            elif figure in missed:
                missed[figure] += 1
        return Heard(before, _silent(missed))

    def unhear(self) -> None:
        """Start to listen anew, to another copy of the library: what it does not offer is not held against a card."""
        self._missed.clear()

    def forget(self) -> None:
        """Start anew, after a change that gives cards new names."""
        self._cards.clear()
        self._missed.clear()

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


def _silent(missed: Mapping[str, int]) -> tuple[str, ...]:
    if all(missed.values()):
        return tuple(missed)
    return tuple(figure for figure, looks in missed.items() if looks >= PATIENCE)
