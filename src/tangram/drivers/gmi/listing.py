"""The lines of `mthreads-gmi -L`: text in, records or a `ParseError` out."""

from __future__ import annotations

import re

import msgspec

from tangram.drivers.gmi.values import ParseError, plain
from tangram.units.ids import CardUuid

_LINE = re.compile(r"GPU\s+([0-9]{1,4})\s*:\s*(.{1,128}?)\s*\(\s*UUID\s*:\s*([!-'*-~]{1,128})\s*\)")


class ListedCard(msgspec.Struct, frozen=True):
    index: int
    product: str
    uuid: CardUuid


def parse_listing(text: str) -> tuple[ListedCard, ...]:
    """One card per line. Raises `ParseError` for a line of any other shape: that is how the tool reports errors."""
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    if not lines:
        raise ParseError("the answer is empty")
    cards: list[ListedCard] = []
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            raise ParseError("a line names no card", line)
        cards.append(ListedCard(int(found[1]), found[2], CardUuid(found[3])))
    return tuple(cards)
