"""Whether somebody we belong to holds a Lease, and for how much longer at least.

Two machines' clocks are never compared: the time written in a Lease says only *that* it was renewed. What counts is how
long ago, by our own clock, we saw it renewed. In doubt the answer is no: a renewal that may have lain in a connection
for a while counts from the moment before it lay there, and a Lease seen for the first time counts once it is renewed.

It follows a Lease and never writes one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import msgspec

from tangram.kube.api import Api, Object
from tangram.kube.informer import BACKLOG_S, Change, Informer
from tangram.wire import loose


class Lease(msgspec.Struct, frozen=True):
    """What a Lease says of itself. Its times are only compared with each other, and only for being the same."""

    holder: str = ""
    duration: float = 0.0
    acquired: str = ""
    renewed: str = ""


_NOBODYS: Final = Lease()
_NEVER: Final = float("-inf")


def read_lease(thing: Object) -> Lease:
    """A Lease as the API server sends it; one without a holder or a duration is held by nobody."""
    spec = loose.members(thing.get("spec"))
    seconds = loose.integer(spec.get("leaseDurationSeconds"))
    return Lease(
        holder=loose.text(spec.get("holderIdentity")),
        duration=float(max(0, seconds or 0)),
        acquired=loose.text(spec.get("acquireTime")),
        renewed=loose.text(spec.get("renewTime")),
    )


class LeaseWatch:
    """`run()` until cancelled. `ours` is true to the moment it is asked; `changed` hears of every gain and loss."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        name: str,
        is_ours: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
        *,
        changed: Callable[[bool], None] = lambda _ours: None,
        troubled: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        self._is_ours = is_ours
        self._clock = clock
        self._changed = changed
        self._informer: Final = Informer(
            api,
            f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases",
            self._told,
            keep=read_lease,
            query={"fieldSelector": f"metadata.name={name}"},
            troubled=troubled,
            clock=clock,
        )
        self._lease = _NOBODYS
        self._renewed_at = _NEVER
        self._doubted_at = _NEVER
        self._announced = False
        self._moved = asyncio.Event()

    @property
    def holder(self) -> str:
        """Who the Lease names, whether or not it has run out; empty for nobody and for no such Lease."""
        return self._lease.holder

    @property
    def ours(self) -> bool:
        return self.seconds_left() > 0

    def seconds_left(self) -> float:
        """How long the Lease is ours at least, if nobody renews it any more; 0 when it is not ours."""
        if not self._lease.holder or not self._is_ours(self._lease.holder):
            return 0.0
        return max(0.0, self._runs_out() - self._clock())

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._informer.run())
            group.create_task(self._tell_of_ends())

    async def _tell_of_ends(self) -> None:
        """The end of a Lease that nobody renews is the one loss that no event announces."""
        while True:
            self._moved.clear()
            left = self.seconds_left()
            try:
                async with asyncio.timeout(left if left > 0 else None):
                    await self._moved.wait()
            except TimeoutError:
                self._announce()

    def _told(self, change: Change[Lease]) -> None:
        lease, known = change.new or _NOBODYS, self._lease
        if msgspec.structs.replace(lease, duration=known.duration) != known:
            self._take_renewal(lease)
        self._lease = lease
        self._announce()
        self._moved.set()

    def _take_renewal(self, lease: Lease) -> None:
        now = self._clock()
        if lease.holder == self._lease.holder and _NEVER < self._runs_out() <= now:
            # Renewed after it had run out, which no holder does: the connection was asleep, and this may be old.
            if self._doubted_at + lease.duration < now:
                self._doubted_at = now
            if now - self._doubted_at <= BACKLOG_S:
                return
        self._renewed_at = self._informer.happened_after(now)

    def _runs_out(self) -> float:
        return self._renewed_at + self._lease.duration

    def _announce(self) -> None:
        ours = self.ours
        if ours != self._announced:
            self._announced = ours
            self._changed(ours)
