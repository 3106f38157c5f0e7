"""Many nodes: a line for each, or a line for each kind of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.cli.hardware.top_page import Brush
from tangram.cli.status_cells import (
    NAME_PART,
    STATE_STYLES,
    STATE_WORDS,
    Line,
    aligned,
    cards_in_words,
    cut,
    faults_in_words,
    percent_of,
)
from tangram.reports.status_shape import NodeStatus
from tangram.reports.words import plural

MOST_GROUPS: Final = 20
_ONE_NODE: Final = "--node NAME shows the cards of one."


def node_lines(nodes: Sequence[NodeStatus], brush: Brush, columns: int) -> list[Line]:
    """A line for each node."""
    rows = [
        (
            cut(node.node, columns // NAME_PART),
            STATE_WORDS[node.state],
            f"{node.cards_free}/{len(node.cards)}",
            percent_of(node.memory_used, node.memory, brush),
            percent_of(node.compute_used, node.compute, brush),
            ", ".join(filter(None, (faults_in_words(node), cards_in_words(node.cards)))),
        )
        for node in nodes
    ]
    heading, *texts = aligned(
        [("NODE", "STATE", "FREE", "MEMORY", "COMPUTE", "CARDS"), *rows], frozenset({2})
    )
    return [
        Line(heading, "bold"),
        *(Line(text, STATE_STYLES[node.state]) for text, node in zip(texts, nodes, strict=True)),
        Line(_ONE_NODE, "dim"),
    ]


def group_lines(nodes: Sequence[NodeStatus], columns: int) -> list[Line]:
    """A line for each kind of node: the same state, the same cards, as much of it free."""
    groups: dict[tuple[str, str, str], list[NodeStatus]] = {}
    for node in nodes:
        groups.setdefault((node.state, _kind(node), _fullness(node)), []).append(node)
    ranked = sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    shown = ranked[:MOST_GROUPS]
    rows = [
        (
            f"{len(alike):,}",
            STATE_WORDS[state],
            fullness,
            _share(sum(node.memory_used for node in alike), sum(node.memory for node in alike)),
            _share(sum(node.compute_used for node in alike), sum(node.compute for node in alike)),
            kind,
            cut(alike[0].node, columns // NAME_PART),
        )
        for (state, kind, fullness), alike in shown
    ]
    headings = ("NODES", "STATE", "FREE CARDS", "MEM", "COMP", "EACH HAS", "SUCH AS")
    heading, *texts = aligned([headings, *rows], frozenset({0, 3, 4}))
    styles = [STATE_STYLES[state] for (state, _, _), _ in shown]
    lines = [Line(heading, "bold")]
    lines += [Line(text, style) for text, style in zip(texts, styles, strict=True)]
    rest = sum(len(alike) for _, alike in ranked[MOST_GROUPS:])
    if rest:
        lines.append(Line(f"... and {plural(rest, 'node')} of other kinds: -o json has them all."))
    return [*lines, Line(_ONE_NODE, "dim")]


def _kind(node: NodeStatus) -> str:
    return ", ".join(filter(None, (cards_in_words(node.cards), faults_in_words(node))))


def _fullness(node: NodeStatus) -> str:
    if not node.cards_free:
        return "none"
    return "all" if node.cards_free == len(node.cards) else "some"


def _share(used: float, total: float) -> str:
    return f"{used / total if total else 0:.0%}"
