"""An API server's list of objects with all its history, and every way to tell of it badly.

The history itself is always right: each change has a larger version, each new object a new uid. What goes wrong is the
telling. A `Plan` says how one request is treated; requests without a plan are treated as a good server would.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from typing import Any

import msgspec

Object = dict[str, Any]
BOOKMARK_S = 60.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How one request is treated. All of it at once, where it can."""

    refuse: int = 0
    """Answer with this status instead."""
    retry_after: str = ""
    meddle: tuple[tuple[str, str], ...] = ()
    """Changes by others just before the answer, as (verb, name)."""
    torn: bool = False
    """A page shows the present instead of the moment its list began."""
    delay: float = 0.0
    """Seconds before the answer begins."""
    cut_after: int | None = None
    """The connection breaks after so many bytes."""
    end_after: int | None = None
    """A watch ends in good order after so many events."""
    repeat: bool = False
    """Every event comes twice."""
    stale: int = 0
    """So many events of the past come again before each event, and before the first."""
    swallow: bool = False
    """Every other event is lost on the way."""
    error_event: int = 0
    """A watch ends with an event of this status."""
    half_line: bool = False
    """A watch ends in good order in the middle of a line."""
    crumbs: int = 0
    """The answer comes in pieces of so many bytes."""
    pace: float = 0.0
    """Seconds between two pieces."""


class Cut(Exception):  # noqa: N818 - a part of the play, no error
    """The connection is gone."""


