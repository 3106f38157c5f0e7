"""The pods that wait to be decided, and the order they are taken in.

*Active* pods are taken by priority, then by age. One that fits nowhere is *parked* until news could help it, or for
five minutes. Worth another try too soon, it backs off first: one second, doubled with each failure up to ten, counted
in whole seconds of the clock. A pod that backs off after a refusal is taken all the same when nobody else waits; one
whose try went wrong is not. A gated pod, and one whose victims are still being deleted, is not taken at all.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.wakes import News, What, could_help

LONGEST_PARKED_S: Final = 300.0
LOOK_EVERY_S: Final = 30.0
"""How often parked pods are looked through for those that were parked too long."""


class Place(Enum):
    NOWHERE = auto()
    ACTIVE = auto()
    BACKING_OFF = auto()
    AFTER_ERROR = auto()
    PARKED = auto()


@dataclass(slots=True, eq=False)
class Entry:
    """One waiting pod."""

    pod: Pod
    since: float
    place: Place = Place.NOWHERE
    refusals: int = 0
    errors: int = 0
    rejected: frozenset[str] = field(default_factory=frozenset[str])
    ends: float = 0.0
    """The whole second in which its back-off ends."""
    ticket: int = 0
    """Of its latest place in a heap: older ones mean nothing."""
    held: bool = False
    """Its victims are being deleted."""
    wanted: bool = False
    """It was worth another try while it was held."""


_Heap = list[tuple[tuple[float, ...], int, Entry]]


class Waiting:
    """`take` is for one caller at a time; whoever takes gives back with `failed` or `done`."""

    def __init__(
        self, clock: Callable[[], float], *, first: float, longest: float, ignored: frozenset[str]
    ) -> None:
        self._clock = clock
        self._first = first
        self._longest = longest
        self._ignored = ignored
        self._entries: dict[str, Entry] = {}
        self._heaps: dict[Place, _Heap] = {Place.ACTIVE: [], Place.BACKING_OFF: [], Place.AFTER_ERROR: []}
        self._parked: dict[str, Entry] = {}
        self._tickets = itertools.count(1)
        self._flying: Entry | None = None
        self._heard: list[News] = []
        self._stirred = asyncio.Event()
        self._next_look = clock() + LOOK_EVERY_S

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    # --- what happens to pods --------------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        entry = self._entries[pod.uid] = Entry(pod, self._clock())
        self._activate(entry)

    def update(self, old: Pod, new: Pod) -> None:
        """A waiting pod changed. One that is nowhere, because its bind is under way or was, is not begun anew."""
        entry = self._entries.get(new.uid)
        if entry is None:
            self.add(new)
            return
        entry.pod = new
        news = News(What.ITSELF, pod=(old, new))
        if entry is self._flying:
            self._heard.append(news)
        elif entry.place is Place.PARKED:
            ungated = old.gated and not new.gated
            if ungated or could_help(news, new, entry.rejected, self._ignored):
                self._retry(entry)

    def drop(self, uid: str) -> None:
        entry = self._entries.pop(uid, None)
        if entry is not None:
            self._leave(entry)

    def hear(self, news: News) -> None:
        """Something happened in the cluster."""
        if self._flying is not None:
            self._heard.append(news)
        for entry in list(self._parked.values()):
            if not entry.pod.gated and could_help(news, entry.pod, entry.rejected, self._ignored):
                self._retry(entry)

    def hold(self, uid: str) -> None:
        """Do not take the pod until `release`."""
        entry = self._entries.get(uid)
        if entry is not None:
            entry.held = True

    def release(self, uid: str, *, again: bool = False) -> None:
        """`again`: it is worth a try, whatever was heard."""
        entry = self._entries.get(uid)
        if entry is not None and entry.held:
            entry.held = False
            if entry.wanted or again:
                entry.wanted = False
                self._retry(entry)

    # --- taking and giving back ------------------------------------------------------------------------------------

    async def take(self) -> Entry:
        """The next pod to decide, as soon as there is one."""
        while True:
            self._end_waits()
            entry = self._pop(Place.ACTIVE) or self._pop(Place.BACKING_OFF)
            if entry is not None:
                self._flying, self._heard = entry, []
                return entry
            self._stirred.clear()
            until = self._next_end()
            try:
                async with asyncio.timeout(None if until is None else max(0.0, until - self._clock())):
                    await self._stirred.wait()
            except TimeoutError:
                continue

    def done(self, entry: Entry) -> None:
        """The pod has a place, or needs none: it waits no longer."""
        if self._flying is entry:
            self._flying = None
        if self._entries.get(entry.pod.uid) is entry:
            del self._entries[entry.pod.uid]

    def failed(self, entry: Entry, pod: Pod, rejected: frozenset[str]) -> None:
        """It has none; no rules in its way means that something went wrong."""
        heard = self._heard if self._flying is entry else []
        if self._flying is entry:
            self._flying = None
        current = self._entries.get(pod.uid)
        if current is not None and current is not entry and current.place is not Place.NOWHERE:
            return
        self._entries[pod.uid] = entry
        entry.pod, entry.rejected, entry.since = pod, rejected, self._clock()
        if rejected:
            entry.refusals, entry.errors = entry.refusals + 1, 0
        else:
            entry.errors += 1
        entry.ends = math.floor(entry.since + self._pause(entry.errors or entry.refusals))
        if any(could_help(news, pod, rejected, self._ignored) for news in heard) or not rejected:
            self._retry(entry)
        else:
            self._park(entry)

    def _pause(self, failures: int) -> float:
        return min(self._longest, self._first * 2.0 ** min(failures - 1, 30))

    # --- places ----------------------------------------------------------------------------------------------------

    def _retry(self, entry: Entry) -> None:
        """To the back-off if it is not over, else among the active ones."""
        if entry.held:
            entry.wanted = True
            self._park(entry)
        elif (entry.errors or entry.refusals) and entry.ends >= math.floor(self._clock()):
            self._push(entry, Place.BACKING_OFF if entry.rejected else Place.AFTER_ERROR)
        else:
            self._activate(entry)

    def _activate(self, entry: Entry) -> None:
        if entry.pod.gated:
            self._park(entry)
        else:
            self._push(entry, Place.ACTIVE)

    def _push(self, entry: Entry, place: Place) -> None:
        self._leave(entry)
        entry.place, entry.ticket = place, next(self._tickets)
        order = (float(-entry.pod.priority), entry.since)
        key = order if place is Place.ACTIVE else (entry.ends, *order)
        heapq.heappush(self._heaps[place], (key, entry.ticket, entry))
        self._stirred.set()

    def _park(self, entry: Entry) -> None:
        self._leave(entry)
        entry.place = Place.PARKED
        self._parked[entry.pod.uid] = entry

    def _leave(self, entry: Entry) -> None:
        if entry.place is Place.PARKED:
            self._parked.pop(entry.pod.uid, None)
        entry.place, entry.ticket = Place.NOWHERE, 0

    def _pop(self, place: Place) -> Entry | None:
        entry = self._head(place)
        if entry is not None:
            heapq.heappop(self._heaps[place])
            self._leave(entry)
        return entry

    def _head(self, place: Place) -> Entry | None:
        heap = self._heaps[place]
        while heap and heap[0][1] != heap[0][2].ticket:
            heapq.heappop(heap)
        return heap[0][2] if heap else None

    # --- time ------------------------------------------------------------------------------------------------------

    def _end_waits(self) -> None:
        now = self._clock()
        for place in (Place.BACKING_OFF, Place.AFTER_ERROR):
            while (entry := self._head(place)) is not None and entry.ends < math.floor(now):
                self._activate(entry)
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY_S
            for entry in [each for each in self._parked.values() if each.since + LONGEST_PARKED_S < now]:
                if not entry.pod.gated:
                    self._retry(entry)

    def _next_end(self) -> float | None:
        heads = (self._head(place) for place in (Place.BACKING_OFF, Place.AFTER_ERROR))
        ends = [entry.ends + 1 for entry in heads if entry is not None]
        return min([*ends, self._next_look] if self._parked else ends, default=None)
