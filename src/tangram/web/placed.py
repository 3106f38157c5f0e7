"""Pods on cards, one row each, kept beside the picture: a cluster has tens of thousands, and every viewer asks again.

Only nodes that changed are read again. The rows hold every namespace; whoever shows some narrows them by a sight.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import msgspec

from tangram.reports.charging import holds_whole
from tangram.reports.status_shape import CardStatus, NodeStatus
from tangram.web.picture import Picture
from tangram.web.sight import Sight

FEW: Final = 500
"""So many nodes are put in their places one by one; when more changed, everything is sorted again."""


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
        self._rows: list[PlacedPod] = []
        self._pods: Counter[str] = Counter()
        """By namespace, rows of it."""
        self._moved: Counter[str] = Counter()
        """By namespace, at which `version` a pod of it was last another."""

    def follow(self, picture: Picture) -> None:
        """Read again what changed."""
        if picture.version == self._seen:
            return
        changed = (
            picture.changed_since(self._seen)
            if picture.remembers(self._seen)
            else list({**self._of_node, **picture.nodes})
        )
        few = len(changed) < FEW
        for name in changed:
            node = picture.nodes.get(name)
            pods = () if node is None else tuple(placed_on(node))
            before = self._of_node.get(name, ())
            if pods == before:
                continue
            self.version += 1
            for each in (*before, *pods):
                self._moved[each.namespace] = self.version
            self._pods.update(each.namespace for each in pods)
            self._pods.subtract(each.namespace for each in before)
            if few:
                self._replace(before, pods)
            if pods:
                self._of_node[name] = pods
            else:
                self._of_node.pop(name, None)
        if not few:
            self._rows = sorted((pod for pods in self._of_node.values() for pod in pods), key=_order)
        self._seen = picture.version

    def _replace(self, before: Sequence[PlacedPod], after: Sequence[PlacedPod]) -> None:
        for pod in before:
            del self._rows[bisect_left(self._rows, _order(pod), key=_order)]
        for pod in after:
            insort(self._rows, pod, key=_order)

    def moved(self, sight: Sight) -> int:
        """At which `version` something in sight was last another."""
        if sight.everything:
            return self.version
        return max((self._moved[namespace] for namespace in sight.namespaces), default=0)

    def namespaces(self, sight: Sight) -> list[str]:
        """Those in sight with pods on cards."""
        return [name for name, pods in self._pods.items() if pods and sight.of_namespace(name)]

    def _between(self, namespace: str) -> tuple[int, int]:
        """Where its rows begin and end."""
        return (
            bisect_left(self._rows, (namespace,), key=_order),
            bisect_left(self._rows, (f"{namespace}\0",), key=_order),
        )

    def rows(self, sight: Sight) -> Sequence[PlacedPod]:
        """Those in sight, by namespace and name."""
        if sight.everything:
            return self._rows
        found = (slice(*self._between(name)) for name in sorted(sight.namespaces))
        return [pod for rows in found for pod in self._rows[rows]]


def _order(pod: PlacedPod) -> tuple[str, ...]:
    return pod.namespace, pod.name, pod.node


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
            whole=all(holds_whole(card, holder) for card, holder in shares),
            phase=next((holder.phase for _, holder in shares), ""),
            guessed=any(holder.guessed for _, holder in shares),
        )
