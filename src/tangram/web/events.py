"""What browsers are told while they show a page: that it would look different now.

One loop looks for all of them, a few times a second at most and only when something changed; what several viewers with
the same sight are told is made once. A browser that does not read is left behind, never waited for. Whose rights were
taken away is told nothing more: they are looked at again while a stream is open.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import web

from tangram.web.known import Known, NotKnown
from tangram.web.page import Asked, Viewer
from tangram.web.pages.all import Page
from tangram.web.receiving import NotSignedIn
from tangram.web.sight import Sight

MOST_STREAMS: Final = 200
MOST_OF_ONE: Final = 32
"""Of one person: otherwise one of them could keep everybody else from following anything."""
TOGETHER_S: Final = 0.3
"""Changes that come within this time are told together."""
PAGES_S: Final = 0.6
"""And pages are made again no more often than this, for all who show one at once."""
LOOK_S: Final = 1.0
"""How often it is looked whether anybody went away, or the picture went stale."""
HEARTBEAT_S: Final = 15.0
WRITE_LIMIT_S: Final = 10.0
MOST_UNREAD: Final = 64
"""Messages that may wait for one browser."""
RETRY_MS: Final = 2000

_ANOTHER: Final = "another moment than any"

_log = logging.getLogger(__name__)

LooksAgain = Callable[[], Awaitable[Viewer]]


class Stream:
    """One browser that shows one page."""

    def __init__(self, request: web.Request, page: Page, asked: Asked) -> None:
        self.request: Final = request
        self.page: Final = page
        self.asked = asked
        self.seen: Hashable = None
        self.version = 0
        self.over = ""
        self.missed = False
        """Something could not be told."""
        self._unread: list[bytes] = []
        self._news = asyncio.Event()

    @property
    def gone(self) -> bool:
        transport = self.request.transport
        return transport is None or transport.is_closing()

    def tell(self, message: bytes) -> None:
        if len(self._unread) >= MOST_UNREAD:
            self.end("it does not read what it is told")
        elif message not in self._unread:
            self._unread.append(message)
            self._news.set()

    def end(self, why: str) -> None:
        self.over = self.over or why
        self._news.set()

    def forget(self) -> None:
        """What was not written yet was made for a sight that the viewer has no longer."""
        self._unread.clear()

    async def next(self, limit: float) -> bytes:
        """What is to be written now; nothing when there was nothing for so long."""
        try:
            async with asyncio.timeout(limit):
                await self._news.wait()
        except TimeoutError:
            return b""
        self._news.clear()
        told, self._unread = b"".join(self._unread), []
        return told


class Hub:
    """`run` is to be run while there are streams to follow."""

    def __init__(self, known: Known, clock: Callable[[], float] = time.time) -> None:
        self._known = known
        self._clock = clock
        self._boot: Final = secrets.token_hex(4)
        self._streams: set[Stream] = set()
        self._changed = asyncio.Event()
        self._looked_at: Hashable = None
        self._ended = False
        known.picture.listeners.append(lambda _change: self._changed.set())

    def __len__(self) -> int:
        return len(self._streams)

    def stamp(self) -> str:
        """The moment of the picture, for a page to say later what it has seen."""
        return f"{self._boot}.{self._known.picture.version}"

    async def close(self) -> None:
        """End every stream; their browsers come back when there is somebody to come back to."""
        self._ended = True
        for stream in list(self._streams):
            stream.end("the dashboard ends")

    async def run(self) -> None:
        """Look for ever."""
        told = float("-inf")
        while True:
            with suppress(TimeoutError):
                # While nobody looks there is nothing to look for.
                async with asyncio.timeout(LOOK_S if self._streams else None):
                    await self._changed.wait()
            self._changed.clear()
            if self._streams:
                now = asyncio.get_running_loop().time()
                due = now - told >= PAGES_S
                if self.look(pages=due):
                    told = now
                elif not due:
                    # Whatever is not told now is told next time.
                    self._changed.set()
            await asyncio.sleep(TOGETHER_S)

    def look(self, *, pages: bool = True) -> bool:
        """Tell everybody whose page would look different now; without `pages` only of tiles.

        Whether a page was to be made again: that costs more than anything else here, and is the cheaper the more
        browsers ask for the same at once.
        """
        anything = False
        now = self._clock()
        moments: dict[Hashable, Hashable] = {}
        tiles: dict[tuple[Sight, int], bytes] = {}
        for stream in list(self._streams):
            if stream.gone:
                stream.end("the browser went away")
                continue
            try:
                self._tell_tiles(stream, tiles)
                anything = (pages and self._look_for(stream, now, moments)) or anything
            except Exception:  # noqa: BLE001 - one page's fault is no other page's
                _log.exception("a page that somebody shows could not be looked at: %s", stream.page.path)
                stream.end("it could not be looked at")
        return anything

    def _tell_tiles(self, stream: Stream, tiles: dict[tuple[Sight, int], bytes]) -> None:
        version, sight = self._known.picture.version, stream.asked.viewer.sight
        if stream.page.tiles is not None and version != stream.version:
            key = sight, stream.version
            if key not in tiles:
                changed = stream.page.tiles(sight, self._known, stream.version)
                tiles[key] = self._event("tiles", changed) if changed else b""
            # Before anything else of the same version: who says later that it heard of that version has the tiles.
            if tiles[key]:
                stream.tell(tiles[key])
        stream.version = version

    def _look_for(self, stream: Stream, now: float, moments: dict[Hashable, Hashable]) -> bool:
        moment = self._seen_now(stream, now, moments)
        changed = stream.seen is not None and moment != stream.seen
        if changed:
            stream.tell(self._event("changed", b""))
        stream.seen = moment
        return changed

    def _seen_now(self, stream: Stream, now: float, moments: dict[Hashable, Hashable]) -> Hashable:
        picture = self._known.picture
        return picture.stale(now), picture.trouble, self._moment(stream, now, moments)

    def _moment(self, stream: Stream, now: float, moments: dict[Hashable, Hashable]) -> Hashable:
        asked = stream.asked
        if stream.page.moment is None:
            return None
        key = asked.path, tuple(asked.query.items()), asked.viewer.sight, asked.viewer.user
        if key not in moments:
            moments[key] = stream.page.moment(msgspec.structs.replace(asked, now=now), self._known)
        return moments[key]

    def _event(self, name: str, data: bytes) -> bytes:
        """As a browser reads it. JSON of one line needs no care; anything else would end the event early."""
        line = data.replace(b"\n", b" ").replace(b"\r", b" ") or b"{}"
        return b"id: %b\nevent: %b\ndata: %b\n\n" % (self.stamp().encode(), name.encode(), line)

    # --- one browser ---------------------------------------------------------------------------------------------

    async def follow(
        self, request: web.Request, page: Page, asked: Asked, again: LooksAgain
    ) -> web.StreamResponse:
        """Tell one browser for as long as it listens. Raises `NotKnown` when there are too many."""
        if self._ended or len(self._streams) >= MOST_STREAMS:
            raise NotKnown(
                "too-many",
                f"{MOST_STREAMS} pages are being followed already, which is the most; close one, or reload by hand.",
            )
        whose = asked.viewer.user.name
        if sum(each.asked.viewer.user.name == whose for each in self._streams) >= MOST_OF_ONE:
            raise NotKnown(
                "too-many-of-one",
                f"you follow {MOST_OF_ONE} pages already, which is the most; close one, or reload by hand.",
                429,
            )
        stream = Stream(request, page, asked)
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "X-Accel-Buffering": "no",
                "Cache-Control": "no-store",
            }
        )
        self._streams.add(stream)
        try:
            self._begin(stream)
            await response.prepare(request)
            await self._write(response, b"retry: %d\n\n" % RETRY_MS)
            await self._tell(stream, response, again)
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("the browser does not listen any more") from None
        finally:
            self._streams.discard(stream)
        return response

    def _begin(self, stream: Stream) -> None:
        """From what the browser has seen on; where that is not known, from the beginning."""
        seen = stream.request.headers.get("Last-Event-ID") or stream.request.query.get("since", "")
        boot, _dot, number = seen.partition(".")
        picture = self._known.picture
        stream.version = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else 0
        missed = bool(seen) and (boot != self._boot or stream.version > picture.version)
        if missed:
            stream.tell(self._event("again", b""))
        if missed or not seen:
            stream.version = picture.version
        elif stream.version != picture.version and stream.page.tiles is None:
            stream.tell(self._event("changed", b""))
            stream.version = picture.version
        elif stream.version != picture.version:
            # The first look tells the tiles, and then that the rest of the page may be another too.
            stream.seen = _ANOTHER
        if stream.seen is None:
            # Not at the next look: what changes before it would be taken for what the browser shows already.
            with suppress(Exception):  # The next look comes upon the same fault, and says so.
                stream.seen = self._seen_now(stream, self._clock(), {})
        self._changed.set()

    async def _tell(self, stream: Stream, response: web.StreamResponse, again: LooksAgain) -> None:
        while not stream.over:
            message = await stream.next(HEARTBEAT_S)
            if stream.gone:
                raise ConnectionResetError("the browser went away")
            if not stream.over:
                message = await self._allowed(stream, message, again)
            await self._write(response, message or b": still here\n\n")

    async def _allowed(self, stream: Stream, message: bytes, again: LooksAgain) -> bytes:
        """What of a message the viewer may still be told. Whoever remembers rights answers this for nothing."""
        asked = stream.asked
        try:
            viewer = await again()
        except NotKnown as unknown:
            if unknown.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                # Nobody knows their rights now, so nothing is told; the page is made anew once somebody does.
                stream.missed = stream.missed or bool(message)
                return b""
            stream.end("the viewer is refused")
            return self._event("ended", b"")
        except NotSignedIn:
            stream.end("the viewer is not signed in any more")
            return self._event("ended", b"")
        if (
            viewer.sight == asked.viewer.sight
            and viewer.may_act == asked.viewer.may_act
            and not stream.missed
        ):
            return message
        stream.missed = False
        # Also what came while the rights were being asked for.
        stream.forget()
        stream.asked = msgspec.structs.replace(asked, viewer=viewer)
        return self._event("again", b"")

    async def _write(self, response: web.StreamResponse, message: bytes) -> None:
        async with asyncio.timeout(WRITE_LIMIT_S):
            await response.write(message)
