"""Copies of objects as an informer keeps them: listed, then watched, and as late as a test wants them to be."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from testbed.api import ApiRefused, Object

Heard = Callable[[Object | None, Object | None], None]
"""Told of every change with the object before and after it; None for one that was or is not there."""


class Server(Protocol):
    """The part of `testbed.api.Api` that Koordinator's programs need."""

    async def call(
        self, method: str, path: str, body: object = None, *, content: str = ..., **query: str
    ) -> Object: ...

    async def get(self, path: str, **query: str) -> Object: ...

    async def patch(self, path: str, change: object, *, content: str = ..., **query: str) -> Object: ...

    def watch(self, path: str, **query: str) -> AsyncIterator[tuple[str, Object]]: ...


def key_of(thing: Object) -> tuple[str, str]:
    """Namespace and name; Koordinator goes by no other identity."""
    return thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


class Copies:
    """All objects of one kind. `run` until cancelled; `lag` is how much later than the server they are."""

    def __init__(
        self,
        server: Server,
        path: str,
        heard: Heard,
        lag: Callable[[], float] = lambda: 0.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._server = server
        self._path = path
        self._heard = heard
        self._lag = lag
        self._sleep = sleep
        self._held: dict[tuple[str, str], Object] = {}
        self._listed = asyncio.Event()

    @property
    def all(self) -> list[Object]:
        return list(self._held.values())

    def get(self, namespace: str, name: str) -> Object | None:
        return self._held.get((namespace, name))

    async def until_listed(self) -> None:
        await self._listed.wait()

    async def run(self) -> None:
        while True:
            try:
                await self._list_and_watch()
            except (OSError, ApiRefused):
                # Gone for the moment, or a kind that nobody serves yet.
                await self._sleep(0.2)

    async def _list_and_watch(self) -> None:
        listed = await self._server.get(self._path)
        now = {key_of(each): each for each in listed["items"]}
        for key in [key for key in self._held if key not in now]:
            self._take(key, None)
        for key, thing in now.items():
            self._take(key, thing)
        self._listed.set()
        since = listed["metadata"]["resourceVersion"]
        loop = asyncio.get_running_loop()
        late: asyncio.Queue[tuple[float, str, Object]] = asyncio.Queue()
        hearing = asyncio.create_task(self._hear(late), name=f"hear of {self._path}")
        try:
            async for kind, thing in self._server.watch(self._path, resourceVersion=since):
                late.put_nowait((loop.time() + self._lag(), kind, thing))
            await late.join()
        finally:
            hearing.cancel()

    async def _hear(self, late: asyncio.Queue[tuple[float, str, Object]]) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, kind, thing = await late.get()
            if due > loop.time():
                await self._sleep(due - loop.time())
            if kind in {"ADDED", "MODIFIED", "DELETED"}:
                self._take(key_of(thing), None if kind == "DELETED" else thing)
            late.task_done()

    def _take(self, key: tuple[str, str], after: Object | None) -> None:
        before = self._held.pop(key, None)
        if after is not None:
            self._held[key] = after
        if before is not None or after is not None:
            self._heard(before, after)
