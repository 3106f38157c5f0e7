"""The bind verb: pod, node and cards committed in one call to the API server.

What was promised is what is written; without a promise on that very node the engine is asked again, and the pod is
refused if it does not fit there now. Success is answered only after the API server said so. Where it did not answer,
the pod is read back, and until then its cards stay promised: the order may still arrive.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from tangram.engine.allocate import tenant_for
from tangram.engine.filter import Candidates
from tangram.kube.api import Api, Object
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.model.allocations import Tenant
from tangram.model.pods import PodRef
from tangram.model.requests import Request
from tangram.services.scheduler.leadership import BIND_LIMIT_S, Leadership
from tangram.services.scheduler.locks import LockContentionError, NodeLocks
from tangram.services.scheduler.quota_rule import OverQuota, no_quota
from tangram.services.scheduler.rereading import read_pods_of
from tangram.services.scheduler.seen import Waiting
from tangram.services.scheduler.state import State
from tangram.units.ids import Namespace, NodeName, PodName, PodUid
from tangram.wire import loose
from tangram.wire.binding import BindingWrites, binding_body, binding_writes, lock_value
from tangram.wire.errors import WireError
from tangram.wire.events import node_missing
from tangram.wire.extender import BindCall

READ_BACKS: Final = 3
READ_BACK_PAUSE_S: Final = 1.0


class BindOutcome(StrEnum):
    BOUND = "bound"
    RECHECKED = "rechecked"
    """Bound without a promise: another process made it, or its time was over."""
    NOT_NOW = "not-now"
    """Not the active one, or from an old copy."""
    UNFIT = "unfit"
    LOCKED = "locked"
    REFUSED = "refused"
    """By the API server, or by ourselves for what it would not have checked."""
    UNKNOWN = "unknown"


class BindResult(NamedTuple):
    outcome: BindOutcome
    pod: PodRef
    node: NodeName
    sentence: str = ""

    @property
    def done(self) -> bool:
        return self.outcome in (BindOutcome.BOUND, BindOutcome.RECHECKED)


class _Failed(Exception):  # noqa: N818 - never leaves this module
    """The bind came to nothing; the sentence goes to the pod."""

    def __init__(self, outcome: BindOutcome, sentence: str) -> None:
        super().__init__(sentence)
        self.outcome = outcome
        self.sentence = sentence


class Binding:
    def __init__(
        self,
        state: State,
        api: Api,
        leadership: Leadership,
        locks: NodeLocks,
        *,
        now_ns: Callable[[], int] = time.time_ns,
        over_quota: OverQuota = no_quota,
        wrote: Callable[[], None] = lambda: None,
    ) -> None:
        self._state = state
        self._api = api
        self._leadership = leadership
        self._locks = locks
        self._now_ns = now_ns
        self._over_quota = over_quota
        self._wrote = wrote

    async def bind(self, call: BindCall) -> BindResult:
        ref, node = _ref(call), NodeName(call.node)
        try:
            outcome = await self._bind(ref, node)
        except _Failed as failed:
            return BindResult(failed.outcome, ref, node, failed.sentence)
        return BindResult(outcome, ref, node)

    async def _bind(self, ref: PodRef, node: NodeName) -> BindOutcome:
        self._check(self._leadership.why_not_decide())
        waiting = await self._waiting(ref, node)
        if waiting is None:
            return BindOutcome.BOUND
        request = waiting.request
        if request is None:
            if waiting.admission.refusals:
                raise _Failed(
                    BindOutcome.REFUSED, " ".join(each.sentence for each in waiting.admission.refusals)
                )
            await self._commit_bare(ref, node)
            return BindOutcome.BOUND
        promised = self._promised(request, node)
        tenant = promised or self._recheck(request, node)
        reservations = self._state.reservations
        reservations.begin_binding(ref.uid)
        known = True
        try:
            await self._commit(waiting, request, tenant)
        except _Failed as failed:
            known = failed.outcome is not BindOutcome.UNKNOWN
            raise
        finally:
            if reservations.of(ref.uid) is not None:
                reservations.fail_binding(ref.uid, known=known)
        return BindOutcome.BOUND if promised else BindOutcome.RECHECKED

    def _promised(self, request: Request, node: NodeName) -> Tenant | None:
        reservations, uid = self._state.reservations, request.pod.uid
        promise = reservations.of(uid)
        if promise is None:
            return None
        if promise.binding:
            raise _Failed(BindOutcome.NOT_NOW, f"a bind of the pod to {promise.node} is under way")
        if promise.unknown and promise.node != node:
            raise _Failed(BindOutcome.NOT_NOW, f"the pod may be bound to {promise.node} already")
        if promise.node != node:
            reservations.release(uid)
            return None
        return reservations.tenant(uid)

    def _recheck(self, request: Request, node: NodeName) -> Tenant:
        """Promise the pod its cards on this very node, as a filter call would have."""
        state = self._state
        if state.ledger.node(node) is None:
            raise _Failed(BindOutcome.UNFIT, node_missing(node))
        found = state.decide(request, Candidates(names=(node,), host_checked=True))
        if found.allocation is None:
            raise _Failed(
                BindOutcome.UNFIT, f"node {node} has no room for the pod any more; trying again elsewhere"
            )
        over = self._over_quota(request, found.allocation)
        if over is not None:
            raise _Failed(BindOutcome.UNFIT, over)
        tenant = tenant_for(request, found.allocation)
        state.reservations.make(tenant)
        return tenant

    async def _commit(self, waiting: Waiting, request: Request, tenant: Tenant) -> None:
        name = tenant.allocation.node
        node = self._state.ledger.node(name)
        if node is None:
            raise _Failed(BindOutcome.UNFIT, node_missing(name))
        now, beside = self._now_ns(), self._state.coexistence.on(node)
        try:
            lock = lock_value(request, tenant.allocation, node, now, beside_koordinator=beside)
            writes = binding_writes(request, tenant.allocation, node, now, present=waiting.pod.annotations)
        except WireError as error:
            raise _Failed(BindOutcome.REFUSED, error.sentence) from error
        if lock is not None:
            await self._take_lock(name, request.pod, lock)
        try:
            if beside:
                tenant, writes = await self._look_again(waiting, request, tenant, now)
            await self._send(request.pod, name, writes)
        except _Failed as failed:
            if lock is not None and failed.outcome is not BindOutcome.UNKNOWN:
                await self._locks.release(name, request.pod)
            raise
        self._state.hold_bound(tenant)

    async def _look_again(
        self, waiting: Waiting, request: Request, tenant: Tenant, now: int
    ) -> tuple[Tenant, BindingWrites]:
        """What can be written now that koord-scheduler's last pod of this node is known too.

        The cards are chosen again, and are others where those that were promised have been sold meanwhile. Raises
        `_Failed` where none are left.
        """
        name = tenant.allocation.node
        try:
            await read_pods_of(self._api, self._state, name)
        except (ApiError, ApiUnreachable) as error:
            raise _Failed(BindOutcome.NOT_NOW, f"the pods of {name} cannot be read: {error}") from error
        node = self._state.ledger.node(name)
        found = self._state.decide(request, Candidates(names=(name,), host_checked=True))
        if node is None or found.allocation is None:
            raise _Failed(
                BindOutcome.UNFIT,
                f"koord-scheduler was faster on node {name}, which has no room for the pod any more; "
                "trying again elsewhere",
            )
        if found.allocation != tenant.allocation:
            tenant = tenant_for(request, found.allocation)
            self._state.reservations.exchange(tenant)
        try:
            present = waiting.pod.annotations
            return tenant, binding_writes(request, tenant.allocation, node, now, present=present)
        except WireError as error:
            raise _Failed(BindOutcome.REFUSED, error.sentence) from error

    async def _commit_bare(self, ref: PodRef, node: NodeName) -> None:
        await self._send(ref, node, BindingWrites({}, {}))

    async def _take_lock(self, node: NodeName, pod: PodRef, value: str) -> None:
        try:
            await self._locks.take(node, pod, value)
        except LockContentionError as error:
            raise _Failed(BindOutcome.LOCKED, str(error)) from None
        except (ApiError, ApiUnreachable) as error:
            await self._locks.release(node, pod)
            raise _Failed(BindOutcome.REFUSED, str(error)) from error

    async def _send(self, ref: PodRef, node: NodeName, writes: BindingWrites) -> None:
        self._check(self._leadership.why_not_bind())
        self._wrote()
        path = f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}/binding"
        try:
            await self._api.call("POST", path, binding_body(ref, node, writes), limit=BIND_LIMIT_S)
        except ApiError as error:
            if error.status != CONFLICT:
                raise _Failed(BindOutcome.REFUSED, error.message or str(error)) from error
            await self._settle(ref, node, str(error.message))
        except ApiUnreachable as error:
            await self._settle(ref, node, str(error), unknown=True)

    async def _settle(self, ref: PodRef, node: NodeName, sentence: str, *, unknown: bool = False) -> None:
        """What the pod says itself: quiet when it is bound to the node. Raises `_Failed` for anything else."""
        for attempt in range(READ_BACKS):
            if attempt:
                await asyncio.sleep(READ_BACK_PAUSE_S)
            try:
                pod = await self._read(ref)
            except ApiUnreachable:
                continue
            except ApiError as error:
                if error.may_pass:
                    continue
                raise _Failed(BindOutcome.REFUSED, error.message) from error
            if pod is None:
                raise _Failed(BindOutcome.REFUSED, f"pod {ref} is gone")
            bound_to = loose.text(loose.members(pod.get("spec")).get("nodeName"))
            if bound_to == node:
                return
            if bound_to:
                raise _Failed(BindOutcome.REFUSED, f"pod {ref} was bound to {bound_to} by somebody else")
            if not unknown:
                raise _Failed(BindOutcome.REFUSED, sentence)
        raise _Failed(BindOutcome.UNKNOWN, f"{sentence}; its cards stay promised until the pod has been read")

    async def _waiting(self, ref: PodRef, node: NodeName) -> Waiting | None:
        """The pod to bind; None when it is bound to that node already."""
        known = self._state.waiting.get(ref.uid)
        if known is not None and known.waiting is not None:
            return known.waiting
        try:
            pod = await self._read(ref)
        except (ApiError, ApiUnreachable) as error:
            raise _Failed(BindOutcome.REFUSED, str(error)) from error
        if pod is None:
            self._state.reservations.forget(ref.uid)
            raise _Failed(BindOutcome.REFUSED, f"pod {ref} is gone")
        bound_to = loose.text(loose.members(pod.get("spec")).get("nodeName"))
        if bound_to == node:
            return None
        if bound_to:
            raise _Failed(BindOutcome.REFUSED, f"pod {ref} was bound to {bound_to} by somebody else")
        return self._state.read_waiting(pod)

    async def _read(self, ref: PodRef) -> Object | None:
        """The pod of that very UID, or None when there is none any more."""
        try:
            found = await self._api.get(f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}")
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        uid = loose.text(loose.members(found.get("metadata")).get("uid"))
        return found if uid == ref.uid else None

    def _check(self, why_not: str | None) -> None:
        if why_not is not None:
            raise _Failed(BindOutcome.NOT_NOW, why_not)


def _ref(call: BindCall) -> PodRef:
    return PodRef(Namespace(call.namespace), PodName(call.name), PodUid(call.uid))
