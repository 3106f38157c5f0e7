"""A local copy of a list of objects, kept true by list and watch.

It promises three things. Changes of one object arrive in the order the server made them. After any gap (a lost
connection, a watch the server has forgotten) the copy goes on where it stopped or is compared with a full list, so
nothing is missed and nothing deleted stays. And it never gives up: the server may be away for hours, the copy is then
merely old, and `fresh` and `stale_for` say so.

It keeps of each object only what `keep` makes of it, because a cluster's pods are too much to hold whole. It does not
list again by the clock: a server's watch loses nothing, and what a broken proxy swallowed is found at the next list.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Final, Generic

from tangram.kube.api import Api, Object
from tangram.kube.backoff import Backoff
from tangram.kube.errors import GONE, ApiError, ApiSilent, ApiUnreachable
from tangram.kube.objects import Key
from tangram.kube.replica import Change, Kept, Listing, Replica

__all__ = ["Change", "Informer", "Kept", "Key", "whole"]

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 5.0
"""A copy must not stay old for long after the server is back. One that is overloaded asks for more by Retry-After."""
PAGE: Final = 500
PART: Final = 50
PAGE_LIMIT_S: Final = 60.0
PATIENCE: Final = 5
"""Watches in a row that brought nothing and ended at once, until a list is asked for instead."""
BACKLOG_S: Final = 1.0
"""What a server has saved up for a watch comes in its first moments; what comes later has just happened."""
WATCH_S: Final = 300
"""The server ends a watch after about so long; we vary it, so that a fleet of agents does not come back at once."""


def whole(thing: Object) -> Object:
    """Keep objects as they are; for lists of a few."""
    return thing


def unsigned(thing: Object) -> Object:
    """Keep objects without the notes of who wrote which field, which are often the larger half of them."""
    metadata = {key: value for key, value in thing["metadata"].items() if key != "managedFields"}
    return {**thing, "metadata": metadata}


def _parts(page: Object) -> Iterator[Object]:
    """A page in pieces that take a few milliseconds each to read."""
    items: list[Object] = page.get("items") or []
    for first in range(0, max(len(items), 1), PART):
        yield {**page, "items": items[first : first + PART]}


class Informer(Generic[Kept]):
    """`run()` until cancelled; `objects` is the copy, `synced` is set after the first full list.

    `told` hears of every change, also when what is kept did not change by it. Should it raise, `run` ends with that.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        told: Callable[[Change[Kept]], None],
        *,
        keep: Callable[[Object], Kept],
        query: Mapping[str, str] | None = None,
        troubled: Callable[[str], None] = lambda _sentence: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._path = path
        self._query = dict(query or {})
        self._troubled = troubled
        self._clock = clock
        self._replica: Final = Replica(keep, told, troubled)
        self.objects: Final[Mapping[Key, Kept]] = self._replica.objects
        self.unread: Final[Mapping[Key, str]] = self._replica.unread
        """Objects that `keep` could not take, with the reason; `objects` has their last good state, or nothing."""
        self.synced: Final = asyncio.Event()
        self.fresh = False
        """Whether the copy follows the server right now; false from the first failure until it follows again."""
        self._listed = False
        self._gained = False
        self._following = False
        self._opened_at = self._followed = float("-inf")

    @property
    def version(self) -> str:
        """The moment of the server's history that the copy has reached; empty before the first list."""
        return self._replica.version

    def stale_for(self, now: float) -> float:
        """Seconds since the copy last followed the server, by the clock given: 0 while it does, endless before."""
        return 0.0 if self._following else max(0.0, now - self._followed)

    def happened_after(self, now: float) -> float:
        """For `told`: a moment after which the change it hears of was made. Usually now, earlier after a gap."""
        lively = self._following and now - self._opened_at > BACKLOG_S
        return now if lively else self._followed

    async def run(self) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        barren = 0
        while True:
            pause = False
            asked: float | None = None
            self._gained = False
            try:
                if not self._listed:
                    await self._list()
                await self._follow()
            except ApiError as error:
                self.fresh = False
                # Overload passes, and a new list would add to it. Any other refusal may be about where we stopped.
                self._listed = self._listed and error.may_pass
                if error.status != GONE:
                    self._troubled(str(error))
                    pause, asked = True, error.retry_after
            except ApiUnreachable as error:
                self.fresh = False
                silent = isinstance(error, ApiSilent)
                # No bookmark for so long: perhaps its history is not the one we know, as after a restored backup. Or
                # nothing of the kind has changed since it began, in which case it sends none; so nobody is told.
                self._listed = self._listed and not silent
                if not silent:
                    self._troubled(str(error))
                pause = True
            if self._gained:
                barren = 0
                backoff.reset()
            else:
                barren += 1
                # Where no watch holds, lists every few seconds are the next best thing.
                self._listed = self._listed and barren < PATIENCE
            # One watch may end at once and bring nothing; asking on and on at once would only make it worse.
            if pause or barren > 1:
                await asyncio.sleep(backoff.pause(asked))

    async def _list(self) -> None:
        listing = Listing[Kept]()
        began = self._clock()
        async with aclosing(self._api.pages(self._path, self._query, PAGE, limit=PAGE_LIMIT_S)) as pages:
            async for page in pages:
                for part in _parts(page):
                    self._replica.take_page(listing, part)
                    # Whoever else has something to do has a turn, and the next page is asked for meanwhile.
                    await asyncio.sleep(0)
        self._replica.replace(listing)
        self._listed = self.fresh = True
        self._followed = began
        self.synced.set()

    async def _follow(self) -> None:
        """Watch from the moment reached until the server ends the watch, in good order or not."""
        seconds = str(int(WATCH_S * random.uniform(0.8, 1.2)))  # noqa: S311 - spreads load, guards nothing
        query = self._query | {"resourceVersion": self.version, "timeoutSeconds": seconds}
        began, reached, heard = self._clock(), self.version, float("-inf")
        try:
            async with aclosing(self._api.watch(self._path, query, self._opened)) as events:
                async for kind, thing in events:
                    heard = self._clock()
                    self._replica.take_event(kind, thing)
        except ApiSilent:
            if self._following:
                self._following, self._followed = False, max(heard, self._opened_at)
            raise
        finally:
            self._gained = self.version != reached or self._clock() - began > LONGEST_PAUSE_S
            if self._following:
                self._following, self._followed = False, self._clock()

    def _opened(self) -> None:
        self._following = self.fresh = True
        self._opened_at = self._clock()
