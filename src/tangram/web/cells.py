"""Cards as cells of a drawing, told apart by shape: colour only repeats it.

A frame is how the card is offered (plain for whole, with pins for sliced, dotted for virtual, with a second edge for
shared), its fill how much memory was given away, the bar in it how much compute; diagonal lines are a cordoned card
and a cross an unhealthy one. Cells of a kind share one path, so a tile of eight cards is four or five elements and not
forty. `static/cells.js` draws the same; a test in a browser compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from tangram.reports.status_shape import CORDONED, UNHEALTHY
from tangram.web.tiles import CARD_STATES, MODES, Cell

IN_A_ROW: Final = 8
WIDTH: Final = 18
HEIGHT: Final = 26
ACROSS: Final = 22
DOWN: Final = 32
MARGIN: Final = 3
_BAR: Final = 5
_PINS: Final = (5, 13, 21)
_ORDER: Final = ("memory", "compute", "veil", *MODES, "pins", "hatch", "bad")


class Drawing(msgspec.Struct, frozen=True):
    """Paths by class, in the order in which they are drawn."""

    width: int
    height: int
    paths: tuple[tuple[str, str], ...]

    @property
    def view_box(self) -> str:
        return f"{-MARGIN} {-MARGIN} {self.width} {self.height}"


def drawing(cells: Sequence[Cell], in_a_row: int = IN_A_ROW) -> Drawing:
    """The cells of one node, row by row."""
    paths: dict[str, list[str]] = {}
    for number, cell in enumerate(cells):
        row, column = divmod(number, in_a_row)
        _draw(paths, cell, column * ACROSS, row * DOWN)
    rows = max(1, -(-len(cells) // in_a_row))
    return Drawing(
        (in_a_row - 1) * ACROSS + WIDTH + 2 * MARGIN,
        (rows - 1) * DOWN + HEIGHT + 2 * MARGIN,
        tuple((name, "".join(paths[name])) for name in _ORDER if name in paths),
    )


def _draw(paths: dict[str, list[str]], cell: Cell, x: int, y: int) -> None:
    def add(name: str, path: str) -> None:
        paths.setdefault(name, []).append(path)

    if cell.memory:
        add("memory", _filled(x, y, WIDTH, cell.memory))
    if cell.compute:
        add("compute", _filled(x + (WIDTH - _BAR) / 2, y, _BAR, cell.compute))
    mode = MODES[cell.mode]
    frame = f"M{x} {y}h{WIDTH}v{HEIGHT}h-{WIDTH}z"
    if mode == "shared":
        frame += f"M{x + 3} {y - 3}h{WIDTH}v{HEIGHT - 1}"
    if mode == "sliced":
        add("pins", "".join(f"M{x - 2} {y + pin}h2M{x + WIDTH} {y + pin}h2" for pin in _PINS))
    state = CARD_STATES[cell.state]
    if state == UNHEALTHY:
        cross = f"M{x + 4} {y + 7}l10 12M{x + 14} {y + 7}l-10 12"
        # The ground's colour around the lines keeps them visible on a cell that is filled.
        add("veil", cross)
        add("bad", frame + cross)
        return
    add(mode, frame)
    if state == CORDONED:
        hatch = f"M{x} {y + 10}l10 -10M{x} {y + 18}l18 -18M{x} {y + 26}l18 -18M{x + 8} {y + 26}l10 -10"
        add("veil", hatch)
        add("hatch", hatch)


def _filled(x: float, y: int, width: int, percent: int) -> str:
    height = round(HEIGHT * percent / 100, 1)
    return f"M{x:g} {round(y + HEIGHT - height, 1):g}h{width}v{height:g}h-{width}z"
