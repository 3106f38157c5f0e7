"""What the scheduler answers, whoever asks and through whichever door.

Doors (`doors.py`) know HTTP, certificates and rights; the desk knows pods and cards. Between them are bytes and this
interface, so that each can be tested without the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec


class Caller(msgspec.Struct, frozen=True):
    """Who asks, as far as the door could find out."""

    user: str
    may_see_all: bool
    """May read pods of every namespace, so nothing needs to be hidden."""
    namespaces: frozenset[str] = frozenset()
    """Namespaces whose pods the caller may read, of those the question is about."""


class Reply(msgspec.Struct, frozen=True):
    body: bytes
    status: int = 200
    kind: str = "application/json"
    gzipped: bool = False
    """The body is compressed, which the door says to whoever asked."""


class Desk(Protocol):
    """Every method answers whatever it is given; none raises for bad input."""

    async def filter(self, body: bytes) -> Reply: ...

    async def bind(self, body: bytes) -> Reply: ...

    async def preempt(self, body: bytes) -> Reply: ...

    async def review(self, body: bytes) -> Reply:
        """The mutating webhook: an AdmissionReview in, one out."""
        ...

    async def guard(self, body: bytes) -> Reply:
        """The validating webhook: who may write allocations."""
        ...

    async def explain_pod(
        self, namespace: str, name: str, caller: Caller, nodes: Sequence[str] = ()
    ) -> Reply:
        """Why that pod waits or where it went; those nodes are to be among the ones reported in full."""
        ...

    async def explain_manifest(self, body: bytes, caller: Caller, nodes: Sequence[str] = ()) -> Reply:
        """Where the pods of some manifests would go, were they made now."""
        ...

    async def view(self, epoch: str, since: str, wait: str) -> Reply:
        """What changed since that version; waits up to so many seconds for something. All three may be anything."""
        ...

    async def view_node(self, name: str, pod: str) -> Reply:
        """One node in full, with the sets of cards that were weighed for that pod, `namespace/name` or empty."""
        ...

    def end_waiting(self) -> None:
        """Whoever waits for news is answered now: the door is about to close."""
        ...

    async def device_summaries(self, node: str | None) -> Reply:
        """What koord-scheduler's debug API answers about a node's cards, or about those of every node."""
        ...

    async def metrics(self, *, gzipped: bool) -> Reply:
        """The page of metrics, compressed for whoever takes that: of a large cluster it has tens of megabytes."""
        ...

    def unready(self) -> Sequence[str]:
        """What keeps it from answering rightly, one sentence each."""
        ...

    def unhealthy(self) -> Sequence[str]: ...
