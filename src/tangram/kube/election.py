"""One of several equal processes writes, the others wait: whoever holds a Lease, for as long as it surely does.

Two machines' clocks are never compared. A candidate takes a Lease when it has looked the same for its whole duration by
the candidate's own clock, or when it names nobody. A holder counts from the moment *before* it sent the renewal that
was accepted: whoever sees that renewal sees it later, and so cannot take over before our time is up. And our time is up
early: `seconds_left` leaves out the time that one last request may take, so that what was begun while it was ours ends
while it still is.

Every write names the version of the Lease that it was decided from, so of two candidates one is refused. A Lease that
is lost is never tried for again by the same process: `keep` raises, the process ends, and what it believed ends with
it. The name under which it is held must be new in every process, because a process that starts anew knows nothing of
what the last one had begun.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tangram.kube.api import Api, Object
from tangram.kube.errors import CONFLICT, NOT_FOUND, ApiError, ApiUnreachable
from tangram.kube.leases import Lease, read_lease
from tangram.kube.objects import version_of
from tangram.wire import loose
from tangram.wire.timestamps import to_microsecond

DURATION_S: Final = 20.0
EVERY_S: Final = 3.0
REQUEST_S: Final = 4.0
"""For one look at the Lease or one renewal."""
LAST_REQUEST_S: Final = 10.0
"""How long a request may take that was begun at the last moment: what `Api` allows one."""

_log = logging.getLogger(__name__)


class LeaseLost(Exception):  # noqa: N818 - says what is the case
    """The Lease is somebody else's, or may be one before long: nothing may be written any more."""


class LeaseName(NamedTuple):
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class _Seen(NamedTuple):
    """A state of the Lease, and since when it is known here."""

    lease: Lease
    version: str
    transitions: int
    at: float


