"""Pods on cards, one row each, kept beside the picture: a cluster has tens of thousands, and every viewer asks again.

Only nodes that changed are read again. The rows hold every namespace; whoever shows some narrows them by a sight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from tangram.reports.status_shape import CardStatus, NodeStatus
from tangram.web.picture import Picture
from tangram.web.sight import Sight


class PlacedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with what it holds on its node."""

    namespace: str
    name: str
    node: str
    cards: tuple[int, ...]
    memory: int
    compute: float
    """In cards' worth."""
    whole: bool
    phase: str
    guessed: bool

    @property
    def pod(self) -> str:
        return f"{self.namespace}/{self.name}"


class Placed:
    """Asked through `placed_of`."""

    def __init__(self) -> None:
        self.version = 0
        """Grows when a pod came, went or holds something else, and not when a card merely fails."""
        self._seen: int = 0
        self._of_node: Final[dict[str, tuple[PlacedPod, ...]]] = {}
        self._rows: list[PlacedPod] | None = None

    def follow(self, picture: Picture) -> None:
        """Read again what changed."""
        if picture.version == self._seen:
            return
        for name in picture.changed_since(self._seen):
            node = picture.nodes.get(name)
            pods = () if node is None else tuple(placed_on(node))
            if pods == self._of_node.get(name, ()):
                continue
            self.version += 1
            self._rows = None
            if pods:
                self._of_node[name] = pods
            else:
                self._of_node.pop(name, None)
        self._seen = picture.version

    def rows(self, sight: Sight) -> Sequence[PlacedPod]:
        """Those in sight, by namespace and name."""
        if self._rows is None:
            everybody = (pod for pods in self._of_node.values() for pod in pods)
            self._rows = sorted(everybody, key=lambda pod: (pod.namespace, pod.name, pod.node))
        if sight.everything:
            return self._rows
        return [pod for pod in self._rows if pod.namespace in sight.namespaces]


_KEPT: Final[WeakKeyDictionary[Picture, Placed]] = WeakKeyDictionary()


def placed_of(picture: Picture) -> Placed:
    """The rows of that picture, as of now."""
    placed = _KEPT.setdefault(picture, Placed())
    placed.follow(picture)
    return placed


def placed_on(node: NodeStatus) -> Iterator[PlacedPod]:
    """A row for each pod that holds something of the node."""
    found: dict[str, list[CardStatus]] = {}
    for card in node.cards:
        for holder in card.holders:
            found.setdefault(holder.pod, []).append(card)
    for pod, cards in found.items():
        shares = [(card, holder) for card in cards for holder in card.holders if holder.pod == pod]
        namespace, _, name = pod.partition("/")
        yield PlacedPod(
            namespace=namespace,
            name=name,
            node=node.node,
            cards=tuple(sorted({card.index for card in cards})),
            memory=sum(holder.memory for _, holder in shares),
            compute=round(sum(holder.cores / card.cores for card, holder in shares if card.cores), 4),
            whole=all(holder.whole for _, holder in shares),
            phase=next((holder.phase for _, holder in shares), ""),
            guessed=any(holder.guessed for _, holder in shares),
        )
