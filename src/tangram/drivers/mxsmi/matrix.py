"""`mx-smi topo -m`: one word for every pair of cards, and the NUMA node of each."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Final

import msgspec

from tangram.drivers.mxsmi.text import ParseError, lines_of, shown, whole
from tangram.drivers.pcie import LEVEL_OF_WORD
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.na import NA, Maybe

COMMAND: Final = "topo -m"

_SELF: Final = "X"
_METAXLINK: Final = "MX"
_WORDS: Final = (*LEVEL_OF_WORD, _METAXLINK, "ETH", "NA")
_NAME = re.compile(r"GPU([0-9]{1,4})")
_MOST_CARDS: Final = 256


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    cards: tuple[int, ...]
    """Numbers of the cards, in the order of the columns."""
    words: tuple[tuple[str, ...], ...]
    numa: tuple[Maybe[int], ...]

    def links(self) -> tuple[Link, ...]:
        """Every pair, by position in `cards`. Where MetaXLink joins two, how far apart they are on PCIe is not said."""
        return tuple(
            Link(
                a,
                b,
                LinkKind.METAXLINK if self.words[a][b] == _METAXLINK else LinkKind.NONE,
                LEVEL_OF_WORD.get(self.words[a][b], PcieLevel.UNKNOWN),
            )
            for a, b in combinations(range(len(self.cards)), 2)
        )


def parse_matrix(text: str) -> Matrix:
    """The matrix. Raises `ParseError` for one with holes, and for one whose halves contradict each other."""
    lines = [line.split() for line in lines_of(text, COMMAND)]
    begin = next((at for at, words in enumerate(lines) if words and words[0] == "GPU0"), None)
    if begin is None:
        raise ParseError(COMMAND, "there is no row of card names")
    cards = _columns(lines[begin])
    rows: list[list[str]] = []
    numa: list[Maybe[int]] = []
    # Columns of network adapters may stand after those of the cards; their rows come after the cards' rows.
    others = sum(word.startswith("NIC") for word in lines[begin])
    for card, words in zip(cards, lines[begin + 1 :], strict=False):
        if not words or words[0] != f"GPU{card}":
            break
        cells = words[1 : 1 + len(cards)]
        if len(cells) < len(cards):
            raise ParseError(COMMAND, f"the row of GPU{card} is too short")
        rows.append(cells)
        rest = words[1 + len(cards) + others :]
        numa.append(whole(rest[0]) if rest else NA)
    if len(rows) < len(cards):
        raise ParseError(COMMAND, f"there are {len(cards)} columns and {len(rows)} rows")
    _check(cards, rows)
    known = [each if isinstance(each, int) and each >= 0 else NA for each in numa]
    return Matrix(cards=cards, words=tuple(tuple(row) for row in rows), numa=tuple(known))


def _columns(words: list[str]) -> tuple[int, ...]:
    names = [_NAME.fullmatch(word) for word in words]
    cards = tuple(int(name[1]) for name in names if name is not None)
    if len(cards) > _MOST_CARDS or len(set(cards)) < len(cards):
        raise ParseError(COMMAND, "its columns name a card twice, or far too many cards")
    return cards


def _check(cards: tuple[int, ...], rows: list[list[str]]) -> None:
    for at, row in enumerate(rows):
        for to, word in enumerate(row):
            if (word == _SELF) != (at == to) or (at != to and word not in _WORDS):
                raise ParseError(COMMAND, f"between GPU{cards[at]} and GPU{cards[to]} stands {shown(word)}")
            if word != rows[to][at]:
                both = f"{shown(word)} one way and {shown(rows[to][at])} the other"
                raise ParseError(COMMAND, f"GPU{cards[at]} and GPU{cards[to]} are joined by {both}")
