"""A kubelet without containers: it admits the pods bound to its node one after the other, and runs each to its end.

Admission is one loop for all pods, as in the real one: while a plugin does not answer Allocate, no other new pod of the
node is looked at. What was admitted runs on its own. A kubelet that stops leaves its containers running, and the next
one finds them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Final

from tangram.kube.api import STRATEGIC_PATCH
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.objects import Object
from tangram.kubelet.news import News
from tangram.sandbox.nodes.admitting import Rejected, rejected, unexpected
from tangram.sandbox.nodes.device_manager import NotAllocated
from tangram.sandbox.nodes.pod_resources import PodResources
from tangram.sandbox.nodes.pod_run import DELETE_RETRY_S, PodRun, remove
from tangram.sandbox.nodes.pod_specs import (
    containers_of,
    devices_asked,
    is_leaving,
    is_over,
    kubelet_uid,
    name_of,
    namespace_of,
    path_of,
    uid_of,
)
from tangram.sandbox.nodes.pod_statuses import rejected_status
from tangram.sandbox.nodes.ward import Ward
from tangram.units.ids import PodUid
from tangram.wire import loose

RETRY_S: Final = 1.0
SETTLING_S: Final = 0.6
"""Between the sockets of a restarted kubelet and its first admission: time for plugins to register. Real ones took 0.58
to 0.94 s in 11 restarts."""

_log = logging.getLogger("tangram.sandbox")


class NotReady(Exception):  # noqa: N818 - says what is the case
    """A machine whose agent does not offer its cards; one sentence."""


class Kubelet:
    """`start` and `stop`; `told` with every state of a pod of this node, `lost` when one is gone.

    `room` says what the node can give in all, by resource, and its labels; `woken` is awaited before a pod that asks
    for extended resources is admitted.
    """

    def __init__(
        self,
        ward: Ward,
        resources: PodResources,
        *,
        room: Callable[[], tuple[Mapping[str, int], Mapping[str, str]]],
        woken: Callable[[], Awaitable[None]],
    ) -> None:
        self._ward = ward
        self._resources = resources
        self._room = room
        self._woken = woken
        self._known: dict[PodUid, Object] = {}
        """Every pod of the node, by the UID of its object."""
        self._new: dict[PodUid, None] = {}
        self._admitted: dict[PodUid, PodRun] = {}
        self._entering: Object | None = None
        self._news = News()
        self._tasks: set[asyncio.Task[None]] = set()
        self._leaving: set[PodUid] = set()
        self._orphans: set[PodUid] = set()
        """Pods that went away while there was no kubelet; their containers still run."""
        self._started = False
        self.serving = False
        """Whether its sockets are there."""

    # ---- life

    async def start(self, *, sockets: bool) -> None:
        """Begin, with what is known of the node's pods. A machine that sleeps opens its sockets later."""
        if sockets:
            await self.open_sockets()
        self._new = dict.fromkeys(self._known)
        self._begin(self._admitting(SETTLING_S if sockets else 0.0))
        for uid in self._orphans:
            self._begin(self._end(uid))
        self._orphans.clear()
        self._started = True

    async def open_sockets(self) -> None:
        await self._ward.devices.start()
        await self._resources.start()
        self.serving = True

    async def stop(self) -> None:
        """As if killed: containers go on, nobody is told."""
        self._started = False
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._admitted.clear()
        self._leaving.clear()
        self._entering = None
        if self.serving:
            self.serving = False
            await self._resources.stop()
            await self._ward.devices.stop()

    # ---- news

    def told(self, pod: Object) -> None:
        uid = uid_of(pod)
        fresh = uid not in self._known
        self._known[uid] = pod
        if fresh:
            self._new[uid] = None
            self._news.announce()
        elif uid in self._admitted:
            self._admitted[uid].update(pod)
        elif uid not in self._new and is_leaving(pod):
            self._take_leave(uid)

    def lost(self, pod: Object) -> None:
        uid = uid_of(pod)
        self._known.pop(uid, None)
        self._new.pop(uid, None)
        run = self._admitted.pop(uid, None)
        if run is not None:
            run.lose()
        elif self._started:
            self._begin(self._end(kubelet_uid(pod)))
        else:
            self._orphans.add(kubelet_uid(pod))
        if not any(
            (namespace_of(each), name_of(each)) == (namespace_of(pod), name_of(pod))
            for each in self._known.values()
        ):
            self._ward.logs.forget(namespace_of(pod), name_of(pod))

    def living(self) -> list[Object]:
        """The pods whose units count and that PodResources shows: those that run, and those still to be admitted.

        A kubelet that was just restarted has admitted none yet, and must not take units from any.
        """
        entering = {} if self._entering is None else {uid_of(self._entering): self._entering}
        waiting = {uid: pod for uid in self._new if not is_over(pod := self._known[uid])}
        return [*self._running(), *(waiting | entering).values()]

    def _running(self) -> list[Object]:
        return [run.pod for run in self._admitted.values() if not run.over]

    def sick(self, pod: PodUid) -> None:
        """A unit of the pod changed its health."""
        for run in self._admitted.values():
            if kubelet_uid(run.pod) == pod:
                run.look_again()

    # ---- inside

    async def _admitting(self, pause: float) -> None:
        await asyncio.sleep(pause)
        edition = -1
        while True:
            await self._news.after(edition)
            edition = self._news.edition
            # Those that were found together come in the order of their age.
            for uid in sorted(self._new, key=lambda each: _age(self._known[each])):
                pod = self._known.get(uid)
                if pod is not None and uid in self._new:
                    await self._enter(pod)
                    self._new.pop(uid, None)
                    self._catch_up(uid, pod)

    def _catch_up(self, uid: PodUid, seen: Object) -> None:
        """What was told while the pod was being admitted."""
        pod = self._known.get(uid)
        if pod is not None and pod is not seen:
            self.told(pod)

    async def _enter(self, pod: Object) -> None:
        uid = uid_of(pod)
        if is_over(pod):
            self._ward.containers.recall(pod)
            if is_leaving(pod):
                self._take_leave(uid)
            return
        if is_leaving(pod) and not self._ward.containers.running(kubelet_uid(pod)):
            self._take_leave(uid)
            return
        no = await self._admit(pod)
        if uid not in self._known:
            # Gone while it was admitted.
            return
        if no is not None:
            self._ward.record(pod, no.reason, no.message, warning=True)
            self._begin(self._reject(pod, no))
            return
        self._ward.containers.recall(pod)
        run = PodRun(self._known[uid], self._ward)
        self._admitted[uid] = run
        self._begin(self._run(uid, run))

    async def _admit(self, pod: Object) -> Rejected | None:
        asks = any(count for each in containers_of(pod) for count in devices_asked(each).values())
        if asks:
            try:
                await self._woken()
            except NotReady as error:
                _log.warning("a pod comes to a machine that is not ready: %s", error)
        others = self._running()
        self._entering = pod
        try:
            running = self._ward.containers.running(kubelet_uid(pod))
            await self._ward.devices.admit(pod, running)
            given = self._ward.devices.book.taken() if self._ward.devices.book.has(kubelet_uid(pod)) else {}
            amounts, labels = self._room()
            return rejected(pod, others, amounts, labels, {key: len(units) for key, units in given.items()})
        except NotAllocated as error:
            return unexpected(error)
        finally:
            self._entering = None

    async def _run(self, uid: PodUid, run: PodRun) -> None:
        try:
            await run.run()
        except Exception:  # noqa: BLE001 - one pod must not end a machine
            _log.exception("a pod's life ended in an error", extra={"pod": path_of(run.pod)})
            return
        if uid not in self._known:
            await self._end(kubelet_uid(run.pod))

    async def _end(self, pod: PodUid) -> None:
        """Of a pod that is not there any more."""
        await self._ward.containers.stop(pod)
        self._ward.containers.forget(pod)

    async def _reject(self, pod: Object, no: Rejected) -> None:
        # A pod that ran before its kubelet was restarted may be refused like any other.
        await self._ward.containers.stop(kubelet_uid(pod))
        body: Object = {"metadata": {"uid": uid_of(pod)}, "status": rejected_status(no.reason, no.message)}
        while True:
            try:
                async with self._ward.writing:
                    await self._ward.api.call(
                        "PATCH", f"{path_of(pod)}/status", body, content=STRATEGIC_PATCH
                    )
            except ApiUnreachable:
                await asyncio.sleep(RETRY_S)
            except ApiError as error:
                if not error.may_pass:
                    return
                await asyncio.sleep(RETRY_S)
            else:
                return

    def _take_leave(self, uid: PodUid) -> None:
        """Of a pod that has nothing here any more."""
        if uid not in self._leaving:
            self._leaving.add(uid)
            self._begin(self._remove(uid))

    async def _remove(self, uid: PodUid) -> None:
        pod = self._known.get(uid)
        while pod is not None and not await remove(self._ward, pod):
            await asyncio.sleep(DELETE_RETRY_S)
            pod = self._known.get(uid)
        self._leaving.discard(uid)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _age(pod: Object) -> tuple[str, str, str]:
    made = loose.text(loose.members(pod.get("metadata")).get("creationTimestamp"))
    return made, namespace_of(pod), name_of(pod)
