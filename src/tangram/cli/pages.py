"""The report of `tangram explain` for people: one sentence first, then the evidence, then what would help."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tangram.cli.screen import Screen
from tangram.reports import shape
from tangram.reports.words import listed, plural
from tangram.units.ids import natural_key
from tangram.units.memory import Bytes, rough_memory_text

MOST_ROWS = 40
"""Nodes shown. Nobody reads more; the rest is counted, and `-o json` has them all."""
MOST_PROBLEMS = 5
MOST_NAMES = 5
MOST_HOLDERS = 3
_SOURCES = {
    shape.FROM_API: "Worked out here from what the API server lists, by the usual policies; what the scheduler has "
    "promised to other pods is not known here (--server asks it).",
    shape.FROM_SCHEDULER: "Answered by the running scheduler.",
}
_HEADLINE_STYLES = {shape.FITS: "bold green", shape.WAITS: "bold yellow", shape.REFUSED: "bold red"}


def show_report(screen: Screen, report: shape.ExplainReport, card_by_card: Collection[str]) -> None:
    """Every pod, then what holds for all of them. `card_by_card` names the nodes to show in full."""
    for pod in report.pods:
        screen.gap()
        _show_pod(screen, pod, card_by_card)
    _show_problems(screen, report.cluster.problems)
    explained = {pod.pod for pod in report.pods}
    _show_waiting(screen, [pod for pod in report.cluster.waiting if pod not in explained])
    decided = any(pod.nodes for pod in report.pods)
    if decided:
        screen.gap()
        screen.line(f"Not looked at: {', '.join(report.not_looked_at)}.", style="dim")
    # Where a pod runs is read and not worked out, so there is no doubt to speak of.
    if report.source in _SOURCES and (decided or report.source != shape.FROM_API):
        screen.gap()
        screen.line(_SOURCES[report.source], style="dim")


def _show_pod(screen: Screen, pod: shape.PodReport, card_by_card: Collection[str]) -> None:
    screen.line(pod.sentence, style=_HEADLINE_STYLES.get(pod.verdict, "bold"))
    for refusal in pod.refusals:
        screen.line(f"  {refusal.code}: {refusal.sentence}")
    for caution in pod.cautions:
        screen.line(f"  warning, {caution.code}: {caution.sentence}", style="yellow")
    _show_last(screen, pod)
    if not pod.nodes:
        return
    screen.gap()
    _show_nodes(screen, sorted(pod.nodes, key=_rank), pod.nodes_left_out)
    for node in pod.nodes:
        if node.chosen and (trade := _trade(node.sets)):
            screen.gap()
            screen.line(trade)
    for node in pod.nodes:
        if node.node in card_by_card:
            screen.gap()
            _show_cards(screen, node)
    if pod.suggestions:
        screen.gap()
        screen.line("What would help, each of it tried:", style="bold")
        for number, advice in enumerate(pod.suggestions, start=1):
            screen.line(f"  {number}. {advice.sentence}; it then goes to node {advice.node}")


def _show_last(screen: Screen, pod: shape.PodReport) -> None:
    if pod.turn is not None:
        screen.line(f"  Its turn: {pod.turn.place:,} of {pod.turn.of:,} that wait.")
    if pod.last is not None:
        screen.line(f"  Last verdict, {pod.last.stage} at {pod.last.at}: {pod.last.sentence.rstrip('.')}.")


def _rank(node: shape.NodeReport) -> tuple[int, float, object]:
    """The chosen node, then those that fit by falling score, then the others by name."""
    order = 0 if node.chosen else 2 if node.score is None else 1
    return order, -(node.score or 0.0), natural_key(node.node)


def _show_nodes(screen: Screen, nodes: Sequence[shape.NodeReport], left_out: int) -> None:
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
        has = "them all" if not left_out else f"{len(nodes)} of them"
        more = len(nodes) - len(shown) + left_out
        screen.line(f"... and {plural(more, 'node')} more: -o json has {has}.")
    elif left_out:
        screen.line(f"... and {plural(left_out, 'node')} more, which are counted above.")


def _trade(sets: Sequence[shape.CardSet]) -> str:
    """How well the cards are joined and what they cost the rest of the node; empty where connections did not choose."""
    chosen = next((each for each in sets if each.chosen), None)
    mildest = next((each for each in sets if each.least_loss), None)
    if chosen is None or mildest is None:
        return ""
    words = f"Connections of {_named(chosen)}: score {chosen.score:,.0f}, loss {chosen.loss:,.0f}"
    if chosen.least_loss:
        return f"{words}, the least of all sets."
    return f"{words}. Least loss: {mildest.loss:,.0f} with {_named(mildest)}, score {mildest.score:,.0f}."


def _named(found: shape.CardSet) -> str:
    numbers = ", ".join(map(str, found.cards))
    return f"card {numbers}" if len(found.cards) == 1 else f"cards {numbers}"


def _show_cards(screen: Screen, node: shape.NodeReport) -> None:
    screen.line(f"Cards of node {node.node}:", style="bold")
    if not node.cards:
        screen.line("  it has none")
        return
    held = any(card.holders for card in node.cards)
    screen.table(
        ("CARD", "MEMORY FREE", "COMPUTE FREE", "PODS", "VERDICT", "WHY", *(["HELD BY"] if held else [])),
        [
            (
                str(card.index),
                f"{_memory(card.memory_free)} of {_memory(card.memory)}",
                f"{card.cores_free} of {card.cores}",
                str(card.pods),
                card.verdict,
                card.sentence if card.sentence != card.verdict else "",
                *([_holders(card)] if held else []),
            )
            for card in node.cards
        ],
        ["green" if card.verdict == "chosen" else "" for card in node.cards],
    )


def _holders(card: shape.CardReport) -> str:
    some = card.holders[:MOST_HOLDERS]
    more = len(card.holders) - len(some)
    return ", ".join(some) + (f" and {more} more" if more else "")


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
