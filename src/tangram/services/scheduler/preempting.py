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
from tangram.engine.filter import Candidates
from tangram.engine.preempt import Preemption, hopeful_nodes, preemption_on, weaker_on
from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, TOO_MANY_REQUESTS, ApiError, ApiUnreachable
from tangram.kube.informer import Change
from tangram.model.pods import PodRef
from tangram.model.requests import Request
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName, PodUid
from tangram.wire import loose
from tangram.wire.disruption import Budget

MOST_NODES: Final = 8
"""Nodes looked at closely. Each costs a list of its pods, and the best is nearly always among the first."""
MOST_WAITING: Final = 1000

_log = logging.getLogger(__name__)

Told = Callable[[PodRef, Preemption], None]


class Preempting:
    """`consider` a pod that fits nowhere; `run()` until cancelled."""

    def __init__(self, state: State, api: Api, may: Callable[[], bool], told: Told) -> None:
        self._state = state
        self._api = api
        self._may = may
        self._told = told
        self._budgets: dict[tuple[str, str], Budget] = {}
        self._to_consider: OrderedDict[PodUid, tuple[NodeName, ...]] = OrderedDict()
        self._some = asyncio.Event()
        self.evictions = 0

    def budget_changed(self, change: Change[Budget]) -> None:
        """Fed by an informer."""
        key = change.key.namespace, change.key.name
        if change.new is None:
            self._budgets.pop(key, None)
        else:
            self._budgets[key] = change.new

    def consider(self, waiting: Waiting, names: Iterable[NodeName]) -> None:
        """Somebody more important may wait in vain; looked into by and by."""
        request = waiting.request
        if request is None or not waiting.queueing.preempts or waiting.queueing.gang is not None:
            return
        uid = request.pod.uid
        if uid not in self._to_consider and len(self._to_consider) < MOST_WAITING:
            # The ledger's own texts: every question brings thousands of new ones, and this may wait for long.
            known = map(self._state.ledger.node, names)
            self._to_consider[uid] = tuple(node.name for node in known if node is not None)
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
                _log.warning("no room could be made for %s: %s", seen.ref, error)

    async def _make_room(self, request: Request, candidates: Candidates) -> None:
        if self._state.reservations.of(request.pod.uid) is not None:
            return
        best: Preemption | None = None
        for name in hopeful_nodes(
            self._state.ledger, request, self._state.defaults, candidates, most=MOST_NODES
        ):
            found = await self._on(request, candidates._replace(names=(name,)), name)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        if best is not None and not best.budgets_violated and await self._all_may_go(best):
            await self._evict(request, best)

    async def _on(self, request: Request, here: Candidates, name: NodeName) -> Preemption | None:
        protected = await self._protected(request, name)
        return preemption_on(self._state.ledger, request, self._state.defaults, here, protected=protected)

    async def _protected(self, request: Request, name: NodeName) -> dict[PodUid, tuple[str, ...]]:
        """Whose budgets forbid their going, of those who might have to. Pods that end already protect nobody."""
        exhausted = [budget for budget in self._budgets.values() if budget.allowed < 1]
        if not exhausted:
            return {}
        weaker = {tenant.pod.uid for tenant in weaker_on(self._state.ledger, request, name)}
        protected: dict[PodUid, tuple[str, ...]] = {}
        async for page in self._api.pages("/api/v1/pods", {"fieldSelector": f"spec.nodeName={name}"}, 500):
            for pod in loose.elements(page.get("items")):
                metadata = loose.members(loose.members(pod).get("metadata"))
                uid, labels = PodUid(loose.text(metadata.get("uid"))), loose.text_map(metadata.get("labels"))
                namespace = loose.text(metadata.get("namespace"))
                names = tuple(each.name for each in exhausted if each.covers(namespace, labels))
                if uid in weaker and names:
                    protected[uid] = names
        return protected

    async def _all_may_go(self, preemption: Preemption) -> bool:
        """Ask for every eviction without meaning it: a budget that would be broken by the second victim stops all."""
        for victim in preemption.victims:
            if not await self._ask_to_go(victim.pod, dry_run=True):
                return False
        return True

    async def _evict(self, request: Request, preemption: Preemption) -> None:
        state = self._state
        if state.reservations.of(request.pod.uid) is not None or request.pod.uid not in state.waiting:
            return
        # Held before the first victim goes: whoever is asked about meanwhile must not get its room.
        state.reservations.hold(
            tenant_for(request, preemption.allocation),
            until_gone=frozenset(victim.pod.uid for victim in preemption.victims),
        )
        for victim in preemption.victims:
            if not await self._ask_to_go(victim.pod):
                # Its budget was used up in this very moment. What has gone has gone; the rest is looked at anew.
                state.reservations.release(request.pod.uid)
                return
            self.evictions += 1
        self._told(request.pod, preemption)
        await self._nominate(request.pod, preemption.node)

    async def _nominate(self, pod: PodRef, node: NodeName) -> None:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        change = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}}
        try:
            await self._api.merge(path, change)
        except (ApiError, ApiUnreachable) as error:
            _log.info("pod %s could not be nominated: %s", pod, error)

    async def _ask_to_go(self, pod: PodRef, *, dry_run: bool = False) -> bool:
        """Whether the pod goes, or is gone. Raises `ApiError` and `ApiUnreachable`."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}, **({"dryRun": ["All"]} if dry_run else {})},
        }
        query = {"dryRun": "All"} if dry_run else {}
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
        try:
            await self._api.create(path, body, **query)
        except ApiError as error:
            if error.status == TOO_MANY_REQUESTS:
                return False
            if error.status != NOT_FOUND:
                raise
        return True
