"""The cluster as the scheduler last told it, with the sums that every page shows.

One picture serves every viewer, so it holds everything and hides nothing: whoever shows a part of it narrows it by the
viewer's sight. It is moved along by answers of `/view` and never rebuilt while the same scheduler answers. When nobody
answers it stays as it was, and says how old it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Final

import msgspec

from tangram.reports.status_shape import (
    CORDONED,
    FREE,
    READY,
    UNHEALTHY,
    NodeStatus,
)
from tangram.reports.view_shape import IdleRoom, Rules, View, WaitingPod
from tangram.web.sight import Sight

STALE_S: Final = 10.0
"""From this age on pages say how old they are."""
MOST_GONE: Final = 20_000
"""Names of nodes that are remembered after their end. Some clusters have other nodes every day."""


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Of all nodes, or of one: the totals of `tangram status`."""

    nodes: int = 0
    cards: int = 0
    cards_free: int = 0
    """On nodes that take pods."""
    cards_unhealthy: int = 0
    cards_cordoned: int = 0
    memory: int = 0
    memory_used: int = 0
    compute: float = 0.0
    compute_used: float = 0.0


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What one answer changed, for whoever keeps a history or tells browsers."""

    version: int
    at: float
    fresh: bool
    """The first answer of another scheduler process: what is missing from it is gone, and nothing in it is news."""
    nodes: Sequence[tuple[NodeStatus | None, NodeStatus | None]]
    """Before and after of each."""
    waiting: Sequence[tuple[WaitingPod | None, WaitingPod | None]]
    complete: bool = True
    """Everything was told once. Until then what is missing may be told by the next answer."""
    sums: Sums = Sums()
    """After it, as the next two."""
    room: IdleRoom | None = None
    waiting_now: int = 0


class Picture:
    def __init__(self) -> None:
        self.nodes: Final[dict[str, NodeStatus]] = {}
        """By name. Read only for everybody but `take`."""
        self.waiting: Final[dict[str, WaitingPod]] = {}
        """By uid, in the order in which they were told of."""
        self.untold_waiting = 0
        self.version = 0
        """Grows with everything that changes; 0 before the first answer."""
        self.complete = False
        """Everything was told once."""
        self.at = 0.0
        self.behind_s = 0.0
        self.active = False
        self.room: IdleRoom | None = None
        self.rules: Rules | None = None
        self.unread: dict[str, list[str]] = {}
        """By node, what of it the scheduler could not read; the first of them only."""
        self.trouble = ""
        """Why the scheduler does not answer; empty while it does."""
        self.listeners: Final[list[Callable[[Change], None]]] = []
        self._epoch: str = ""
        self._told = 0
        self._forgotten = 0
        self._versions: dict[str, int] = {}
        """By node, those that changed last at the end."""
        self._waiting_version = 0
        self._waiting_versions: dict[str, int] = {}
        self._waiting_pods: Counter[str] = Counter()
        self._sums = Sums()

    @property
    def epoch(self) -> str:
        """What to ask for next, with `told`."""
        return self._epoch

    @property
    def told(self) -> int:
        return self._told

    @property
    def sums(self) -> Sums:
        return self._sums

    @property
    def waiting_version(self) -> int:
        """At which `version` the pods that wait were last others."""
        return self._waiting_version

    def waiting_in(self, sight: Sight) -> int:
        """How many pods that wait may be seen."""
        if sight.everything:
            return len(self.waiting)
        return sum(self._waiting_pods[namespace] for namespace in sight.namespaces)

    def waiting_moved(self, sight: Sight) -> int:
        """The same for those of them that may be seen."""
        if sight.everything:
            return self._waiting_version
        return max((self._waiting_versions.get(name, 0) for name in sight.namespaces), default=0)

    def version_of(self, node: str) -> int:
        """At which `version` that node was last another; 0 for one that is not known."""
        return self._versions.get(node, 0)

    def remembers(self, version: int) -> bool:
        """Whether everything that went after that version can still be named; who has heard less begins anew."""
        return version >= self._forgotten

    def changed_since(self, version: int) -> list[str]:
        """Names of nodes that changed after that version, those that are gone among them as far as remembered."""
        newest = takewhile(lambda item: item[1] > version, reversed(self._versions.items()))
        return [name for name, _ in newest]

    def age(self, now: float) -> float:
        """How many seconds ago this was true."""
        return max(0.0, now - self.at) + self.behind_s

    def stale(self, now: float) -> bool:
        return self.version == 0 or bool(self.trouble) or self.age(now) > STALE_S

    def take(self, view: View) -> Change:
        """Move along by one answer."""
        fresh = view.epoch != self._epoch
        if fresh:
            self._epoch, self.complete, self.rules = view.epoch, False, view.rules
        self._told, self.at, self.behind_s, self.active = view.version, view.at, view.behind_s, view.active
        self.room = view.room or self.room
        self.rules = view.rules or self.rules
        self.untold_waiting = view.untold_waiting
        gone = [*view.gone_nodes, *(self._unsaid(view) if fresh else ())]
        nodes = self._take_nodes(view.nodes, gone)
        waiting = self._take_waiting(view, fresh=fresh)
        unread, self.unread = (
            self.unread,
            view.unread or {} if fresh or view.unread is not None else self.unread,
        )
        if (
            nodes
            or waiting
            or unread != self.unread
            or self.version == 0
            or (not view.more and not self.complete)
        ):
            self.version += 1
        for before, after in nodes:
            known = after or before
            if known is not None:
                self._versions.pop(known.node, None)
                self._versions[known.node] = self.version
        if len(self._versions) > len(self.nodes) + MOST_GONE:
            self._forget()
        if waiting:
            self._waiting_version = self.version
        for before, after in waiting:
            for pod, sign in ((before, -1), (after, 1)):
                if pod is not None:
                    namespace = pod.pod.partition("/")[0]
                    self._waiting_versions[namespace] = self.version
                    self._waiting_pods[namespace] += sign
        self.complete = self.complete or not view.more
        change = Change(
            version=self.version,
            at=view.at,
            fresh=fresh,
            nodes=nodes,
            waiting=waiting,
            complete=self.complete,
            sums=self._sums,
            room=self.room,
            waiting_now=len(self.waiting) + self.untold_waiting,
        )
        for listener in self.listeners:
            listener(change)
        return change

    def _forget(self) -> None:
        gone = [name for name in self._versions if name not in self.nodes]
        for name in gone[: len(gone) // 2 + 1]:
            self._forgotten = self._versions.pop(name)

    def _unsaid(self, view: View) -> list[str]:
        """Of another process's first answer: whatever it does not name again is told by its later ones."""
        named = {node.node for node in view.nodes}
        return [name for name in self.nodes if name not in named]

    def _take_nodes(
        self, nodes: Sequence[NodeStatus], gone: Sequence[str]
    ) -> list[tuple[NodeStatus | None, NodeStatus | None]]:
        moved: list[tuple[NodeStatus | None, NodeStatus | None]] = []
        for name in gone:
            before = self.nodes.pop(name, None)
            if before is not None:
                moved.append((before, None))
        for node in nodes:
            before = self.nodes.get(node.node)
            if before != node:
                self.nodes[node.node] = node
                moved.append((before, node))
        for before, after in moved:
            self._sums = _added(_added(self._sums, before, -1), after, 1)
        return moved

    def _take_waiting(self, view: View, *, fresh: bool) -> list[tuple[WaitingPod | None, WaitingPod | None]]:
        named = {pod.uid for pod in view.waiting}
        gone = [*view.gone_waiting, *((uid for uid in self.waiting if uid not in named) if fresh else ())]
        moved: list[tuple[WaitingPod | None, WaitingPod | None]] = []
        for uid in gone:
            before = self.waiting.pop(uid, None)
            if before is not None:
                moved.append((before, None))
        for pod in view.waiting:
            before = self.waiting.get(pod.uid)
            if before != pod:
                self.waiting[pod.uid] = pod
                moved.append((before, pod))
        return moved


