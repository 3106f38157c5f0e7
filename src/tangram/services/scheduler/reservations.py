"""Promises of cards to pods that are not bound yet, and the memory of promises that came to nothing.

A promise is efficiency, never correctness: bind checks again when there is none. It is made by a filter call or ahead
of one, it is replaced by the next, and it ends by itself. kube-scheduler does not say when something fails between
filter and bind, so a promise that ended unbound, or a second question about a pod that was given a node already, is all
there is to know; the node is then tried last for that pod, for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Literal

import msgspec

from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.units.ids import NodeName, PodUid

NEVER: Final = float("inf")


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """How long things are held, in seconds."""

    promise: float = 60.0
    long_promise: float = 600.0
    """For pods that may rightly take long between filter and bind: members of a gang, pods with volumes."""
    demotion: float = 60.0
    unknown: float = 20.0
    """After a bind that nobody answered: the order may still arrive for so long."""


USUAL_TIMES: Final = Times()


class Promise(msgspec.Struct, kw_only=True):
    """What the ledger does not know about a reservation."""

    node: NodeName
    ahead: bool
    """Made before anybody asked; the first question about the pod finds it here."""
    long: bool = False
    binding: bool = False
    """On its way to the API server: it neither ends nor is replaced until the answer is known."""
    unknown: bool = False
    """An order to bind was sent and never answered: nobody knows whether the pod is bound."""
    until_gone: frozenset[PodUid] = frozenset()
    """Victims whose cards it is promised; it is good for nothing before they have gone."""


class Reservations:
    def __init__(self, ledger: Ledger, clock: Callable[[], float], times: Times = USUAL_TIMES) -> None:
        self._ledger = ledger
        self._clock = clock
        self.times = times
        self.ended: Callable[[Literal["bound", "replaced", "released"]], None] = _nobody
        """Told how each promise ended that did not run out of time."""
        self._promises: dict[PodUid, Promise] = {}
        self._demoted: dict[PodUid, dict[NodeName, float]] = {}

    def __len__(self) -> int:
        return len(self._promises)

    def of(self, uid: PodUid) -> Promise | None:
        return self._promises.get(uid)

    def tenant(self, uid: PodUid) -> Tenant | None:
        """What is promised to the pod."""
        holding = self._ledger.holding(uid) if uid in self._promises else None
        return None if holding is None or holding.bound else holding.tenant

    def make(self, tenant: Tenant, *, ahead: bool = False, long: bool = False) -> Promise:
        """Promise the tenant its cards, in place of whatever was promised to it before."""
        uid = tenant.pod.uid
        lasts = self.times.long_promise if long else self.times.promise
        made = Promise(node=tenant.allocation.node, ahead=ahead, long=long)
        expires = self._clock() + lasts
        replaces = uid in self._promises
        if self._ledger.reserve(tenant, expires_at=expires, attempt=self._ledger.begin_attempt()):
            self._promises[uid] = made
            if replaces:
                self.ended("replaced")
        return made

    def exchange(self, tenant: Tenant) -> None:
        """Other cards of the same node for a pod whose bind is under way; nothing else of the promise changes."""
        if tenant.pod.uid in self._promises:
            self._ledger.reserve(tenant, expires_at=NEVER, attempt=self._ledger.begin_attempt())

    def hold(self, tenant: Tenant, until_gone: frozenset[PodUid]) -> None:
        """Promise cards that others still have, against everyone who is not more important."""
        self.make(tenant, ahead=True, long=True)
        promise = self._promises.get(tenant.pod.uid)
        if promise is not None:
            promise.until_gone = until_gone

    def still_there(self, promise: Promise) -> int:
        """How many victims have yet to go."""
        promise.until_gone = frozenset(
            uid for uid in promise.until_gone if self._ledger.holding(uid) is not None
        )
        return len(promise.until_gone)

    def of_weaker(self, priority: int) -> list[PodUid]:
        """Whose promises give way to a pod of that importance, the least important first.

        Rooms that are held, and promises that nobody has asked for yet; not those of a gang, which are of use together.
        """
        found = [
            (tenant.priority, uid)
            for uid, promise in self._promises.items()
            if (promise.until_gone or (promise.ahead and not promise.long))
            and not promise.binding
            and (tenant := self.tenant(uid)) is not None
            and tenant.priority < priority
        ]
        found.sort(key=lambda each: each[0])
        return [uid for _, uid in found]

    def renew(self, uid: PodUid) -> None:
        """Its time begins anew: it was asked about, and the answer stands."""
        promise = self._promises.get(uid)
        if promise is not None:
            lasts = self.times.long_promise if promise.long else self.times.promise
            self._ledger.extend(uid, expires_at=self._clock() + lasts)

    def begin_binding(self, uid: PodUid) -> None:
        """From now on only `fail_binding`, `release` or the bound pod itself end the promise."""
        promise = self._promises.get(uid)
        if promise is not None:
            promise.binding = True
            self._ledger.extend(uid, expires_at=NEVER)

    def fail_binding(self, uid: PodUid, *, known: bool) -> None:
        """The bind failed. Where nobody knows, the promise stays until the order cannot arrive any more."""
        promise = self._promises.get(uid)
        if promise is None:
            return
        self.demote(uid, promise.node)
        if known:
            self.release(uid)
        else:
            promise.binding, promise.unknown = False, True
            self._ledger.extend(uid, expires_at=self._clock() + self.times.unknown)

    def release(self, uid: PodUid) -> None:
        """The promise is given up."""
        if self._promises.pop(uid, None) is not None:
            self._ledger.release(uid)
            self.ended("released")

    def take_back(self, uid: PodUid, node: NodeName) -> None:
        """kube-scheduler tried the node that the pod was nominated to, and something other than cards was in the way.

        It never came to the question about cards, so nothing else would end the promise before its time.
        """
        promise = self._promises.get(uid)
        if promise is not None and promise.ahead and not promise.long and promise.node == node:
            self.release(uid)

    def bound(self, uid: PodUid) -> None:
        """The pod is bound, so what it holds is no promise any more."""
        if self._promises.pop(uid, None) is not None:
            self.ended("bound")
        self._demoted.pop(uid, None)

    def forget(self, uid: PodUid) -> None:
        """The pod is gone."""
        self.release(uid)
        self._demoted.pop(uid, None)

    def demote(self, uid: PodUid, node: NodeName) -> None:
        """Something went wrong for this pod on this node."""
        self._demoted.setdefault(uid, {})[node] = self._clock() + self.times.demotion

    def demoted(self, uid: PodUid) -> Collection[NodeName]:
        """Where something went wrong for this pod a moment ago."""
        nodes = self._demoted.get(uid)
        if nodes is None:
            return ()
        now = self._clock()
        for node in [node for node, until in nodes.items() if until <= now]:
            del nodes[node]
        if not nodes:
            del self._demoted[uid]
        return tuple(nodes)

    def expire(self) -> list[PodUid]:
        """End the promises whose time is over; whose they were."""
        ended: list[PodUid] = []
        for tenant in self._ledger.expire(self._clock()):
            uid = tenant.pod.uid
            promise = self._promises.pop(uid, None)
            if promise is not None and not promise.ahead:
                self.demote(uid, promise.node)
            ended.append(uid)
        for uid in list(self._demoted):
            # Nobody asks again about a pod that was gone before its promise ended.
            self.demoted(uid)
        return ended

    def ahead(self) -> int:
        """How many promises nobody has asked for yet."""
        return sum(promise.ahead for promise in self._promises.values())


def _nobody(_how: str) -> None:
    return None
