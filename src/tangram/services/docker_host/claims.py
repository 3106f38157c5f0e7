"""Cards that somebody is about to use: two starts at one moment must not pick the same idle card.

Between the choice and the container's first process a card looks idle. So whoever picks cards writes down which, under
a lock, with the process that starts the container: it is the engine's own client by then. A claim ends with that
process, and after a minute in any case, when the container is listed by the engine. Who may not write the folder picks
without: the worst is a shared card.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

HOLDS_S: Final = 60.0
PATIENCE_S: Final = 20.0
_PAUSE_S: Final = 0.05
_LOCK: Final = "lock"
_FILE: Final = "claims.json"


class Claim(msgspec.Struct, frozen=True):
    card: str
    pid: int
    at: float


class Turn:
    """The right to choose, while nobody else does."""

    def __init__(self, folder: Path | None, now: float, alive: Callable[[int], bool]) -> None:
        self._folder = folder
        self._now = now
        self._claims = [
            each
            for each in _read(folder)
            if 0 <= now - each.at < HOLDS_S and each.pid != os.getpid() and alive(each.pid)
        ]

    def held(self) -> Mapping[str, str]:
        """Per card, who is about to use it."""
        return {each.card: f"a container that is being started (pid {each.pid})" for each in self._claims}

    def take(self, cards: Iterable[str]) -> None:
        if self._folder is None:
            return
        claims = [*self._claims, *(Claim(card, os.getpid(), self._now) for card in cards)]
        text = json.dumps([msgspec.to_builtins(each) for each in claims])
        with suppress(OSError):
            written = self._folder / f".{_FILE}.{os.getpid()}"
            written.write_text(text, encoding="utf-8")
            written.replace(self._folder / _FILE)


@contextmanager
def turn(
    folder: Path | None,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
    alive: Callable[[int], bool] | None = None,
) -> Generator[Turn]:
    """One at a time. Whoever waits too long goes on alone: the other one hangs, and so would we."""
    lock = _locked(folder, clock, sleep)
    try:
        yield Turn(None if lock is None else folder, clock(), alive or _alive)
    finally:
        if lock is not None:
            os.close(lock)


def claims_folder(environment: Mapping[str, str], user: int) -> Path | None:
    """Where claims are: METAX_DOCKER_RUN_DIR, else for all users of root's engine, or for one's own."""
    named = environment.get("METAX_DOCKER_RUN_DIR", "")
    if named.startswith("/"):
        return Path(named)
    if user == 0:
        return Path("/run/metax-docker")
    own = environment.get("XDG_RUNTIME_DIR", "")
    return Path(own) / "metax-docker" if own.startswith("/") else None


def _locked(folder: Path | None, clock: Callable[[], float], sleep: Callable[[float], None]) -> int | None:
    if folder is None:
        return None
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
        opened = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    until = clock() + PATIENCE_S
    while True:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if clock() > until:
                os.close(opened)
                return None
            sleep(_PAUSE_S)
        else:
            return opened


def _read(folder: Path | None) -> list[Claim]:
    if folder is None:
        return []
    try:
        return msgspec.json.decode((folder / _FILE).read_bytes(), type=list[Claim])
    except (OSError, msgspec.DecodeError):
        return []


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