class Refused(Exception):  # noqa: N818 - the same
    def __init__(self, status: int, retry_after: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.retry_after = retry_after

    @property
    def body(self) -> Object:
        reason = {410: "Expired", 429: "TooManyRequests"}.get(self.status, "InternalError")
        return {"kind": "Status", "code": self.status, "reason": reason, "message": "as planned"}


class HostileWorld:
    """The objects of one list. `plans` are taken one per request, in order."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.log: list[tuple[int, str, Object]] = []
        self.version = 0
        self.oldest = 0
        self.plans: deque[Plan] = deque()
        self.asked: list[tuple[float, str]] = []
        self.watching = 0
        self.refuse_watches = False
        self.lossy = False
        self.torn = False
        self._uids = 0
        self._news = asyncio.Event()
        self._cut = asyncio.Event()

    # ---- what others do to the objects

    def change(self, verb: str, name: str) -> None:
        """`put` makes or changes it, `spoil` leaves it unreadable, `remove` ends it, `again` makes another one."""
        match verb:
            case "put" | "spoil":
                self._put(name, spoiled=verb == "spoil")
            case "remove":
                self._remove(name)
            case "again":
                self._remove(name)
                self._put(name)
            case _:
                raise ValueError(verb)

    def decorate(self, thing: Object) -> Object:
        """What else an object says; for those whose objects have content."""
        return thing

    def forget(self) -> None:
        """The server no longer knows its past, and something else in the cluster has changed since."""
        self.version += 1
        self.oldest = self.version

    def restore(self, version: int) -> None:
        """The server is put back to an earlier moment, as from a backup."""
        self.objects = {thing["metadata"]["name"]: thing for thing in self.state_at(version).values()}
        self.log = [entry for entry in self.log if entry[0] <= version]
        self.version = version

    def cut(self) -> None:
        self._cut.set()
        self._cut = asyncio.Event()

    def behave(self) -> None:
        """From now on nothing goes wrong. What was lost on the way is gone, so everybody must list once."""
        self.plans.clear()
        self.torn = False
        if self.lossy:
            self.forget()
            self.lossy = False
        self.cut()

    def state_at(self, version: int) -> dict[str, Object]:
        state: dict[str, Object] = {}
        for number, kind, thing in self.log:
            if number <= version:
                name = thing["metadata"]["name"]
                if kind == "DELETED":
                    state.pop(name, None)
                else:
                    state[name] = thing
        return state

    # ---- what a client hears

    async def list_chunks(self, query: Mapping[str, str]) -> AsyncGenerator[bytes]:
        """The bytes of one page; the first, empty piece says that the answer begins. Raises `Cut` and `Refused`."""
        plan = await self._begin("list")
        token = query.get("continue", "")
        version, last = (int(token.split(":")[0]), token.split(":")[1]) if token else (self.version, "")
        if version < self.oldest and token:
            raise Refused(410)
        if plan.torn and version < self.version:
            self.torn = True
            version = self.version
        state = self.state_at(version)
        names = [name for name in sorted(state) if name > last]
        page = names[: int(query.get("limit", "500"))]
        metadata = {"resourceVersion": str(version)}
        if len(page) < len(names):
            metadata["continue"] = f"{version}:{page[-1]}"
        yield b""
        body = {"metadata": metadata, "items": [state[name] for name in page]}
        async for chunk in damaged(_one(json.dumps(body).encode()), plan):
            yield chunk

    async def watch_chunks(self, query: Mapping[str, str]) -> AsyncGenerator[bytes]:
        """The bytes of a watch; the first, empty piece says that it is open. Raises `Cut` and `Refused`."""
        plan = await self._begin("watch")
        if self.refuse_watches:
            raise Refused(503)
        since = int(query["resourceVersion"])
        if since < self.oldest:
            raise Refused(410)
        yield b""
        self.watching += 1
        try:
            async for chunk in damaged(self._lines(since, plan), plan):
                yield chunk
        finally:
            self.watching -= 1

    async def _begin(self, verb: str) -> Plan:
        self.asked.append((asyncio.get_running_loop().time(), verb))
        plan = self.plans.popleft() if self.plans else Plan()
        for what, name in plan.meddle:
            self.change(what, name)
        if plan.delay:
            await asyncio.sleep(plan.delay)
        if plan.refuse:
            raise Refused(plan.refuse, plan.retry_after)
        return plan

    async def _lines(self, since: int, plan: Plan) -> AsyncGenerator[bytes]:
        cut = self._cut
        sent = 0
        for line in self._past(since, plan.stale):
            yield line
        while not cut.is_set():
            news = self._news
            for number, kind, thing in list(self.log):
                if number <= since:
                    continue
                since = number
                if plan.swallow and number % 2:
                    self.lossy = True
                    continue
                for line in (*self._past(number, plan.stale), *[_line(kind, thing)] * (1 + plan.repeat)):
                    yield line
                sent += 1
                if plan.end_after is not None and sent >= plan.end_after:
                    break
            else:
                if plan.end_after is None or sent < plan.end_after:
                    quiet = not await _either(news, cut)
                    if quiet and not cut.is_set() and self.version >= since:
                        since = self.version
                        yield _line("BOOKMARK", {"metadata": {"resourceVersion": str(since)}})
                    continue
            if plan.error_event:
                yield _line("ERROR", Refused(plan.error_event).body)
            if plan.half_line:
                yield _line("MODIFIED", {"metadata": {"name": "half"}})[:-9]
            return
        raise Cut

    def _past(self, before: int, how_many: int) -> list[bytes]:
        earlier = [entry for entry in self.log if entry[0] <= before]
        again = [_line(kind, thing) for _, kind, thing in earlier[-how_many - 1 : -1]] if how_many else []
        return again + [_line("BOOKMARK", {"metadata": {"resourceVersion": "1"}})] * bool(again)

    def _put(self, name: str, *, spoiled: bool = False) -> None:
        present = self.objects.get(name)
        if present is None:
            self._uids += 1
        uid = f"u{self._uids}" if present is None else present["metadata"]["uid"]
        self._log("ADDED" if present is None else "MODIFIED", name, uid, spoiled=spoiled)

    def _remove(self, name: str) -> None:
        if name in self.objects:
            gone = self.objects[name]
            self._log("DELETED", name, gone["metadata"]["uid"], spoiled=False)
            del self.objects[name]

    def _log(self, kind: str, name: str, uid: str, *, spoiled: bool) -> None:
        self.version += 1
        metadata = {"name": name, "namespace": "n", "uid": uid, "resourceVersion": str(self.version)}
        thing = self.decorate({"metadata": metadata, "spoiled": spoiled})
        self.objects[name] = thing
        self.log.append((self.version, kind, thing))
        self._news.set()
        self._news = asyncio.Event()


async def damaged(lines: AsyncIterable[bytes], plan: Plan) -> AsyncGenerator[bytes]:
    """What is left of an answer: in pieces, slowly, and not to the end. Raises `Cut`."""
    left = plan.cut_after
    async for line in lines:
        size = plan.crumbs or len(line)
        for start in range(0, len(line), size):
            piece = line[start : start + size]
            if left is not None:
                piece, left = piece[:left], left - len(piece)
            if plan.pace:
                await asyncio.sleep(plan.pace)
            if piece:
                yield piece
            if left is not None and left < 0:
                raise Cut


async def _one(body: bytes) -> AsyncGenerator[bytes]:
    yield body


def _line(kind: str, thing: Object) -> bytes:
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


async def _either(*events: asyncio.Event) -> bool:
    """Whether one of them came before it was time for a bookmark."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=BOOKMARK_S)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    return bool(done)