class Election:
    """`acquire`, then `keep` for as long as the process lives; `release` at its end."""

    def __init__(
        self,
        api: Api,
        lease: LeaseName,
        identity: str,
        *,
        duration: float = DURATION_S,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._api = api
        self._name = lease
        self._all: Final = f"/apis/coordination.k8s.io/v1/namespaces/{lease.namespace}/leases"
        self._path: Final = f"{self._all}/{lease.name}"
        self._identity = identity
        self._duration = duration
        self._clock = clock
        self._now = now
        self._seen: _Seen | None = None
        self._renewed_at = float("-inf")
        self._acquired = ""
        self._said = ""
        self.trouble = ""
        """Why the Lease cannot be looked at or written right now."""

    @property
    def holder(self) -> str:
        """Whom the Lease named when it was last looked at; empty for nobody."""
        return self._seen.lease.holder if self._seen is not None else ""

    @property
    def held(self) -> bool:
        return self.seconds_left() > 0

    def seconds_left(self) -> float:
        """How long something may still be begun, if no renewal succeeds any more; 0 when it is not ours."""
        return max(0.0, self._renewed_at + self._duration - LAST_REQUEST_S - self._clock())

    async def acquire(self) -> None:
        """Wait until the Lease is ours."""
        while not await self._try():  # noqa: ASYNC110 - what is waited for happens on another machine
            await asyncio.sleep(EVERY_S)
        _log.info("this process leads: it holds Lease %s as %s", self._name, self._identity)

    async def keep(self) -> None:
        """Renew until cancelled. Raises `LeaseLost`, in time."""
        while True:
            await asyncio.sleep(min(EVERY_S, self.seconds_left()))
            try:
                # A renewal that hangs must not keep us from noticing that our time is up.
                async with asyncio.timeout(self.seconds_left()):
                    await self._renew()
            except TimeoutError:
                pass
            if not self.held:
                raise LeaseLost(
                    f"Lease {self._name} could not be renewed in time"
                    + (f" ({self.trouble})" if self.trouble else "")
                )

    async def release(self) -> None:
        """Let somebody else have it at once. Nothing may be written after this, whether it succeeds or not."""
        seen, held = self._seen, self._renewed_at > float("-inf")
        self._renewed_at = float("-inf")
        if seen is None or not held or seen.lease.holder != self._identity:
            return
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": to_microsecond(self._now())}
        try:
            await self._write(seen, spec)
        except (ApiError, ApiUnreachable) as error:
            _log.warning("Lease %s could not be given back, it runs out by itself: %s", self._name, error)

    # ---- one attempt

    async def _try(self) -> bool:
        try:
            await self._look()
            seen = self._seen
            if seen is not None and not self._is_free(seen):
                self.trouble = ""
                self._say(f"this process waits: Lease {self._name} is held by {seen.lease.holder}")
                return False
            await self._take()
        except ApiError as error:
            if error.status == CONFLICT:
                # Somebody was faster. Who, the next look tells.
                return False
            self._troubled(str(error))
            return False
        except ApiUnreachable as error:
            self._troubled(str(error))
            return False
        self.trouble = ""
        return self.held

    async def _renew(self) -> None:
        try:
            await self._take()
        except ApiError as error:
            if error.status not in (CONFLICT, NOT_FOUND):
                self._troubled(str(error))
                return
            await self._after_conflict()
        except ApiUnreachable as error:
            self._troubled(str(error))
        else:
            self.trouble = ""

    async def _after_conflict(self) -> None:
        """The object changed under us: touched, deleted, or taken."""
        try:
            await self._look()
        except (ApiError, ApiUnreachable) as error:
            self._troubled(str(error))
            return
        if self._seen is not None and self._seen.lease.holder != self._identity:
            self._renewed_at = float("-inf")
            raise LeaseLost(f"Lease {self._name} was taken by {self._seen.lease.holder or 'nobody'}")

    def _is_free(self, seen: _Seen) -> bool:
        lease = seen.lease
        if not lease.holder or lease.holder == self._identity:
            return True
        return self._clock() - seen.at > max(lease.duration, self._duration)

    async def _look(self) -> None:
        try:
            thing = await self._api.call("GET", self._path, limit=REQUEST_S)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            self._seen = None
            return
        self._take_note(thing)

    def _take_note(self, thing: Object) -> None:
        lease, version = read_lease(thing), version_of(thing)
        transitions = loose.integer(loose.members(thing.get("spec")).get("leaseTransitions")) or 0
        known = self._seen
        # Whoever touches the object without renewing it keeps it for nobody.
        same = known is not None and known.lease == lease
        at = known.at if same and known is not None else self._clock()
        self._seen = _Seen(lease, version, transitions, at)

    async def _take(self) -> None:
        """Write that it is ours. Raises `ApiError`, `ApiUnreachable`."""
        seen, begun = self._seen, self._clock()
        moment = to_microsecond(self._now())
        ours = seen is not None and seen.lease.holder == self._identity
        if not ours:
            self._acquired = moment
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._duration),
            "acquireTime": self._acquired or moment,
            "renewTime": moment,
        }
        thing = await self._write(seen, spec)
        self._renewed_at = begun
        self._take_note(thing)

    async def _write(self, seen: _Seen | None, spec: Object) -> Object:
        if seen is None:
            body = self._body({**spec, "leaseTransitions": 0})
            return await self._api.call("POST", self._all, body, limit=REQUEST_S)
        moved = seen.lease.holder != spec["holderIdentity"] and bool(spec["holderIdentity"])
        body = self._body({**spec, "leaseTransitions": seen.transitions + moved}, seen.version)
        return await self._api.call("PUT", self._path, body, limit=REQUEST_S)

    def _body(self, spec: Object, version: str = "") -> Object:
        metadata: Object = {"name": self._name.name, "namespace": self._name.namespace}
        if version:
            metadata["resourceVersion"] = version
        kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        return {**kind, "metadata": metadata, "spec": spec}

    def _troubled(self, sentence: str) -> None:
        self.trouble = sentence
        self._say(f"Lease {self._name} cannot be had: {sentence}", logging.WARNING)

    def _say(self, sentence: str, level: int = logging.INFO) -> None:
        if sentence != self._said:
            _log.log(level, "%s", sentence)
        self._said = sentence
