"""The report of `tangram explain` for people: one sentence first, then the evidence, then what would help."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tangram.cli import report as shape
from tangram.cli.screen import Screen
from tangram.cli.words import listed, plural
from tangram.units.ids import natural_key
from tangram.units.memory import Bytes, rough_memory_text

MOST_ROWS = 40
"""Nodes shown. Nobody reads more; the rest is counted, and `-o json` has them all."""
MOST_PROBLEMS = 5
MOST_NAMES = 5
_HEADLINE_STYLES = {shape.FITS: "bold green", shape.WAITS: "bold yellow", shape.REFUSED: "bold red"}


def show_report(screen: Screen, report: shape.ExplainReport, card_by_card: Collection[str]) -> None:
    """Every pod, then what holds for all of them. `card_by_card` names the nodes to show in full."""
    for pod in report.pods:
        screen.gap()
        _show_pod(screen, pod, card_by_card)
    _show_problems(screen, report.cluster.problems)
    explained = {pod.pod for pod in report.pods}
    _show_waiting(screen, [pod for pod in report.cluster.waiting if pod not in explained])
    if any(pod.nodes for pod in report.pods):
        screen.gap()
        screen.line(f"Not looked at: {', '.join(report.not_looked_at)}.", style="dim")


def _show_pod(screen: Screen, pod: shape.PodReport, card_by_card: Collection[str]) -> None:
    screen.line(pod.sentence, style=_HEADLINE_STYLES.get(pod.verdict, "bold"))
    for refusal in pod.refusals:
        screen.line(f"  {refusal.code}: {refusal.sentence}")
    for caution in pod.cautions:
        screen.line(f"  warning, {caution.code}: {caution.sentence}", style="yellow")
    if not pod.nodes:
        return
    screen.gap()
    _show_nodes(screen, sorted(pod.nodes, key=_rank))
    for node in pod.nodes:
        if node.node in card_by_card:
            screen.gap()
            _show_cards(screen, node)
    if pod.suggestions:
        screen.gap()
        screen.line("What would help, each of it tried:", style="bold")
        for number, advice in enumerate(pod.suggestions, start=1):
            screen.line(f"  {number}. {advice.sentence}; it then goes to node {advice.node}")


def _rank(node: shape.NodeReport) -> tuple[int, float, object]:
    """The chosen node, then those that fit by falling score, then the others by name."""
    order = 0 if node.chosen else 2 if node.score is None else 1
    return order, -(node.score or 0.0), natural_key(node.node)


def _show_nodes(screen: Screen, nodes: Sequence[shape.NodeReport]) -> None:
    shown = nodes[:MOST_ROWS]
    screen.table(
        ("NODE", "VERDICT", "SCORE", "CARDS, OR WHY NOT"),
        [
            (
                node.node,
                "chosen" if node.chosen else node.verdict,
                "" if node.score is None else f"{node.score:,.1f}".removesuffix(".0"),
                node.sentence,
            )
            for node in shown
        ],
        ["green" if node.chosen else "" if node.score is not None else "dim" for node in shown],
    )
    if len(nodes) > len(shown):
        screen.line(f"... and {plural(len(nodes) - len(shown), 'node')} more: -o json has them all.")


def _show_cards(screen: Screen, node: shape.NodeReport) -> None:
    screen.line(f"Cards of node {node.node}:", style="bold")
    if not node.cards:
        screen.line("  it has none")
        return
    screen.table(
        ("CARD", "MEMORY FREE", "COMPUTE FREE", "PODS", "VERDICT", "WHY"),
        [
            (
                str(card.index),
                f"{_memory(card.memory_free)} of {_memory(card.memory)}",
                f"{card.cores_free} of {card.cores}",
                str(card.pods),
                card.verdict,
                card.sentence if card.sentence != card.verdict else "",
            )
            for card in node.cards
        ],
        ["green" if card.verdict == "chosen" else "" for card in node.cards],
    )


def _show_problems(screen: Screen, problems: Sequence[shape.Remark]) -> None:
    if not problems:
        return
    screen.gap()
    for problem in problems[:MOST_PROBLEMS]:
        screen.line(f"warning, {problem.code}: {problem.sentence}", style="yellow")
    rest = len(problems) - MOST_PROBLEMS
    if rest > 0:
        screen.line(f"... and {plural(rest, 'warning')} more: -o json has them all.", style="yellow")


def _show_waiting(screen: Screen, waiting: Sequence[str]) -> None:
    if not waiting:
        return
    some = list(waiting[:MOST_NAMES])
    more = len(waiting) - len(some)
    screen.gap()
    screen.line(f"Also waiting: {listed([*some, f'{more:,} more'] if more else some)}.", style="dim")


def _memory(amount: int) -> str:
    return rough_memory_text(Bytes(amount)) if amount else "0 GiB"