def sums_of(nodes: Mapping[str, NodeStatus]) -> Sums:
    """The same from nothing, for a part of the nodes."""
    sums = Sums()
    for node in nodes.values():
        sums = _added(sums, node, 1)
    return sums


def added_up(parts: Sequence[tuple[float, ...]]) -> Sums:
    """Sums of sums, each in the order of its fields: hundreds are added up several times a second."""
    if not parts:
        return Sums()
    added = dict(zip(Sums.__struct_fields__, map(sum, zip(*parts, strict=True)), strict=True))
    return msgspec.convert({**added, "compute_used": round(added["compute_used"], 4)}, Sums)


def _added(sums: Sums, node: NodeStatus | None, sign: int) -> Sums:
    if node is None:
        return sums
    states = [card.state for card in node.cards]
    return Sums(
        nodes=sums.nodes + sign,
        cards=sums.cards + sign * len(states),
        cards_free=sums.cards_free + (sign * states.count(FREE) if node.state == READY else 0),
        cards_unhealthy=sums.cards_unhealthy + sign * states.count(UNHEALTHY),
        cards_cordoned=sums.cards_cordoned + sign * states.count(CORDONED),
        memory=sums.memory + sign * node.memory,
        memory_used=sums.memory_used + sign * node.memory_used,
        compute=sums.compute + sign * node.compute,
        compute_used=round(sums.compute_used + sign * node.compute_used, 4),
    )
