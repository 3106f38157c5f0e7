"""What is wrong in the picture: cards that failed, cards and nodes that are held back, nodes that do not answer."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tangram.reports.status_shape import CORDONED, NOT_READY, UNHEALTHY, CardStatus, NodeStatus
from tangram.units.ids import natural_key
from tangram.web.history.keeping import History
from tangram.web.sight import Sight


class AilingCard(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    index: int
    uuid: str
    vendor: str
    product: str
    reason: str
    since: float | None
    """None where it was so when it was first seen."""
    pods: list[str]
    """On it, as far as the viewer may see."""
    others: int
    """Pods on it that the viewer may not see."""


class Ailments(msgspec.Struct, frozen=True, kw_only=True):
    unhealthy: list[AilingCard]
    cordoned: list[AilingCard]
    not_ready: list[NodeStatus]
    held_back: list[NodeStatus]
    """Nodes that were cordoned as a whole."""


def ailments_of(nodes: Iterable[NodeStatus], history: History, sight: Sight) -> Ailments:
    """Everything that keeps cards from being given to pods, in the order of names."""
    ordered = sorted(
        (node for node in nodes if node.state in (NOT_READY, CORDONED) or _has_ailing(node)),
        key=lambda node: natural_key(node.node),
    )
    return Ailments(
        unhealthy=_cards(ordered, UNHEALTHY, history, sight),
        cordoned=_cards(ordered, CORDONED, history, sight),
        not_ready=[node for node in ordered if node.state == NOT_READY],
        held_back=[node for node in ordered if node.state == CORDONED],
    )


def _has_ailing(node: NodeStatus) -> bool:
    return any(card.state in (UNHEALTHY, CORDONED) for card in node.cards)


def _cards(nodes: Iterable[NodeStatus], state: str, history: History, sight: Sight) -> list[AilingCard]:
    return [
        _ailing(node.node, card, history, sight)
        for node in nodes
        for card in node.cards
        if card.state == state
    ]


def _ailing(node: str, card: CardStatus, history: History, sight: Sight) -> AilingCard:
    seen = [holder.pod for holder in card.holders if sight.of_pod(holder.pod)]
    return AilingCard(
        node=node,
        index=card.index,
        uuid=card.uuid,
        vendor=card.vendor,
        product=card.product,
        reason=card.reason,
        since=history.since(node, card.uuid),
        pods=seen,
        others=len(card.holders) - len(seen) + card.other_holders,
    )
