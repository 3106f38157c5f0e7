"""Room for a more important pod, where kube-scheduler cannot see that any is missing.

Its own preemption counts what nodes announce, and a share of a card is not among it. So a pod that no node will take is
given the fewest, least important victims whose cards make it fit: first all of them are asked for without being meant
(a dry run respects every disruption budget), then they are evicted, the pod is nominated, and the room is held for it
against everyone who is not more important. If anything about it fails, nothing is held.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from tangram.engine.allocate import tenant_for
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.preempt import Preemption, hopeful_nodes, preemption_on
from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.informer import Change
from tangram.model.pods import PodRef
from tangram.model.requests import Request
from tangram.services.scheduler.budgets import Budgets, beyond_budget, is_forbidden, names_of
from tangram.services.scheduler.evicting import Counted, Orders, Wrote
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName, PodUid
from tangram.wire.disruption import Budget

MOST_NODES: Final = 8
"""Nodes looked at closely. Each costs a list of its pods, and the best is nearly always among the first."""
MOST_WAITING: Final = 1000
TRY_AGAIN_S: Final = 5.0
"""After an API server that could not be asked."""

_log = logging.getLogger(__name__)

Told = Callable[[PodRef, Preemption], None]


class Preempting:
    """`consider` a pod that fits nowhere; `run()` until cancelled."""

    def __init__(
        self,
        state: State,
        api: Api,
        may: Callable[[], bool],
        told: Told,
        *,
        counted: Counted = lambda _outcome: None,
        wrote: Wrote = lambda _what: None,
    ) -> None:
        self._state = state
        self._may = may
        self._told = told
        self._budgets: Final = Budgets(state, api)
        self._orders: Final = Orders(api, counted, wrote)
        self._to_consider: OrderedDict[PodUid, tuple[NodeName, ...]] = OrderedDict()
        self._kept_by_budgets: OrderedDict[PodUid, tuple[NodeName, ...]] = OrderedDict()
        """Pods for which somebody could go, were it not for budgets; the oldest are given up for the newest."""
        self._some = asyncio.Event()

    def budget_changed(self, change: Change[Budget]) -> None:
        """Fed by an informer."""
        self._budgets.changed(change)
        before = 0 if change.old is None else change.old.allowed
        if change.new is None or change.new.allowed > before:
            # kube-scheduler does not ask again because a budget allows more.
            while self._kept_by_budgets:
                uid, names = self._kept_by_budgets.popitem(last=False)
                self._put(uid, names)

    def consider(self, waiting: Waiting, names: Iterable[NodeName]) -> None:
        """Somebody more important may wait in vain; looked into by and by."""
        request = waiting.request
        if request is None or not waiting.queueing.preempts or waiting.queueing.gang is not None:
            return
        uid = request.pod.uid
        if uid not in self._to_consider and len(self._to_consider) < MOST_WAITING:
            # The ledger's own texts: every question brings thousands of new ones, and this may wait for long.
            known = map(self._state.ledger.node, names)
            self._put(uid, tuple(node.name for node in known if node is not None))

    def _put(self, uid: PodUid, names: tuple[NodeName, ...]) -> None:
        self._kept_by_budgets.pop(uid, None)
        self._to_consider[uid] = names
        self._some.set()

    async def run(self) -> None:
        while True:
            await self._some.wait()
            uid, names = self._to_consider.popitem(last=False)
            if not self._to_consider:
                self._some.clear()
            seen = self._state.waiting.get(uid)
            if seen is None or seen.waiting is None or seen.waiting.request is None or not self._may():
                continue
            try:
                await self._make_room(seen.waiting.request, Candidates(names=names, host_checked=True))
            except (ApiError, ApiUnreachable) as error:
                _log.warning("no room could be made for %s, trying again: %s", seen.ref, error)
                asyncio.get_running_loop().call_later(TRY_AGAIN_S, self._put, uid, names)

    async def _make_room(self, request: Request, candidates: Candidates) -> None:
        uid = request.pod.uid
        if self._state.reservations.of(uid) is not None:
            return
        best: Preemption | None = None
        for name in hopeful_nodes(
            self._state.ledger, request, self._state.defaults, candidates, most=MOST_NODES
        ):
            found = await self._on(request, candidates._replace(names=(name,)), name)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        if best is None:
            return
        if best.budgets_violated or not await self._orders.all_may_go(victim.pod for victim in best.victims):
            self._kept_by_budgets[uid] = tuple(candidates.names or ())
            if len(self._kept_by_budgets) > MOST_WAITING:
                self._kept_by_budgets.popitem(last=False)
            return
        still = self._still(request, candidates, best)
        if still is not None:
            await self._evict(request, still)

    def _still(self, request: Request, candidates: Candidates, found: Preemption) -> Preemption | None:
        """The same after all the asking, or nothing where it is not needed, or not enough, any more."""
        state, uid = self._state, request.pod.uid
        if state.reservations.of(uid) is not None or uid not in state.waiting:
            return None
        if filter_nodes(state.ledger, request, state.defaults, candidates).allocation is not None:
            return None
        outcome = filter_nodes(
            state.ledger,
            request,
            state.defaults,
            candidates._replace(names=(found.node,)),
            without=[victim.pod.uid for victim in found.victims],
        )
        if outcome.allocation is None:
            return None
        return Preemption(found.node, found.victims, outcome.allocation)

    async def protected_on(self, request: Request, name: NodeName) -> frozenset[PodUid]:
        """Pods that could go there for this one, were they not under a budget. Raises as the API does."""
        budgets = await self._budgets.over(request, name)
        return frozenset(uid for uid, over in budgets.items() if is_forbidden(over))

    async def _on(self, request: Request, here: Candidates, name: NodeName) -> Preemption | None:
        budgets = await self._budgets.over(request, name)
        protected = {uid: names_of(over) for uid, over in budgets.items() if is_forbidden(over)}
        while True:
            found = preemption_on(
                self._state.ledger, request, self._state.defaults, here, protected=protected
            )
            if found is None or found.budgets_violated:
                return found
            beyond = beyond_budget(found.victims, budgets)
            if not beyond:
                return found
            protected |= {uid: names_of(budgets[uid]) for uid in beyond}

    async def _evict(self, request: Request, preemption: Preemption) -> None:
        reservations, uid = self._state.reservations, request.pod.uid
        # Held before the first victim goes: whoever is asked about meanwhile must not get its room.
        reservations.hold(
            tenant_for(request, preemption.allocation),
            until_gone=frozenset(victim.pod.uid for victim in preemption.victims),
        )
        all_go = False
        try:
            for victim in preemption.victims:
                if not await self._orders.evict(victim.pod):
                    # Its budget was used up in this very moment. What has gone has gone; the rest is looked at anew.
                    return
            all_go = True
        finally:
            if not all_go:
                reservations.release(uid)
        self._told(request.pod, preemption)
        await self._orders.nominate(request.pod, preemption.node)
