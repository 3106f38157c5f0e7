"""`tangram top --cluster`: every card of a cluster and how much of it is given away, live.

What is given away is all that an API server knows. What a card does with it is measured on its node, and the agent
there tells whoever scrapes it; a command run by a person has no sure way to all agents (the API server's proxy needs
rights that few people should have), and a column that is empty for most would say less than a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from tangram.cli.failures import InputError
from tangram.cli.hardware.asking import NOTHING_FOUND
from tangram.cli.hardware.top_page import Brush
from tangram.cli.hardware.watching import watch
from tangram.cli.screen import Screen, output_console
from tangram.cli.status_cells import NAME_PART, STATE_WORDS, Line, aligned, cut, percent_of
from tangram.cli.status_reading import Look, Looker, cluster_reader
from tangram.reports import shape
from tangram.reports.status_shape import (
    CORDONED,
    FREE,
    READY,
    UNHEALTHY,
    CardStatus,
    NodeStatus,
    StatusReport,
)
from tangram.reports.words import plural
from tangram.units.ids import natural_key
from tangram.units.memory import GIB
from tangram.vendors.wording import either

MEASURED_ELSEWHERE: Final = "Shares as they are given away; what cards do now: 'tangram top' on their node."
_HEADINGS: Final = ("NODE", "CARD", "MEMORY, GiB", "COMPUTE", "PODS")
_BESIDE_CARDS: Final = 5
"""Lines of a frame that show no card."""
_FEWEST_CARDS: Final = 5
_NOT_SAID: Final = "phase unknown"


class _Place(NamedTuple):
    node: NodeStatus
    card: CardStatus

    @property
    def load(self) -> float:
        """The fuller of memory and compute: either one keeps the next pod away."""
        card = self.card
        return max(
            card.memory_used / card.memory if card.memory else 0,
            card.cores_used / card.cores if card.cores else 0,
        )


_ORDERS: Final[Mapping[str, Callable[[_Place], tuple[object, ...]]]] = {
    "node": lambda place: (natural_key(place.node.node), place.card.index),
    "load": lambda place: (-place.load, natural_key(place.node.node), place.card.index),
}


def cluster_top(kubeconfig: Path | None, sort: str, pause: float | None) -> int:
    """Draw the cluster's cards once, or until interrupted."""
    if sort and sort not in _ORDERS:
        raise InputError(f"--sort is {sort!r:.80}: it is {either(_ORDERS)}; write one of these.")
    order = _ORDERS[sort or "node"]
    looker = Looker(cluster_reader(None, kubeconfig), shape.FROM_API)
    console = output_console()
    brush = Brush(console)

    def draw(screen: Screen, moment: str) -> int:
        look = looker.look()
        for line in frame_lines(look, order, brush, console, moment):
            screen.line(line.text, style=line.style)
        return 0 if look.report.nodes else NOTHING_FOUND

    if pause is None:
        # A single frame is for keeping and comparing, so it carries no clock.
        return draw(Screen(console), "")
    return watch(console, lambda screen: draw(screen, f"{datetime.now().astimezone():%H:%M:%S}  "), pause)


def frame_lines(
    look: Look, order: Callable[[_Place], tuple[object, ...]], brush: Brush, console: Console, moment: str
) -> list[Line]:
    """One frame; on a terminal no taller than it."""
    report = look.report
    lines = [Line(f"{moment}{_headline(report)}", "bold")]
    if look.trouble:
        lines.append(Line(f"As it was last seen: {look.trouble}", "bold red"))
    places = sorted((_Place(node, card) for node in report.nodes for card in node.cards), key=order)
    if not places:
        return [*lines, Line("No node announces a card: see that gpu-device runs on them.")]
    room = max(console.height - _BESIDE_CARDS, _FEWEST_CARDS) if console.is_terminal else len(places)
    shown = places[:room]
    rows = [_row(place, brush, console.width) for place in shown]
    heading, *texts = aligned([_HEADINGS, *rows], frozenset({1}))
    lines += [Line(), Line(heading[: console.width], "bold")]
    lines += [Line(text[: console.width], _style(place)) for text, place in zip(texts, shown, strict=True)]
    if len(shown) < len(places):
        rest = plural(len(places) - len(shown), "card")
        lines.append(Line(f"... and {rest} more: a taller terminal or a pipe has room for them.", "dim"))
    return [*lines, Line(MEASURED_ELSEWHERE, "dim")]


def _headline(report: StatusReport) -> str:
    totals = report.totals
    bad = f", {totals.cards_unhealthy:,} unhealthy" if totals.cards_unhealthy else ""
    held = sum(bool(card.slots_used) for node in report.nodes for card in node.cards)
    return (
        f"{plural(totals.nodes_with_cards, 'node')}, {plural(totals.cards, 'card')}, {held:,} in use{bad}, "
        f"{plural(totals.pods, 'pod')}, {totals.pending:,} waiting"
    )


def _row(place: _Place, brush: Brush, columns: int) -> tuple[str, ...]:
    node, card = place
    share = card.memory_used / card.memory if card.memory else 0
    return (
        cut(node.node, columns // NAME_PART),
        str(card.index),
        f"{brush.bar(share)} {f'{card.memory_used / GIB:.0f}/{card.memory / GIB:.0f}':>7}",
        percent_of(card.cores_used, card.cores, brush),
        _pods(place),
    )


def _pods(place: _Place) -> str:
    """How many are there in which phase, and what keeps new ones away."""
    node, card = place
    phases = Counter(holder.phase or _NOT_SAID for holder in card.holders)
    told = [f"{count} {phase}" for phase, count in phases.most_common()]
    told += [card.state] if card.state in (CORDONED, UNHEALTHY, FREE) else []
    told += [f"node {STATE_WORDS[node.state]}"] if node.state != READY else []
    return ", ".join(told)


def _style(place: _Place) -> str:
    node, card = place
    if card.state == UNHEALTHY or node.state not in (READY, CORDONED):
        return "red"
    return "yellow" if CORDONED in (card.state, node.state) else "dim" if card.state == FREE else ""
