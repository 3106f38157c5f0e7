"""The matrix of `mthreads-gmi topo -mg`: text in, pairs or a `ParseError` out.

The shape it takes for granted: a line that names the columns (GPU0 GPU1 ...), then one line per card that begins with
its name, then a word per column. The word is X for the card itself, MTn for n bonded MTLinks, or how far apart the two
sit on PCIe. A legend may follow. Anything else, or two halves that disagree, is refused: a wrong neighbour is worse
than an unknown one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tangram.drivers.gmi.values import ParseError, plain
from tangram.drivers.pcie import LEVEL_OF_WORD
from tangram.model.topology import PcieLevel

_CARD = re.compile(r"GPU([0-9]{1,4})")
_BONDED = re.compile(r"MT([0-9]{1,3})")
_ITSELF = "X"


class Pair(NamedTuple):
    """Two cards by index, the smaller first."""

    one: int
    other: int
    lanes: int
    """MTLinks between them; 0 for none."""
    level: PcieLevel
    """Unknown where the matrix shows links instead."""


def parse_matrix(text: str) -> tuple[Pair, ...]:
    """Every pair of cards. Raises only `ParseError`."""
    lines = [line.split() for line in plain(text).splitlines() if line.strip()]
    start = next((at for at, words in enumerate(lines) if all(map(_CARD.fullmatch, words))), None)
    if start is None:
        raise ParseError("the answer has no line that names the cards", text)
    columns = [_index(name) for name in lines[start]]
    if len(set(columns)) < len(columns):
        raise ParseError("the matrix names one card twice", " ".join(lines[start]))
    rows = {_index(words[0]): words[1:] for words in lines[start + 1 :] if _CARD.fullmatch(words[0])}
    if set(rows) != set(columns):
        raise ParseError("the rows of the matrix are not its columns", text)
    cells: dict[tuple[int, int], str] = {}
    for row, words in rows.items():
        if len(words) != len(columns):
            raise ParseError(
                f"the row of GPU{row} has {len(words)} words for {len(columns)} cards", " ".join(words)
            )
        cells.update({(row, column): word for column, word in zip(columns, words, strict=True)})
    return tuple(_pair(cells, one, other) for one in sorted(rows) for other in sorted(rows) if one < other)


def _index(name: str) -> int:
    return int(name[3:])


def _pair(cells: dict[tuple[int, int], str], one: int, other: int) -> Pair:
    word = cells[one, other]
    if word != cells[other, one]:
        raise ParseError(
            f"GPU{one} and GPU{other} do not agree on what joins them", f"{word} {cells[other, one]}"
        )
    if word == _ITSELF or cells[one, one] != _ITSELF:
        raise ParseError(f"the diagonal of the matrix is not where it should be at GPU{one}")
    bonded = _BONDED.fullmatch(word)
    return Pair(
        one,
        other,
        int(bonded[1]) if bonded else 0,
        PcieLevel.UNKNOWN if bonded else LEVEL_OF_WORD.get(word, PcieLevel.UNKNOWN),
    )
