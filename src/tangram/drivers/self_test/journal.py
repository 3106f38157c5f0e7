"""What a self-test is about to do to a card, written down before it is done.

A killed process undoes nothing. Its slices are found by their names, but not the policy that its card had before, nor
a slice that was made and not yet named: the vendor's library does the two in two steps. Both are here. The file is
locked while a self-test changes a card, so a second one does not take the first one's slices for left over.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.model.cards import QosPolicy
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes

_LONGEST: Final = 65_536


class SliceIntent(msgspec.Struct, frozen=True):
    """A slice that is being made and may have no name yet."""

    memory: Bytes
    cores: int


class CardEntry(msgspec.Struct, frozen=True, kw_only=True):
    card: CardUuid
    policy: QosPolicy | None = None
    """What the card had before."""
    tried: tuple[QosPolicy, ...] = ()
    """What it was given since, or was about to be."""
    making: SliceIntent | None = None


class SelfTestJournal:
    """Of one machine. Without a path nothing is kept: simulated cards of this process go with it."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file: int | None = None
        self.entry: CardEntry | None = None
        """What is written now."""

    def locked_elsewhere(self) -> bool:
        """Whether another self-test changes a card now. Makes no file."""
        if self.path is None or self._file is not None:
            return False
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    @contextmanager
    def held(self) -> Generator[None]:
        """Read what an earlier run wrote, and keep others out. Raises `busy` or `not-permitted`."""
        if self.path is not None:
            self._file = _opened(self.path)
            try:
                self.entry = _read(self._file)
            except BaseException:
                self._let_go()
                raise
        try:
            yield
        finally:
            self._let_go()

    def write(self, entry: CardEntry | None) -> None:
        """Replace what is written; None when the card is as it was."""
        self.entry = entry
        if self._file is None:
            return
        line = b"" if entry is None else msgspec.json.encode(entry) + b"\n"
        # A reader takes the first line, so a process that dies between the two steps leaves it readable.
        if line:
            os.pwrite(self._file, line, 0)
        os.ftruncate(self._file, len(line))

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DriverError(
            Kind.NOT_PERMITTED,
            f"{path} cannot be opened ({error.strerror}), and without it a card could not be put back after a kill",
            call=str(path),
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise DriverError(
            Kind.BUSY,
            f"another self-test changes a card now and holds {path}; wait until it has ended",
            call=str(path),
        ) from None
    return file


def _read(file: int) -> CardEntry | None:
    line = os.pread(file, _LONGEST, 0).partition(b"\n")[0]
    if not line:
        return None
    try:
        return msgspec.json.decode(line, type=CardEntry)
    except msgspec.MsgspecError:
        # Of another version, or damaged. What has a name is found without it.
        return None
