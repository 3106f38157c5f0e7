"""Every question to the scheduler, answered over its one state: what doors call the desk.

Here questions are read, timed, counted and told about; what is decided is decided by the verbs themselves.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST

from tangram.services.scheduler.binding import Binding, BindOutcome
from tangram.services.scheduler.desk import Caller, Reply
from tangram.services.scheduler.device_summaries import DeviceSummaries
from tangram.services.scheduler.explaining import Explaining
from tangram.services.scheduler.exposition import Exposition
from tangram.services.scheduler.filtering import Filtering
from tangram.services.scheduler.guarding import guard
from tangram.services.scheduler.leadership import Leadership
from tangram.services.scheduler.outcomes import Answered, Verdict
from tangram.services.scheduler.preempting import Preempting
from tangram.services.scheduler.reviewing import ReviewRules, review
from tangram.services.scheduler.second_looks import SecondLooks
from tangram.services.scheduler.state import State
from tangram.services.scheduler.telemetry import Outcome, Telemetry
from tangram.services.scheduler.telling import Telling
from tangram.services.scheduler.verdicts import Stage, Verdicts, verdict_of_filter
from tangram.services.scheduler.verdicts import Verdict as KeptVerdict
from tangram.services.scheduler.victims import Victims
from tangram.services.scheduler.viewing import Viewing
from tangram.units.ids import NodeName
from tangram.wire.errors import WireError
from tangram.wire.extender import (
    Object,
    bind_answer,
    error_answer,
    preempt_answer,
    read_bind,
    read_filter,
    read_preempt,
)
from tangram.wire.trust_policy import TrustedAccounts

_log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode

_FILTER_OUTCOMES: Final = {
    Answered.CHOSEN: Outcome.DONE,
    Answered.AHEAD: Outcome.DONE,
    Answered.SIMULATED: Outcome.DONE,
    Answered.REFUSED: Outcome.REFUSED,
    Answered.UNFIT: Outcome.REFUSED,
    Answered.QUOTA: Outcome.REFUSED,
    Answered.GANG: Outcome.RETRY,
    Answered.PROMISED: Outcome.RETRY,
    Answered.ROOM: Outcome.RETRY,
    Answered.ERROR: Outcome.RETRY,
}
_BIND_OUTCOMES: Final = {
    BindOutcome.BOUND: Outcome.DONE,
    BindOutcome.RECHECKED: Outcome.DONE,
    BindOutcome.NOT_NOW: Outcome.RETRY,
    BindOutcome.UNFIT: Outcome.REFUSED,
    BindOutcome.LOCKED: Outcome.RETRY,
    BindOutcome.REFUSED: Outcome.FAILED,
    BindOutcome.UNKNOWN: Outcome.FAILED,
}


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Who does the work."""

    state: State
    leadership: Leadership
    filtering: Filtering
    binding: Binding
    preempting: Preempting
    victims: Victims
    second_looks: SecondLooks
    explaining: Explaining
    viewing: Viewing
    summaries: DeviceSummaries
    verdicts: Verdicts
    telling: Telling
    telemetry: Telemetry
    exposition: Exposition
    review_rules: Callable[[], ReviewRules]
    accounts: Callable[[], TrustedAccounts]
    after_bind: Callable[[], None]
    unready: Callable[[], Sequence[str]]
    unhealthy: Callable[[], Sequence[str]]


