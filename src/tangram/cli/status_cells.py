"""What the pages about a cluster have in common: a line, an amount, a bar, a name that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tangram.cli.hardware.top_page import Brush
from tangram.model.cards import CardMode
from tangram.reports.status_shape import CORDONED, NOT_READY, READY, UNHEALTHY, CardStatus, NodeStatus
from tangram.reports.words import listed
from tangram.units.memory import GIB, MIB

_MODES: Final = {
    CardMode.WHOLE: "whole",
    CardMode.SLICED: "sliced",
    CardMode.VIRTUAL: "virtual",
    CardMode.SHARED: "shared",
    CardMode.UNDECIDED: "undecided",
}
_KEPT_END: Final = 6
NAME_PART: Final = 4
"""Of the columns one in so many is for a name."""
STATE_WORDS: Final = {READY: "ready", CORDONED: "cordoned", NOT_READY: "not ready"}
STATE_STYLES: Final = {READY: "", CORDONED: "yellow", NOT_READY: "red"}


class Line(NamedTuple):
    text: str = ""
    style: str = ""


def amount(memory: int) -> str:
    """An amount of memory with at most one decimal."""
    if 0 < memory < GIB:
        return f"{memory // MIB} MiB"
    return f"{memory / GIB:,.1f}".removesuffix(".0") + " GiB"


def percent_of(used: float, total: float, brush: Brush) -> str:
    """A bar with its figure."""
    share = used / total if total else 0.0
    return f"{brush.bar(share)} {share:>4.0%}"


def cut(name: str, width: int) -> str:
    """The name in so many columns; its end, which tells replicas apart, is kept."""
    if len(name) <= width:
        return name
    if width <= 2 * _KEPT_END:
        return name[: max(width, 0)]
    return f"{name[: width - _KEPT_END - 3]}...{name[-_KEPT_END:]}"


def cards_in_words(cards: Sequence[CardStatus]) -> str:
    """What a node has: "8 x MXC500, 4 whole and 4 sliced"."""
    products = Counter(card.product or "card" for card in cards)
    modes = Counter(_MODES[CardMode(card.mode)] for card in cards)
    said = [f"{count} x {product}" for product, count in products.items()]
    how = (
        f" {next(iter(modes))}"
        if len(modes) == 1
        else f", {listed([f'{count} {mode}' for mode, count in modes.items()])}"
    )
    return f"{listed(said)}{how}"


def faults_in_words(node: NodeStatus) -> str:
    """How many of its cards take no pods; nothing where all do."""
    states = Counter(card.state for card in node.cards)
    return ", ".join(f"{states[state]} {state}" for state in (UNHEALTHY, CORDONED) if states[state])


def aligned(rows: Iterable[Sequence[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Rows of cells, each column as wide as its widest."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
