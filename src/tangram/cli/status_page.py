"""The page of `tangram status`: the sum of it first, then nodes, then whoever waits.

A small cluster is shown card by card, a larger one node by node, a large one by kinds of nodes: a page that scrolls
past says nothing. While somebody watches, the height of the terminal decides as well. On a terminal long names are cut
to its width; into a pipe goes all of them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final, NamedTuple

from tangram.cli.hardware.top_page import Brush
from tangram.cli.screen import Screen
from tangram.cli.status_cards import card_lines
from tangram.cli.status_cells import Line, amount, percent_of
from tangram.cli.status_nodes import group_lines, node_lines
from tangram.reports.shape import REFUSED, Remark
from tangram.reports.status_shape import PendingPod, StatusReport, Totals
from tangram.reports.words import listed, plural

MOST_CARD_BY_CARD: Final = 16
"""Nodes shown with their cards."""
MOST_BY_NAME: Final = 40
"""Nodes shown with a line each."""
MOST_NAMES: Final = 5
MOST_REASONS: Final = 8
MOST_PROBLEMS: Final = 5
ENOUGH_PODS: Final = 20
"""Fewer do not tell what the next one will be like."""
_UNLIMITED: Final = 100_000
_NARROWEST: Final = 60


class Room(NamedTuple):
    """How much of it can be shown."""

    columns: int | None = None
    """None: lines may be of any length."""
    lines: int | None = None
    """None: as many as there are."""
    in_full: bool = False
    """Every node card by card, because it was asked for by name."""


def show_status(screen: Screen, report: StatusReport, brush: Brush, room: Room) -> None:
    """The whole page."""
    for line in status_lines(report, brush, room):
        screen.line(line.text, style=line.style)


def status_lines(report: StatusReport, brush: Brush, room: Room) -> list[Line]:
    """The page, line by line."""
    columns = _UNLIMITED if room.columns is None else max(room.columns, _NARROWEST)
    top = _summary(report.totals, brush, columns)
    bottom = [
        *_plain_nodes(report.plain_nodes),
        *_waiting(report.pending, columns),
        *_problems(report.problems, columns),
    ]
    left = None if room.lines is None else room.lines - len(top) - len(bottom)
    lines = [*top, *_nodes(report, brush, columns, left, in_full=room.in_full), *bottom]
    return [line._replace(text=line.text[:columns]) for line in lines]


def _summary(totals: Totals, brush: Brush, columns: int) -> list[Line]:
    states = [
        f"{totals.cards_free:,} free",
        *([f"{totals.cards_unhealthy:,} unhealthy"] if totals.cards_unhealthy else []),
        *([f"{totals.cards_cordoned:,} cordoned"] if totals.cards_cordoned else []),
    ]
    what = (
        f"{plural(totals.nodes, 'node')}, {plural(totals.cards, 'card')} ({', '.join(states)}), "
        f"{plural(totals.pods, 'pod')} on cards, {totals.pending:,} waiting"
    )
    if not totals.cards:
        return [
            Line(f"{plural(totals.nodes, 'node')} and no card: see that gpu-device runs on them.", "bold")
        ]
    memory = f"{amount(totals.memory_used)} of {amount(totals.memory)}"
    compute = f"{totals.compute_used:,.1f} of {plural(totals.cards, 'card')}"
    lines = [
        *_wrapped(what, columns, "", "bold"),
        Line(f"Memory   {percent_of(totals.memory_used, totals.memory, brush)}  {memory}"),
        Line(f"Compute  {percent_of(totals.compute_used, totals.compute, brush)}  {compute}"),
    ]
    if totals.fragmented is not None and totals.pods >= ENOUGH_PODS:
        share = f"{totals.fragmented:.0%} of what is idle is of no use to the pods that use such cards"
        lines.append(Line(f"Fragmented: {share}."))
    return lines


def _nodes(
    report: StatusReport, brush: Brush, columns: int, lines: int | None, *, in_full: bool
) -> list[Line]:
    """As much about the nodes as there is room for."""
    if not report.nodes:
        return []
    limit = _UNLIMITED if lines is None or in_full else lines
    if in_full or len(report.nodes) <= MOST_CARD_BY_CARD:
        found = [Line(), *card_lines(report.nodes, brush, columns)]
        if len(found) <= limit:
            return found
    if len(report.nodes) <= min(MOST_BY_NAME, limit):
        return [Line(), *node_lines(report.nodes, brush, columns)]
    return [Line(), *group_lines(report.nodes, columns)]


def _plain_nodes(names: Sequence[str]) -> list[Line]:
    return [Line(f"Without cards: {_some(names)}.", "dim")] if names else []


def _waiting(pending: Sequence[PendingPod], columns: int) -> list[Line]:
    """Pods with the same reason together, so that a burst is one entry."""
    if not pending:
        return []
    same: dict[tuple[str, str], list[str]] = {}
    for each in pending:
        same.setdefault((each.verdict, each.sentence), []).append(each.pod)
    reasons = sorted(same.items(), key=lambda entry: -len(entry[1]))
    lines = [Line(), Line(f"Waiting: {plural(len(pending), 'pod')}", "bold")]
    for (verdict, sentence), pods in reasons[:MOST_REASONS]:
        lines += _wrapped(_some(pods), columns, "  ", "yellow")
        refused = "refused: " if verdict == REFUSED else ""
        lines += _wrapped(f"{refused}{sentence}", columns, "    ", "red" if refused else "")
    rest = sum(len(pods) for _, pods in reasons[MOST_REASONS:])
    if rest:
        lines.append(Line(f"  ... and {plural(rest, 'pod')} more for other reasons: -o json has them all."))
    return lines


def _problems(problems: Sequence[Remark], columns: int) -> list[Line]:
    lines = [Line()] if problems else []
    for problem in problems[:MOST_PROBLEMS]:
        lines += _wrapped(f"warning, {problem.code}: {problem.sentence}", columns, "", "yellow")
    if len(problems) > MOST_PROBLEMS:
        rest = plural(len(problems) - MOST_PROBLEMS, "warning")
        lines.append(Line(f"... and {rest} more: -o json has them all.", "yellow"))
    return lines


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return listed([*names[:MOST_NAMES], f"{more:,} more"] if more > 0 else names)


def _wrapped(text: str, columns: int, indent: str, style: str) -> list[Line]:
    rows = textwrap.wrap(
        text,
        columns,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return [Line(row, style) for row in rows]
