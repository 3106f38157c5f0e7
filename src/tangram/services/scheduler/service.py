"""The scheduler at its desk: every verb over one state, and what runs beside them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tangram.daemon.running import Supervisor
from tangram.engine.preempt import adjusted
from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.leases import LeaseWatch
from tangram.kube.probing import server_version
from tangram.kube.recorder import Recorder
from tangram.services.scheduler.binding import Binding
from tangram.services.scheduler.copies import PODS, Copies
from tangram.services.scheduler.desk import Caller, Reply
from tangram.services.scheduler.failing import failing
from tangram.services.scheduler.filtering import Filtering
from tangram.services.scheduler.leadership import Leadership
from tangram.services.scheduler.locks import NodeLocks
from tangram.services.scheduler.nominating import Nominator
from tangram.services.scheduler.outcomes import Answered
from tangram.services.scheduler.preempting import Preempting
from tangram.services.scheduler.settings import SchedulerSettings
from tangram.services.scheduler.state import State
from tangram.services.scheduler.telling import Telling
from tangram.units.ids import NodeName, PodUid
from tangram.wire.errors import WireError
from tangram.wire.extender import (
    Object,
    PreemptCall,
    bind_answer,
    error_answer,
    preempt_answer,
    read_bind,
    read_filter,
    read_preempt,
)

COMPONENT: Final = "tangram-scheduler"
EXPIRE_EVERY_S: Final = 1.0
SETTLE_AFTER_TAKEOVER_S: Final = 1.0
"""For what the last holder bound just before its end to arrive through our own watch."""
FIRST_WITH_NOMINATIONS: Final = (1, 35)

_log = logging.getLogger(__name__)


class Scheduler:
    """Answers as a `Desk`."""

    def __init__(
        self, settings: SchedulerSettings, api: Api, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._api = api
        self._clock = clock
        self.state: Final = State(clock, served=settings.served)
        self._lease = _lease_watch(settings, api, self._lease_changed)
        self.leadership: Final = Leadership(self._lease, clock)
        self._recorder: Final = Recorder(api, COMPONENT, settings.identity)
        self._telling: Final = Telling(self._recorder)
        self._filtering: Final = Filtering(self.state, failing)
        self._binding: Final = Binding(
            self.state, api, self.leadership, NodeLocks(api, self._is_waiting_for_plugin)
        )
        self._nominator: Final = Nominator(self.state, api, self._may_decide)
        self._preempting: Final = Preempting(self.state, api, self._may_decide, self._telling.preempted)
        self.copies: Final = Copies(
            api, self.state, self.leadership, lambda _change: None, self._preempting.budget_changed
        )
        self.state.arrived = self._nominator.wake
        self._takeovers = asyncio.Event()
        self._deaths: Callable[[], Sequence[str]] = list[str]

    # --- life ----------------------------------------------------------------------------------------------------

    async def start(self, supervisor: Supervisor) -> None:
        """Begin everything that runs beside the verbs; they answer with an error until the cluster is read."""
        self._deaths = supervisor.unhealthy
        if self._lease is not None:
            self.leadership.caught_up = False
            supervisor.vital("kube-scheduler's Lease", self._lease.run())
            supervisor.lasting("taking over", self._take_over)
        supervisor.lasting("events", self._recorder.run)
        supervisor.vital("filling of copies", self._fill(supervisor))

    async def _fill(self, supervisor: Supervisor) -> None:
        await self.copies.fill(supervisor)
        supervisor.lasting("end of promises", self._expire)
        if await self._nominates():
            supervisor.lasting("nominations", self._nominator.run)
        supervisor.lasting("preemption", self._preempting.run)
        await asyncio.Event().wait()

    async def _nominates(self) -> bool:
        if self._settings.nominate is not None:
            return self._settings.nominate
        try:
            version = await server_version(self._api)
        except (ApiError, ApiUnreachable):
            return False
        return version >= FIRST_WITH_NOMINATIONS

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(EXPIRE_EVERY_S)
            if self.state.reservations.expire():
                self._nominator.wake()

    def _lease_changed(self, ours: bool) -> None:  # noqa: FBT001 - a callback with one fact
        _log.info("this scheduler is %s", "active" if ours else "a standby")
        self.leadership.caught_up = False
        if ours:
            self._takeovers.set()

    async def _take_over(self) -> None:
        """After the Lease became ours: wait until all that the last holder did is in our copies."""
        while True:
            await self._takeovers.wait()
            self._takeovers.clear()
            # A list of one is answered from a copy that is at least as new as this moment; our watch is fed from it.
            await self._api.get(PODS, limit="1")
            await asyncio.sleep(SETTLE_AFTER_TAKEOVER_S)
            if not self._takeovers.is_set():
                self.leadership.caught_up = True
                self._nominator.wake()

    def _may_decide(self) -> bool:
        return self.leadership.why_not_decide() is None

    def _is_waiting_for_plugin(self, namespace: str, name: str, uid: str) -> bool:
        known = self.state.known(namespace, name)
        return known is not None and not known.ended and uid in ("", known.ref.uid)

    # --- verbs ---------------------------------------------------------------------------------------------------

    async def filter(self, body: bytes) -> Reply:
        why_not = self.leadership.why_not_decide()
        if why_not is not None:
            return _reply(error_answer(why_not))
        try:
            call = read_filter(body)
            answer, verdict = self._filtering.answer(call)
        except WireError as error:
            return _reply(error_answer(error.sentence))
        if verdict is not None:
            self._telling.filtered(verdict)
            if verdict.answered is Answered.UNFIT:
                self._preempting.consider(self._filtering.waiting(call), map(NodeName, call.names))
        return _reply(answer)

    async def bind(self, body: bytes) -> Reply:
        try:
            call = read_bind(body)
        except WireError as error:
            return _reply(bind_answer(error.sentence))
        result = await self._binding.bind(call)
        self._nominator.wake()
        self._telling.bound(result, alone=not self.state.waiting)
        return _reply(bind_answer("" if result.done else result.sentence or "the bind failed"))

    async def preempt(self, body: bytes) -> Reply:
        try:
            call = read_preempt(body)
            return _reply(self._victims(call))
        except WireError as error:
            # There is no field for an error here; no victims at all is the answer that hurts nobody.
            _log.warning("a question about victims cannot be read: %s", error)
            return _reply(preempt_answer({}, {}))

    def _victims(self, call: PreemptCall) -> Object:
        """kube-scheduler's victims, corrected by what it does not see."""
        state = self.state
        request = state.read_waiting(call.manifest()).request
        if self.leadership.why_not_decide() is not None or request is None:
            return preempt_answer(call.victims, call.violations)
        found: dict[str, tuple[str, ...]] = {}
        for node, given in call.victims.items():
            uids = [PodUid(uid) for uid in given]
            victims = adjusted(state.ledger, request, state.defaults, NodeName(node), uids)
            if victims:
                found[node] = victims
        return preempt_answer(found, call.violations)

    async def review(self, body: bytes) -> Reply:
        raise NotImplementedError

    async def guard(self, body: bytes) -> Reply:
        raise NotImplementedError

    async def explain_pod(self, namespace: str, name: str, caller: Caller) -> Reply:
        raise NotImplementedError

    async def explain_manifest(self, body: bytes, caller: Caller) -> Reply:
        raise NotImplementedError

    async def metrics(self) -> Reply:
        raise NotImplementedError

    def unready(self) -> Sequence[str]:
        return self.leadership.unready()

    def unhealthy(self) -> Sequence[str]:
        return self._deaths()


_encode = msgspec.json.Encoder().encode


def _reply(answer: Object) -> Reply:
    return Reply(_encode(answer))


def _lease_watch(settings: SchedulerSettings, api: Api, changed: Callable[[bool], None]) -> LeaseWatch | None:
    if settings.lease is None:
        return None
    beginning = f"{settings.identity}_"
    return LeaseWatch(
        api,
        settings.lease.namespace,
        settings.lease.name,
        lambda holder: holder.startswith(beginning),
        changed=changed,
    )
