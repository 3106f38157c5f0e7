"""Room for a more important pod, where kube-scheduler cannot see that any is missing.

Its own preemption counts what nodes announce, and a share of a card is not among it. So a pod that no node will take is
given the fewest, least important victims whose cards make it fit: first all of them are asked for without being meant
(a dry run respects every disruption budget), then they are evicted, the pod is nominated, and the room is held for it
against everyone who is not more important. If anything about it fails, nothing is held.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from tangram.engine.allocate import tenant_for
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.preempt import Preemption, hopeful_nodes, preemption_on, weaker_on
from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, TOO_MANY_REQUESTS, ApiError, ApiUnreachable
from tangram.kube.informer import Change
from tangram.model.allocations import Tenant
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
TRY_AGAIN_S: Final = 5.0
"""After an API server that could not be asked."""

_log = logging.getLogger(__name__)

Told = Callable[[PodRef, Preemption], None]
Counted = Callable[[Literal["done", "budget", "gone", "failed"]], None]
Wrote = Callable[[Literal["eviction", "nomination"]], None]


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
        self._api = api
        self._may = may
        self._told = told
        self._budgets: dict[tuple[str, str], Budget] = {}
        self._to_consider: OrderedDict[PodUid, tuple[NodeName, ...]] = OrderedDict()
        self._kept_by_budgets: OrderedDict[PodUid, tuple[NodeName, ...]] = OrderedDict()
        """Pods for which somebody could go, were it not for budgets; the oldest are given up for the newest."""
        self._some = asyncio.Event()
        self._counted = counted
        self._wrote = wrote

    def budget_changed(self, change: Change[Budget]) -> None:
        """Fed by an informer."""
        key = change.key.namespace, change.key.name
        if change.new is None:
            self._budgets.pop(key, None)
        else:
            self._budgets[key] = change.new
        if change.new is None or change.new.allowed > 0:
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
        if best.budgets_violated or not await self._all_may_go(best):
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

    async def _on(self, request: Request, here: Candidates, name: NodeName) -> Preemption | None:
        budgets = await self._budgets_on(request, name)
        protected = {uid: _names(over) for uid, over in budgets.items() if _forbidden(over)}
        while True:
            found = preemption_on(
                self._state.ledger, request, self._state.defaults, here, protected=protected
            )
            if found is None or found.budgets_violated:
                return found
            beyond = _beyond_budget(found.victims, budgets)
            if not beyond:
                return found
            protected |= {uid: _names(budgets[uid]) for uid in beyond}

    async def protected_on(self, request: Request, name: NodeName) -> frozenset[PodUid]:
        """Pods that would have to go before others, were they not under a budget. Raises as the API does."""
        budgets = await self._budgets_on(request, name)
        return frozenset(uid for uid, over in budgets.items() if _forbidden(over))

    async def _budgets_on(self, request: Request, name: NodeName) -> dict[PodUid, tuple[Budget, ...]]:
        """The budgets of those who might have to go there. Labels are kept nowhere, and read when they are needed."""
        weaker = {tenant.pod.uid: tenant.pod for tenant in weaker_on(self._state.ledger, request, name)}
        namespaces = {str(pod.namespace) for pod in weaker.values()}
        budgets = [budget for budget in self._budgets.values() if budget.namespace in namespaces]
        if not budgets:
            return {}
        found: dict[PodUid, tuple[Budget, ...]] = {}
        async for page in self._api.pages("/api/v1/pods", {"fieldSelector": f"spec.nodeName={name}"}, 500):
            for pod in loose.elements(page.get("items")):
                metadata = loose.members(loose.members(pod).get("metadata"))
                uid, labels = PodUid(loose.text(metadata.get("uid"))), loose.text_map(metadata.get("labels"))
                namespace = loose.text(metadata.get("namespace"))
                over = tuple(each for each in budgets if each.covers(namespace, labels))
                if uid in weaker and over:
                    found[uid] = over
        return found

    async def _all_may_go(self, preemption: Preemption) -> bool:
        """Ask for every eviction without meaning it: one that would be refused stops all."""
        for victim in preemption.victims:
            if not await self._ask_to_go(victim.pod, dry_run=True):
                return False
        return True

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
                if not await self._ask_to_go(victim.pod):
                    # Its budget was used up in this very moment. What has gone has gone; the rest is looked at anew.
                    return
            all_go = True
        finally:
            if not all_go:
                reservations.release(uid)
        self._told(request.pod, preemption)
        await self._nominate(request.pod, preemption.node)

    async def _nominate(self, pod: PodRef, node: NodeName) -> None:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
        change = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}}
        self._wrote("nomination")
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
        counted = _uncounted if dry_run else self._counted
        if not dry_run:
            self._wrote("eviction")
        try:
            await self._api.create(path, body, **query)
        except ApiUnreachable:
            counted("failed")
            raise
        except ApiError as error:
            if error.status == TOO_MANY_REQUESTS:
                counted("budget")
                return False
            if error.status != NOT_FOUND:
                counted("failed")
                raise
            counted("gone")
            return True
        counted("done")
        return True


def _uncounted(_outcome: str) -> None:
    return None


def _names(budgets: Iterable[Budget]) -> tuple[str, ...]:
    return tuple(budget.name for budget in budgets)


def _forbidden(budgets: Sequence[Budget]) -> bool:
    """The API server evicts no pod that is under more than one budget."""
    return len(budgets) > 1 or any(budget.allowed < 1 for budget in budgets)


def _beyond_budget(
    victims: Iterable[Tenant], budgets: Mapping[PodUid, tuple[Budget, ...]]
) -> tuple[PodUid, ...]:
    """Those of the victims that are more than their budget allows together, the most important of them."""
    spent: Counter[str] = Counter()
    beyond: list[PodUid] = []
    for victim in sorted(victims, key=lambda each: each.priority):
        for budget in budgets.get(victim.pod.uid, ()):
            name = f"{budget.namespace}/{budget.name}"
            spent[name] += 1
            if spent[name] > budget.allowed:
                beyond.append(victim.pod.uid)
    return tuple(beyond)
