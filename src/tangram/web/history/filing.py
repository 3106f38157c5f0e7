"""The history in one file, so that a restart forgets neither the month's usage nor its course.

The file is written anew as a whole, beside itself and then in its place, so it is always one that can be read; whoever
is killed loses a minute. A file that cannot be understood is set aside and said so, never written over and never a
reason not to start. In it are times, amounts and names of namespaces; no pods, no nodes and no people.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tangram.reports.charging import Charge
from tangram.units.ids import is_dns_label
from tangram.web.history.book import Page, Row
from tangram.web.history.keeping import History
from tangram.web.history.records import HOUR_S, Point

VERSION: Final = "history/v1"
SAVE_EVERY_S: Final = 60.0
LARGEST: Final = 64 * 2**20
_MODE: Final = 0o600

_log = logging.getLogger(__name__)


class _KeptPoint(msgspec.Struct, frozen=True, array_like=True):
    at: float
    cards: float
    used: float
    idle: float
    fragmented: float
    waiting: int
    typical: bool


class _KeptHour(msgspec.Struct, frozen=True, kw_only=True):
    hour: int
    heard_s: float
    capacity: float
    rows: dict[str, Row]


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    tangram: str
    at: float
    capacity: int
    rates: dict[str, tuple[int, int, int]]
    hours: list[_KeptHour]
    fine: list[_KeptPoint]
    coarse: list[_KeptPoint]


class _Head(msgspec.Struct, frozen=True):
    tangram: str = ""


class UnusableFileError(Exception):
    """The file can be neither read nor written. The sentence names it and what to do."""


class HistoryFile:
    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._saved = 0.0
        self._failing = ""

    def load(self, history: History) -> str:
        """Go on from the file. What is returned is a sentence where it was set aside, and empty otherwise.

        Raises `UnusableFileError` where it could never be written: better said at the start than after a month.
        """
        folder = self._path.absolute().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise UnusableFileError(
                f"The history file is {self._path}: its folder {folder} must be there and be writable; make it, or "
                "name another file."
            )
        try:
            with self._path.open("rb") as file:
                content = file.read(LARGEST + 1)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise UnusableFileError(
                f"The history file {self._path} cannot be read ({error.strerror}): name a file that this account may "
                "read and write."
            ) from error
        try:
            _restore(history, _read(content, self._clock()))
        except ValueError as error:
            return self._set_aside(str(error))
        return ""

    def save(self, history: History) -> bool:
        """Write what is known now; False where nothing is new. Raises `OSError`."""
        if history.charged_until == self._saved:
            return False
        self._write(msgspec.json.encode(_kept(history)))
        self._saved = history.charged_until
        return True

    async def keep(self, history: History) -> None:
        """Save every minute until cancelled, and once more then. A full disk is said once and tried again."""
        try:
            while True:
                await asyncio.sleep(SAVE_EVERY_S)
                self._try(history)
        finally:
            self._try(history)

    def _try(self, history: History) -> None:
        try:
            self.save(history)
        except OSError as error:
            why = error.strerror or type(error).__name__
            if why != self._failing:
                _log.warning("the history cannot be written to %s: %s", self._path, why, extra={"error": why})
            self._failing = why
        else:
            self._failing = ""

    def _write(self, content: bytes) -> None:
        unfinished = self._path.with_name(f".{self._path.name}.new")
        # One that is there is of somebody who was killed, or leads where somebody else wants us to write.
        unfinished.unlink(missing_ok=True)
        try:
            with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self._path)
        finally:
            unfinished.unlink(missing_ok=True)

    def _set_aside(self, why: str) -> str:
        aside = self._path.with_name(f"{self._path.name}.unread-{int(self._clock())}")
        said = f"The history file {self._path} cannot be understood ({why})"
        try:
            self._path.rename(aside)
        except OSError as error:
            raise UnusableFileError(
                f"{said}, nor moved away ({error.strerror}): name another file, or take this one away."
            ) from error
        return f"{said}: it was kept as {aside.name}, and a new one is begun."


async def tend(history: History, file: HistoryFile | None) -> None:
    """Everything the history needs while a dashboard runs; ends cleanly when cancelled."""
    try:
        if file is None:
            await asyncio.Event().wait()
        else:
            await file.keep(history)
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await history.replays.close()


def _kept(history: History) -> _Kept:
    book = history.book
    return _Kept(
        tangram=VERSION,
        at=book.at,
        capacity=book.capacity,
        rates={name: (rate.card, rate.memory, rate.compute) for name, rate in sorted(book.rates.items())},
        hours=[
            _KeptHour(hour=hour, heard_s=page.heard_s, capacity=page.capacity, rows=page.rows)
            for hour, page in book.pages.items()
        ],
        fine=[_kept_point(point) for point in history.way.fine],
        coarse=[_kept_point(point) for point in history.way.coarse],
    )


def _kept_point(point: Point) -> _KeptPoint:
    return _KeptPoint(
        point.at, point.cards, point.used, point.idle, point.fragmented, point.waiting, point.typical
    )


def _read(content: bytes, now: float) -> _Kept:
    """Raises `ValueError` with the reason."""
    if len(content) > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.tangram != VERSION:
            raise ValueError(f"it says {head.tangram!r:.40} and {VERSION} is what is read")
        kept = msgspec.json.decode(content, type=_Kept)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)[:200]) from error
    if not 0 <= kept.at <= now + HOUR_S:
        raise ValueError("it is from the future")
    amounts = [kept.capacity, *(amount for rate in kept.rates.values() for amount in rate)]
    for hour in kept.hours:
        if hour.hour % HOUR_S or not 0 <= hour.hour <= kept.at:
            raise ValueError(f"{hour.hour} is not the beginning of an hour that has been")
        amounts += [hour.heard_s, hour.capacity]
        amounts += [
            amount for row in hour.rows.values() for amount in (row.card, row.memory, row.compute, row.pods)
        ]
    for point in (*kept.fine, *kept.coarse):
        amounts += [point.at, point.cards, point.used, point.idle, point.fragmented, point.waiting]
    if not all(amount >= 0 and math.isfinite(amount) for amount in amounts):
        raise ValueError("an amount in it is less than nothing")
    odd = next((name for name in _namespaces(kept) if not is_dns_label(name)), None)
    if odd is not None:
        raise ValueError(f"{odd!r:.80} is no namespace")
    return kept


def _namespaces(kept: _Kept) -> set[str]:
    return {*kept.rates, *(namespace for hour in kept.hours for namespace in hour.rows)}


def _restore(history: History, kept: _Kept) -> None:
    history.book.take(
        kept.at,
        kept.capacity,
        {namespace: Charge(*rate) for namespace, rate in kept.rates.items()},
        {
            hour.hour: Page(heard_s=hour.heard_s, capacity=hour.capacity, rows=hour.rows)
            for hour in kept.hours
        },
    )
    history.way.take(map(_point, kept.fine), map(_point, kept.coarse))


def _point(kept: _KeptPoint) -> Point:
    return Point(
        at=kept.at,
        cards=kept.cards,
        used=kept.used,
        idle=kept.idle,
        fragmented=kept.fragmented,
        waiting=kept.waiting,
        typical=kept.typical,
    )
