"""The stand-in for kube-scheduler, put together: copies of the cluster, the queue, decisions, binds and the Lease.

Pods are decided one after the other, as kube-scheduler does, so a slow extender keeps every other pod waiting here too.
Binding runs beside the next decisions. Nothing is remembered over a restart, and nothing needs to be.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Callable, Coroutine
from typing import Final

from tangram.kube.api import Api
from tangram.kube.informer import Change, Informer
from tangram.kube.objects import Object
from tangram.kube.recorder import Recorder
from tangram.sandbox.placing.binding import BindFailed, Binding
from tangram.sandbox.placing.budgets import Budget, read_budget
from tangram.sandbox.placing.configuration import read_settings
from tangram.sandbox.placing.extenders import Extenders
from tangram.sandbox.placing.following import Following
from tangram.sandbox.placing.holding import LeaseHolder
from tangram.sandbox.placing.hosts import NodeFacts, read_node
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod, read_pod
from tangram.sandbox.placing.sacrificing import Sacrifice
from tangram.sandbox.placing.sentences import deleting
from tangram.sandbox.placing.telling import SCHEDULER_ERROR, UNSCHEDULABLE, Telling
from tangram.sandbox.placing.trying import Chosen, Trying, Unfit
from tangram.sandbox.placing.waiting import Entry, Waiting
from tangram.sandbox.placing.wakes import News, What
from tangram.wire import loose

NOT_OVER: Final = "status.phase!=Succeeded,status.phase!=Failed"

_log = logging.getLogger(__name__)


class StandIn:
    """`run()` until cancelled. Raises `BadConfiguration` for a configuration that it cannot follow."""

    def __init__(
        self,
        configuration: Object,
        api: Api,
        *,
        identity: str,
        clock: Callable[[], float] = time.monotonic,
        seed: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        settings = read_settings(configuration)
        self._picture: Final = Picture()
        self._waiting: Final = Waiting(
            clock, first=settings.first_backoff, longest=settings.longest_backoff, ignored=settings.ignored
        )
        self._extenders: Final = Extenders(settings.extenders, tls)
        self._binding: Final = Binding(api, self._extenders)
        self._lease: Final = (
            None if settings.lease is None else LeaseHolder(api, settings.lease, identity, clock)
        )
        self._recorders: Final = {
            name: Recorder(api, name, f"{name}-{identity}") for name in settings.percentages
        }
        self._telling: Final = Telling(api, self._recorders)
        self._following: Final = Following(self._picture, self._waiting, frozenset(settings.percentages))
        self._pods: Final[Informer[Pod]] = Informer(
            api, "/api/v1/pods", self._following.pod, keep=read_pod, query={"fieldSelector": NOT_OVER},
            troubled=_troubled, clock=clock,
        )  # fmt: skip
        self._nodes: Final[Informer[NodeFacts]] = Informer(
            api, "/api/v1/nodes", self._following.node, keep=read_node, troubled=_troubled, clock=clock
        )
        self._budgets: Final = Informer(
            api,
            "/apis/policy/v1/poddisruptionbudgets",
            _unheard,
            keep=read_budget,
            troubled=_troubled,
            clock=clock,
        )
        self._namespaces: Final = Informer(
            api,
            "/api/v1/namespaces",
            self._following.namespace,
            keep=_labels,
            troubled=_troubled,
            clock=clock,
        )
        self._trying: Final = Trying(
            settings,
            self._picture,
            self._extenders,
            self._budgets.objects.values,
            random.Random(seed),  # noqa: S311 - breaks ties, guards nothing
        )
        self._beside: Final[set[asyncio.Task[None]]] = set()

    @property
    def holder(self) -> str:
        """By which name it holds its Lease; empty without one."""
        return "" if self._lease is None else self._lease.holder

    async def run(self) -> None:
        informers = (self._pods, self._nodes, self._budgets, self._namespaces)
        async with self._extenders, asyncio.TaskGroup() as group:
            for recorder in self._recorders.values():
                group.create_task(recorder.run())
            for informer in informers:
                group.create_task(informer.run())
            if self._lease is not None:
                group.create_task(self._lease.run())
            try:
                for informer in informers:
                    await informer.synced.wait()
                await self._decide_for_ever()
            finally:
                for task in self._beside:
                    task.cancel()

    async def _decide_for_ever(self) -> None:
        while True:
            entry = await self._waiting.take()
            if self._lease is not None:
                await self._lease.held.wait()
            try:
                await self._decide(entry)
            except Exception:  # noqa: BLE001 - whatever one pod does to the loop, the others wait behind it
                _log.exception("%s/%s could not be decided", *entry.pod.key)
                self._given_back(entry, frozenset())

    # --- one pod ---------------------------------------------------------------------------------------------------

    async def _decide(self, entry: Entry) -> None:
        pod = entry.pod
        if pod.deleting or self._picture.assumed(pod.uid) or self._now(pod) is None:
            if pod.deleting:
                self._telling.event(pod, pod.scheduler, "FailedScheduling", deleting(*pod.key), warning=True)
            self._waiting.done(entry)
            return
        decision = await self._trying.decide(pod)
        if isinstance(decision, Chosen):
            self._picture.assume(pod, decision.node)
            self._picture.forget_nomination(pod.uid)
            self._waiting.done(entry)
            self._beside_others(self._bind(entry, decision.node))
        elif isinstance(decision, Unfit):
            await self._parked(entry, decision)
        else:
            await self._failed(entry, decision.message)

    async def _parked(self, entry: Entry, unfit: Unfit) -> None:
        now = self._given_back(entry, unfit.rejected)
        if now is None:
            return
        if unfit.nomination is not None:
            self._picture.nominate(now, unfit.nomination)
        if unfit.sacrifice is not None:
            self._waiting.hold(now.uid)
            self._beside_others(self._make_room(now, unfit.sacrifice))
        await self._telling.waits(now, UNSCHEDULABLE, unfit.message, unfit.nomination)

    async def _failed(self, entry: Entry, message: str) -> None:
        pod = self._given_back(entry, frozenset()) or entry.pod
        self._picture.nominate(pod, "")
        await self._telling.waits(pod, SCHEDULER_ERROR, message, "")

    def _given_back(self, entry: Entry, rejected: frozenset[str]) -> Pod | None:
        """The pod as it is now, back in the queue; None when it is gone or somebody has placed it."""
        now = self._now(entry.pod)
        if now is None or now.node:
            self._waiting.done(entry)
            return None
        self._waiting.failed(entry, now, rejected)
        return now

    def _now(self, pod: Pod) -> Pod | None:
        found = self._pods.objects.get(pod.key)
        return found if found is not None and found.uid == pod.uid else None

    # --- beside the decisions --------------------------------------------------------------------------------------

    def _beside_others(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a bind or a preemption failed inside the stand-in", exc_info=error)

    async def _bind(self, entry: Entry, node: str) -> None:
        pod = entry.pod
        try:
            await self._binding.bind(pod, node)
        except BindFailed as error:
            if self._picture.assumed(pod.uid):
                self._picture.drop_pod(pod.uid)
                self._waiting.hear(News(What.POD_GONE, pod=(None, pod)))
            await self._failed(entry, str(error))
        else:
            self._telling.bound(pod, node)

    async def _make_room(self, pod: Pod, sacrifice: Sacrifice) -> None:
        node = sacrifice.node
        going = True
        try:
            less = [each for each in self._picture.nominees(node) if each.priority < pod.priority]
            await self._telling.unnominate(less)
            for victim in sacrifice.victims.pods:
                if not victim.deleting:
                    going = await self._telling.evict(victim, pod, node) and going
        finally:
            self._waiting.release(pod.uid, again=not going)


def _labels(thing: Object) -> dict[str, str]:
    return loose.text_map(loose.members(thing.get("metadata")).get("labels"))


def _unheard(_change: Change[Budget]) -> None:
    """Budgets are looked up when they are needed."""


def _troubled(sentence: str) -> None:
    _log.info("the stand-in scheduler's copy of the cluster is behind: %s", sentence)