class Answering:
    """A `Desk`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def filter(self, body: bytes) -> Reply:
        began = time.perf_counter()
        answer, outcome = self._filter(body)
        self._parts.telemetry.filtered(time.perf_counter() - began, outcome)
        return Reply(_encode(answer))

    def _filter(self, body: bytes) -> tuple[Object, Outcome]:
        parts = self._parts
        why_not = parts.leadership.why_not_decide()
        if why_not is not None:
            return error_answer(why_not), Outcome.RETRY
        try:
            call = read_filter(body)
            answer, verdict = parts.filtering.answer(call)
        except WireError as error:
            return error_answer(error.sentence), Outcome.INVALID
        if verdict is None:
            return answer, Outcome.PASSED
        if verdict.answered is Answered.SIMULATED:
            # Nothing of it came true, so nothing that is known of the pod gives way to it.
            return answer, Outcome.DONE
        self._note(verdict)
        parts.second_looks.answered(verdict.pod.uid, verdict.answered)
        if verdict.answered is Answered.UNFIT:
            parts.preempting.consider(parts.filtering.waiting(call), map(NodeName, call.names))
        return answer, _FILTER_OUTCOMES[verdict.answered]

    def _note(self, verdict: Verdict) -> None:
        self._parts.verdicts.note(verdict.pod, verdict_of_filter(verdict, time.time()))
        self._parts.telling.filtered(verdict)

    async def bind(self, body: bytes) -> Reply:
        parts, began = self._parts, time.perf_counter()
        try:
            call = read_bind(body)
        except WireError as error:
            parts.telemetry.bound(time.perf_counter() - began, Outcome.INVALID)
            return Reply(_encode(bind_answer(error.sentence)))
        result = await parts.binding.bind(call)
        parts.after_bind()
        parts.telling.bound(result, alone=not parts.state.waiting)
        if result.done:
            parts.verdicts.forget(result.pod.uid)
        else:
            kept = KeptVerdict(
                at=time.time(),
                stage=Stage.BIND,
                sentence=result.sentence,
                word="BindingFailed",
                node=result.node,
            )
            parts.verdicts.note(result.pod, kept)
        parts.telemetry.bound(time.perf_counter() - began, _BIND_OUTCOMES[result.outcome])
        return Reply(_encode(bind_answer("" if result.done else result.sentence or "the bind failed")))

    async def preempt(self, body: bytes) -> Reply:
        began = time.perf_counter()
        try:
            answer, outcome = await self._parts.victims.answer(read_preempt(body)), Outcome.DONE
        except WireError as error:
            # There is no field for an error here; no victims at all is the answer that hurts nobody.
            _log.warning("a question about victims cannot be read: %s", error)
            answer, outcome = preempt_answer({}, {}), Outcome.INVALID
        self._parts.telemetry.preempted(time.perf_counter() - began, outcome)
        return Reply(_encode(answer))

    async def review(self, body: bytes) -> Reply:
        began = time.perf_counter()
        reply = review(body, self._parts.review_rules())
        outcome = Outcome.DONE if reply.status == 200 else Outcome.INVALID
        self._parts.telemetry.reviewed(time.perf_counter() - began, outcome)
        return reply

    async def guard(self, body: bytes) -> Reply:
        return guard(body, self._parts.accounts())

    async def explain_pod(
        self, namespace: str, name: str, caller: Caller, nodes: Sequence[str] = ()
    ) -> Reply:
        return await self._parts.explaining.pod(namespace, name, caller, nodes)

    async def explain_manifest(self, body: bytes, caller: Caller, nodes: Sequence[str] = ()) -> Reply:
        return await self._parts.explaining.manifest(body, caller, nodes)

    async def view(self, epoch: str, since: str, wait: str) -> Reply:
        return await self._parts.viewing.view(epoch, since, wait)

    async def view_node(self, name: str, pod: str) -> Reply:
        return await self._parts.viewing.node(name, pod)

    def end_waiting(self) -> None:
        self._parts.viewing.end()

    async def device_summaries(self, node: str | None) -> Reply:
        summaries = self._parts.summaries
        return await summaries.every_node() if node is None else summaries.one(node)

    async def metrics(self, *, gzipped: bool) -> Reply:
        page = await self._parts.exposition.page(gzipped=gzipped)
        return Reply(page, kind=CONTENT_TYPE_LATEST, gzipped=gzipped)

    def unready(self) -> Sequence[str]:
        return self._parts.unready()

    def unhealthy(self) -> Sequence[str]:
        return self._parts.unhealthy()
