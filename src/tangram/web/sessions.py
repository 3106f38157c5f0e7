"""People who have signed in, in memory and nowhere else.

A browser holds a random number; here is a digest of it with the person's own Kubernetes token beside it. Whoever reads
this memory has the tokens and whoever reads a log, a page or a disk has nothing. Sessions end after an hour without a
request and after half a day in any case; a restart ends all of them. Whether the token itself still holds is not
decided here: it is shown to the API server again and again by the reception.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

IDLE_S: Final = 3600.0
LONGEST_S: Final = 12 * 3600.0
MOST: Final = 1000
MOST_OF_ONE: Final = 16
"""Of one person: otherwise one of them could sign in until everybody else is out."""
SWEEP_S: Final = 60.0
_LONGEST_NUMBER: Final = 64


class Gone(StrEnum):
    """Why there is no session under a number."""

    UNKNOWN = "unknown"
    IDLE = "idle"
    LONG = "long"


@dataclass(slots=True)
class Session:
    """`digest` names it within this process and is worth nothing outside of it."""

    digest: bytes
    owner: str
    begun: float
    used: float
    token: str = field(repr=False)


class Sessions:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._salt = secrets.token_bytes(32)
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()
        """Longest unused first."""
        self._swept = clock()

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, token: str, owner: str) -> str:
        """A new session; the number for the browser, which is kept nowhere here."""
        now = self._clock()
        self._sweep(now)
        theirs = [one for one in self._sessions.values() if one.owner == owner]
        for oldest in theirs[: max(0, len(theirs) - MOST_OF_ONE + 1)]:
            del self._sessions[oldest.digest]
        while len(self._sessions) >= MOST:
            self._sessions.popitem(last=False)
        number = secrets.token_urlsafe(32)
        digest = self._digest(number)
        self._sessions[digest] = Session(digest, owner, now, now, token)
        return number

    def find(self, number: str) -> Session | Gone:
        """The session under that number, which is in use from now on for another while."""
        if not number or len(number) > _LONGEST_NUMBER:
            return Gone.UNKNOWN
        now = self._clock()
        found = self._sessions.get(self._digest(number))
        gone = Gone.UNKNOWN if found is None else _ended(found, now)
        if now - self._swept >= SWEEP_S:
            self._sweep(now)
        if found is None or gone is not None:
            if found is not None:
                self._sessions.pop(found.digest, None)
            return gone or Gone.UNKNOWN
        found.used = now
        self._sessions.move_to_end(found.digest)
        return found

    def all(self) -> Iterator[Session]:
        """Those that have not been swept away."""
        return iter(self._sessions.values())

    def end(self, digest: bytes) -> None:
        """Forget it, token and all."""
        self._sessions.pop(digest, None)

    def _sweep(self, now: float) -> None:
        """A token is not kept for somebody who does not come back."""
        self._swept = now
        for session in [one for one in self._sessions.values() if _ended(one, now) is not None]:
            del self._sessions[session.digest]

    def _digest(self, number: str) -> bytes:
        return hashlib.blake2b(number.encode("utf-8", "replace"), key=self._salt, digest_size=32).digest()


def _ended(session: Session, now: float) -> Gone | None:
    if now - session.begun >= LONGEST_S:
        return Gone.LONG
    return Gone.IDLE if now - session.used >= IDLE_S else None
