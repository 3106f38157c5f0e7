"""Whether this process may commit anything right now, and why not.

kube-scheduler's own Lease decides which pair of kube-scheduler and extender is active; there is no second election that
could disagree with it. A Binding is sent only while one request's time is left on that Lease, so that none of ours can
arrive after somebody else has taken over. And nothing is decided from a copy of the cluster that is known to be old.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

BIND_LIMIT_S: Final = 4.0
"""How long one Binding may take: less than kube-scheduler waits for us, and than its Lease has left when renewed."""
STALE_S: Final = 3.0
"""A copy that has not followed the API server for so long is not decided from; reconnecting takes less."""


class Lease(Protocol):
    @property
    def ours(self) -> bool: ...

    @property
    def holder(self) -> str: ...

    def seconds_left(self) -> float: ...


class Copy(Protocol):
    """A local copy of a kind of object."""

    def stale_for(self, now: float) -> float: ...


class Leadership:
    """`lease` is None where this extender serves a kube-scheduler whose Lease it does not know."""

    def __init__(self, lease: Lease | None, clock: Callable[[], float]) -> None:
        self._lease = lease
        self._clock = clock
        self.copies: dict[str, Copy] = {}
        self.synced = False
        """Every copy was complete once."""
        self.caught_up = True
        """What the last holder of the Lease did has arrived here."""

    @property
    def active(self) -> bool:
        return self._lease is None or self._lease.ours

    def unready(self) -> Sequence[str]:
        """What keeps answers from being right, whoever is active."""
        if not self.synced:
            return ["the cluster has not been read yet"]
        now = self._clock()
        return [
            f"the copy of {name} is {copy.stale_for(now):.0f} s behind the API server"
            for name, copy in self.copies.items()
            if copy.stale_for(now) > STALE_S
        ]

    def why_not_decide(self) -> str | None:
        """The first thing in the way of an answer that counts."""
        unready = self.unready()
        if unready:
            return unready[0]
        if self._lease is not None and not self._lease.ours:
            holder = self._lease.holder or "nobody"
            return f"this scheduler is a standby: the Lease is held by {holder}"
        if not self.caught_up:
            return "this scheduler has just taken over and reads what the last one did"
        return None

    def why_not_bind(self) -> str | None:
        """The same for a commit."""
        why = self.why_not_decide()
        if why is None and self._lease is not None and self._lease.seconds_left() <= BIND_LIMIT_S:
            return "the Lease of kube-scheduler is about to end, so nothing is bound any more"
        return why
