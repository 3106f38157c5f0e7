"""A scripted koord-scheduler: places pods that name it as the real one does, weaknesses included.

Pods are chosen for one after the other from copies that may be late, and bound beside each other. Between choosing and
binding nothing is read again; the node lock is looked up in a late copy, written without any condition and never given
back, not even by a bind that failed. `Windows` makes the gaps as wide as a test wants them. Gangs, quotas, reservations
and preemption are left out.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from testbed.api import ApiRefused, Object, path_of
from testbed.changes import cut_off
from testbed.koord_adapters import LOCK, METAX, BindError, annotations_for, lock_over
from testbed.koord_copies import Copies, Server, key_of
from testbed.koord_devices import VENDOR, Given
from testbed.koord_queue import WaitingPods
from testbed.koord_requests import SCHEDULER, Unschedulable
from testbed.koord_state import Beliefs, Chosen, Key
from testbed.manifests import binding, is_bound, is_over

DEVICES: Final = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"


@dataclass
class Windows:
    """Gaps in seconds, each drawn anew between nothing and this. Copies are late by exactly `news`."""

    news: float = 0.0
    before_lock: float = 0.0
    before_annotations: float = 0.0
    before_bind: float = 0.0
    backoff: tuple[float, float] = (1.0, 10.0)
    """How long a pod waits after a failure, at first and at most."""
    chance: random.Random = field(default_factory=lambda: random.Random(9))  # noqa: S311 - spreads load

    async def wait(self, most: float) -> None:
        if most:
            await asyncio.sleep(self.chance.uniform(0, most))


class LockWritten(NamedTuple):
    """A lock as it was written. `over` is what the late copy of the node said was there."""

    node: str
    lock: str
    over: str | None


@dataclass
class KoordScheduler:
    """`serve` lets it work; the lists tell what it went through."""

    server: Server
    windows: Windows = field(default_factory=Windows)
    now: Callable[[], float] = time.time
    locks: list[LockWritten] = field(default_factory=list[LockWritten])
    failures: list[tuple[Key, str]] = field(default_factory=list[tuple[Key, str]])
    bound: list[tuple[Key, Chosen]] = field(default_factory=list[tuple[Key, Chosen]])
    beliefs: Beliefs = field(default_factory=Beliefs)

    def __post_init__(self) -> None:
        def late() -> float:
            return self.windows.news

        self.nodes = Copies(self.server, path_of("Node"), self._hear_node, late)
        self.pods = Copies(self.server, path_of("Pod", namespace=""), self._hear_pod, late)
        self.devices = Copies(self.server, DEVICES, self._hear_device, late)
        self.waiting = WaitingPods(self.windows.backoff)
        self._binding: dict[Key, asyncio.Task[None]] = {}
        self._mutexes: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator["KoordScheduler"]:
        """Schedule until the block ends; what it died of is raised there."""
        async with AsyncExitStack() as stack:
            for copies in (self.devices, self.nodes, self.pods):
                stack.push_async_callback(cut_off, asyncio.create_task(copies.run()))
            # Nobody is placed before the pods that are there are counted. Devices come whenever their kind is served.
            await self.nodes.until_listed()
            await self.pods.until_listed()
            stack.push_async_callback(self._end_binds)
            stack.push_async_callback(cut_off, asyncio.create_task(self._run()))
            yield self

    async def _end_binds(self) -> None:
        for task in list(self._binding.values()):
            await cut_off(task)

    # ---- what is heard

    def _hear_device(self, before: Object | None, after: Object | None) -> None:
        self.beliefs.device(before, after)
        self.waiting.something_changed()

    def _hear_node(self, before: Object | None, after: Object | None) -> None:
        if after is None and before is not None:
            self.beliefs.node_gone(before["metadata"]["name"])
        if before is None or after is None or _offer(before) != _offer(after):
            self.waiting.something_changed()

    def _hear_pod(self, before: Object | None, after: Object | None) -> None:
        self.beliefs.pod(before, after)
        if before is not None and (after is None or is_over(after)):
            self.waiting.drop(key_of(before))
            self.waiting.something_changed()
        elif after is not None and not _is_ours(after):
            self.waiting.drop(key_of(after))
        elif after is not None and before is None:
            self.waiting.add(key_of(after))

    # ---- choosing, one pod at a time

    async def _run(self) -> None:
        while True:
            key = await self.waiting.next()
            pod = self.pods.get(*key)
            if pod is None or key in self._binding or not _is_ours(pod):
                continue
            try:
                chosen = self.beliefs.place(pod, self.nodes.all)
            except Unschedulable as error:
                self.waiting.fits_nowhere(key, str(error))
                await self._say(pod, "Unschedulable", str(error))
                continue
            self.beliefs.assume(pod, chosen)
            self._binding[key] = asyncio.create_task(self._bind(pod, chosen), name=f"koord binds {key[1]}")

    # ---- binding, beside each other

    async def _bind(self, pod: Object, chosen: Chosen) -> None:
        key = key_of(pod)
        try:
            await self.windows.wait(self.windows.before_lock)
            annotations = await self._prepare(pod, chosen)
            await self.windows.wait(self.windows.before_annotations)
            if annotations:
                change = {"metadata": {"annotations": annotations}}
                await self.server.patch(_path(pod), change, content=STRATEGIC_PATCH)
            await self.windows.wait(self.windows.before_bind)
            body = binding(key[1], chosen.node, uid=pod["metadata"]["uid"])
            await self.server.call("POST", _path(pod) + "/binding", body)
        except (BindError, ApiRefused) as error:
            # The lock, if it was written, stays.
            self.beliefs.forget(key, chosen.node)
            self.failures.append((key, str(error)))
            await self._say(pod, "SchedulerError", str(error))
            self.waiting.try_later(key)
        else:
            self.bound.append((key, chosen))
        finally:
            del self._binding[key]

    async def _prepare(self, pod: Object, chosen: Chosen) -> dict[str, str]:
        """PreBind: what goes on the pod, after the lock went on the node."""
        if not chosen.given:
            return {}
        device = self.devices.get("", chosen.node)
        if device is None:
            raise BindError(f'device.scheduling.koordinator.sh "{chosen.node}" not found')
        ids = {card["minor"]: card["id"] for card in device["spec"]["devices"] if card["type"] == "gpu"}
        given = [Given(each.minor, each.amounts, ids.get(each.minor, "")) for each in chosen.given]
        vendor = device["metadata"].get("labels", {}).get(VENDOR, "")
        annotations = annotations_for(vendor, given, int(self.now() * 1e9))
        if vendor == METAX:
            async with self._mutexes.setdefault(chosen.node, asyncio.Lock()):
                await self._lock(pod, chosen.node)
        return annotations

    async def _lock(self, pod: Object, node: str) -> None:
        seen = self.nodes.get("", node)
        if seen is None:
            raise BindError(f'node "{node}" not found')
        present = seen["metadata"].get("annotations", {}).get(LOCK)
        lock = lock_over(
            present, pod, node, self.now(), lambda namespace, name: self.pods.get(namespace, name) is not None
        )
        change = {"metadata": {"annotations": {LOCK: lock}}}
        await self.server.patch(path_of("Node", node), change, content=STRATEGIC_PATCH)
        self.locks.append(LockWritten(node, lock, present))

    async def _say(self, pod: Object, reason: str, message: str) -> None:
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        change = {"status": {"conditions": [condition]}}
        try:
            await self.server.patch(_path(pod) + "/status", change, content=STRATEGIC_PATCH)
        except ApiRefused:
            # Gone meanwhile, which is heard of in time.
            return


def _path(pod: Object) -> str:
    return path_of("Pod", pod["metadata"]["name"], namespace=pod["metadata"]["namespace"])


def _is_ours(pod: Object) -> bool:
    """Ours to place: unbound, alive, and asking for us by name."""
    return (
        pod["spec"].get("schedulerName") == SCHEDULER
        and not is_bound(pod)
        and not is_over(pod)
        and "deletionTimestamp" not in pod["metadata"]
    )


def _offer(node: Object) -> object:
    """The parts of a node that may let a pod in; a lock or a heartbeat does not."""
    labels = node["metadata"].get("labels", {})
    return labels, node["spec"], node["status"].get("allocatable", {})
