"""The node lock of closed device plugins, taken for a pod and given back if its bind fails.

A closed plugin finds its pod by the lock, so on such a node one pod is bound at a time, and the plugin takes the lock
away once it has served it. The lock names its holder by namespace and name; whose it really is stands beside it as a
UID, so that a pod never waits for the lock of its own predecessor, nor takes that of a namesake for its own.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from tangram.kube.api import Api, Object
from tangram.kube.errors import CONFLICT, ApiError, ApiUnreachable
from tangram.model.pods import PodRef
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.nodelock import NODE_LOCK, OWNER, NodeLock, owner_of, owner_text, parse_lock

TRY_EVERY_S: Final = 0.1

Waits = Callable[[str, str, str, NodeName], bool]
"""Whether a pod of that namespace, name and UID (any, when empty) may still need the plugin of that node: one that has
ended, is gone or was bound to another node does not."""


class LockContentionError(Exception):
    """Somebody else's pod is being served on the node. Its text is HAMi's."""


class NodeLocks:
    def __init__(
        self,
        api: Api,
        waits: Waits,
        *,
        lasts: float = 300.0,
        patience: float = 20.0,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        wrote: Callable[[], None] = lambda: None,
    ) -> None:
        self._api = api
        self._waits = waits
        self.lasts = lasts
        self.patience = patience
        self._now = now
        self._sleep = sleep
        self._wrote = wrote
        self._turns: defaultdict[NodeName, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Of all that wait for one node, the first asks for it: a peer may keep its lock for minutes."""

    async def take(self, node: NodeName, pod: PodRef, value: str) -> None:
        """Wait for the lock and take it. Raises `LockContentionError`, `ApiError` or `ApiUnreachable`."""
        ends, turn = self._now() + self.patience, self._turns[node]
        try:
            async with asyncio.timeout(self.patience):
                await turn.acquire()
        except TimeoutError:
            raise self._contention(node) from None
        try:
            for _ in range(max(1, int(self.patience / TRY_EVERY_S))):
                if await self._try(node, pod, value):
                    return
                # Whoever asked for the bind gives up after a while, however long the answers took.
                if self._now() >= ends:
                    break
                await self._sleep(TRY_EVERY_S)
        finally:
            turn.release()
        raise self._contention(node)

    def _contention(self, node: NodeName) -> LockContentionError:
        return LockContentionError(
            f"node {node} has been locked within {_spoken(self.lasts)}: node lock contention"
        )

    async def release(self, node: NodeName, pod: PodRef) -> None:
        """Give the lock back if it is this pod's; quiet if not, or if nobody can be asked: it ends by itself."""
        for _ in range(5):
            with suppress(ApiUnreachable):
                found = await self._read(node)
                annotations = _annotations(found)
                if owner_of(annotations) != pod.uid:
                    return
                try:
                    await self._write(node, found, None, None)
                except ApiError as error:
                    if error.status == CONFLICT:
                        continue
                return

    async def _try(self, node: NodeName, pod: PodRef, value: str) -> bool:
        found = await self._read(node)
        annotations = _annotations(found)
        present = annotations.get(NODE_LOCK)
        if present is not None and self._is_held(present, owner_of(annotations) or "", pod, node):
            return False
        try:
            await self._write(node, found, value, owner_text(pod.uid, value))
        except ApiError as error:
            if error.status != CONFLICT:
                raise
            return False
        return True

    def _is_held(self, present: str, owner: str, pod: PodRef, node: NodeName) -> bool:
        """Whether the lock keeps this pod out. One that cannot be read, or is too old, keeps nobody out."""
        if owner == pod.uid:
            return False
        try:
            lock: NodeLock = parse_lock(present)
        except WireError:
            return False
        if self._now() - lock.taken_at > self.lasts:
            return False
        if lock.holder is None:
            return True
        if (lock.holder.namespace, lock.holder.name) == (pod.namespace, pod.name) and not owner:
            # HAMi's rule for its own locks, which say no more than the name.
            return False
        return self._waits(str(lock.holder.namespace), str(lock.holder.name), owner, node)

    async def _read(self, node: NodeName) -> Object:
        return await self._api.get(f"/api/v1/nodes/{node}")

    async def _write(self, node: NodeName, found: Object, value: str | None, owner: str | None) -> None:
        version = loose.text(loose.members(found.get("metadata")).get("resourceVersion"))
        change = {"metadata": {"resourceVersion": version, "annotations": {NODE_LOCK: value, OWNER: owner}}}
        self._wrote()
        await self._api.merge(f"/api/v1/nodes/{node}", change)


def _annotations(node: Object) -> dict[str, str]:
    return loose.text_map(loose.members(node.get("metadata")).get("annotations"))


def _spoken(seconds: float) -> str:
    """As Go prints a duration."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
