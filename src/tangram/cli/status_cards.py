"""Nodes card by card: bars of memory and compute, and who sits there with how much."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from tangram.cli.hardware.cells import compute
from tangram.cli.hardware.top_page import Brush
from tangram.cli.status_cells import (
    STATE_STYLES,
    STATE_WORDS,
    Line,
    amount,
    cards_in_words,
    cut,
    faults_in_words,
    percent_of,
)
from tangram.model.pods import Phase
from tangram.reports.charging import holds_whole
from tangram.reports.status_shape import CORDONED, FREE, UNHEALTHY, CardStatus, Holder, NodeStatus
from tangram.reports.words import plural

_NUMBERS: Final = 5
_SHORTEST_NAME: Final = 16
_BEFORE_PODS: Final = 2 + _NUMBERS + 2 + 15 + 2 + 15 + 2
_STYLES: Final = {UNHEALTHY: "red", CORDONED: "yellow", FREE: "dim"}


def card_lines(nodes: Sequence[NodeStatus], brush: Brush, columns: int) -> list[Line]:
    """Every node with its cards. Neighbours that look the same share a line."""
    lines = [Line(f"  {'CARD':<{_NUMBERS}}  {'MEMORY':<15}  {'COMPUTE':<15}  PODS", "bold")]
    for node in nodes:
        free = f"{node.cards_free} of {len(node.cards)} free"
        heading = f"  {', '.join(filter(None, (cards_in_words(node.cards), free, faults_in_words(node))))}"
        state = STATE_WORDS[node.state]
        name = cut(node.node, max(columns - len(heading) - len(state) - 2, _SHORTEST_NAME))
        lines.append(Line(f"{name}  {state}{heading}", f"bold {STATE_STYLES[node.state]}".strip()))
        for _, alike in groupby(node.cards, key=_look):
            lines += _card(list(alike), brush, columns)
    return lines


def _look(card: CardStatus) -> tuple[object, ...]:
    """What a person sees of a card, but for its number."""
    figures = (card.memory, card.memory_used, card.cores, card.cores_used)
    return card.state, card.reason, *figures, tuple(card.holders), card.other_holders


def _card(alike: Sequence[CardStatus], brush: Brush, columns: int) -> list[Line]:
    card = alike[0]
    numbers = str(card.index) if len(alike) == 1 else f"{card.index}-{alike[-1].index}"
    memory = percent_of(card.memory_used, card.memory, brush)
    cores = percent_of(card.cores_used, card.cores, brush)
    first, *others = _pods(card, columns - _BEFORE_PODS)
    style = _STYLES.get(card.state, "")
    return [
        Line(f"  {numbers:<{_NUMBERS}}  {memory}  {cores}  {first}".rstrip(), style),
        *(Line(f"{'':<{_BEFORE_PODS}}{other}", style) for other in others),
    ]


def _pods(card: CardStatus, width: int) -> list[str]:
    """A line for each pod, after what keeps new ones away."""
    told: list[str] = []
    if card.state == UNHEALTHY:
        told.append(cut(f"unhealthy: {card.reason}" if card.reason else "unhealthy", width))
    elif card.state in (CORDONED, FREE):
        told.append(card.state)
    told += [_holder(card, holder, width) for holder in card.holders]
    if card.other_holders:
        told.append(f"{plural(card.other_holders, 'pod')} of other namespaces")
    return told or [""]


def _holder(card: CardStatus, holder: Holder, width: int) -> str:
    whole = holds_whole(card, holder)
    share = "whole" if whole else amount(holder.memory)
    if not whole and holder.cores:
        share += f", {compute(holder.cores, card.vendor)}"
    if holder.phase not in ("", Phase.RUNNING):
        share += f", {holder.phase}"
    if holder.guessed:
        share += ", a guess"
    return f"{cut(holder.pod, width - len(share) - 2)}  {share}"
