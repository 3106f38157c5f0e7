"""What containers said: the last lines of the present run of each and of the one before, with their times.

Bounded, because a loop that talks would fill the memory of a laptop. Whoever follows is woken by every new line.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import AsyncGenerator, Callable
from itertools import islice
from typing import Final

import msgspec

from tangram.kubelet.news import News

MOST_LINES: Final = 5000

Now = Callable[[], dt.datetime]


class Line(msgspec.Struct, frozen=True):
    at: dt.datetime
    text: str


class LogOfRun:
    """One run of a container."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._lines: deque[Line] = deque(maxlen=MOST_LINES)
        self._count = 0
        self._news = News()
        self.ended = False

    def say(self, text: str) -> None:
        for line in text.split("\n"):
            self._lines.append(Line(self._now(), line))
            self._count += 1
        self._news.announce()

    def end(self) -> None:
        self.ended = True
        self._news.announce()

    def lines(self) -> list[Line]:
        return list(self._lines)

    @property
    def said(self) -> int:
        """How many lines there were so far, those that are forgotten included."""
        return self._count

    async def following(self, seen: int) -> AsyncGenerator[Line]:
        """Lines after the first so many, as they come, until the run is over."""
        while True:
            edition = self._news.edition
            new = min(self._count - seen, len(self._lines))
            seen = self._count
            for line in list(islice(self._lines, len(self._lines) - new, None)):
                yield line
            if self._count == seen and self.ended:
                return
            await self._news.after(edition)


class LogBook:
    """Of all containers of all nodes: one server answers for them. Keyed by namespace, pod and container."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._runs: dict[tuple[str, str], dict[str, list[LogOfRun]]] = {}

    def begin(self, namespace: str, pod: str, container: str) -> LogOfRun:
        """The log of a new run; the present one becomes the previous one."""
        run = LogOfRun(self._now)
        runs = self._runs.setdefault((namespace, pod), {}).setdefault(container, [])
        runs.append(run)
        del runs[:-2]
        return run

    def first(self, namespace: str, pod: str) -> str:
        """The container of the pod that began last to be first known; empty where nothing is."""
        return next(reversed(self._runs.get((namespace, pod), {})), "")

    def find(self, namespace: str, pod: str, container: str, *, previous: bool = False) -> LogOfRun | None:
        runs = self._runs.get((namespace, pod), {}).get(container, [])
        if previous:
            return runs[-2] if len(runs) > 1 else None
        return runs[-1] if runs else None

    def forget(self, namespace: str, pod: str) -> None:
        for runs in self._runs.pop((namespace, pod), {}).values():
            for run in runs:
                run.end()
