"""From the picture to the question of a replay: who holds how much, in which order they came.

Only cards that take pods are replayed, and only pods all of whose cards do: who sits on a failed card sits there under
any policy. A large cluster is asked about in part, always the same part, so that two answers can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from tangram.model.cards import Vendor
from tangram.model.requests import CardOrder, NodePolicy
from tangram.reports.status_shape import FREE, READY, USED, CardStatus, NodeStatus
from tangram.reports.view_shape import Rules, WaitingPod
from tangram.units.ids import natural_key
from tangram.web.replay.shape import CardAsked, PodAsked, Question, ShareAsked, WaitingAsked

MOST_NODES: Final = 1000
MOST_PODS: Final = 4000
MOST_WAITING: Final = 1000
_VENDORS: Final = frozenset(Vendor)
_ORDERS: Final = frozenset(CardOrder)


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the cluster is in a question."""

    nodes: int
    of_nodes: int
    cards: int
    pods: int

    @property
    def partly(self) -> bool:
        return self.nodes < self.of_nodes


def question_from(
    nodes: Iterable[NodeStatus], waiting: Iterable[WaitingPod], rules: Rules | None, order: Sequence[str]
) -> tuple[Question, Scope]:
    """What to ask. Pods that nobody saw coming are placed before the others, in the order of their names."""
    usable = sorted(
        (node for node in nodes if node.state == READY and any(_takes_pods(card) for card in node.cards)),
        key=lambda node: natural_key(node.node),
    )
    chosen = _part(usable)
    held = _held(chosen)
    turn = {pod: place for place, pod in enumerate(order)}
    names = sorted(held, key=lambda pod: (turn.get(pod, -1), natural_key(pod)))[:MOST_PODS]
    policy = rules.node_policy if rules is not None else NodePolicy.BINPACK
    question = Question(
        nodes=[[_card(card) for card in node.cards if _takes_pods(card)] for node in chosen],
        pods=[held[pod] for pod in names],
        waiting=[
            WaitingAsked(pod.vendor, pod.cards, pod.memory, pod.cores)
            for pod, _ in zip(waiting, range(MOST_WAITING), strict=False)
            if pod.cards > 0 and pod.vendor in _VENDORS
        ],
        policy=policy,
        card_policy=[word for word in rules.card_policy if word in _ORDERS] if rules is not None else [],
        rival=NodePolicy.BINPACK if policy == NodePolicy.FRAG else NodePolicy.FRAG,
    )
    scope = Scope(
        nodes=len(chosen),
        of_nodes=len(usable),
        cards=sum(len(cards) for cards in question.nodes),
        pods=len(question.pods),
    )
    return question, scope


def _part(nodes: Sequence[NodeStatus]) -> list[NodeStatus]:
    """Every so manieth node, so that all kinds of nodes are in it; fewer still where too many pods sit on them."""
    step = -(-len(nodes) // MOST_NODES) or 1
    while True:
        chosen = list(nodes[::step])
        pods = sum(len({holder.pod for card in node.cards for holder in card.holders}) for node in chosen)
        if pods <= MOST_PODS or len(chosen) <= 1:
            return chosen
        step += 1


def _held(nodes: Sequence[NodeStatus]) -> Mapping[str, PodAsked]:
    found: dict[str, PodAsked] = {}
    left_out: set[str] = set()
    for number, node in enumerate(nodes):
        position = -1
        for card in node.cards:
            if not _takes_pods(card):
                left_out.update(holder.pod for holder in card.holders)
                continue
            position += 1
            for holder in card.holders:
                pod = found.setdefault(holder.pod, PodAsked(number, []))
                pod.shares.append(
                    ShareAsked(position, holder.memory, holder.cores, holder.slots, holder.whole)
                )
    return {pod: asked for pod, asked in found.items() if pod not in left_out}


def _takes_pods(card: CardStatus) -> bool:
    return card.state in (FREE, USED)


def _card(card: CardStatus) -> CardAsked:
    return CardAsked(card.vendor, card.product, card.memory, card.cores, card.slots, card.mode)
