"""The page of metrics, written without keeping anybody waiting.

At five thousand nodes it has some sixty megabytes. It is made in pieces, other work is done between them, and for
whoever takes compressed pages (every Prometheus does) it is compressed as it grows, so that it never exists whole.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest

from tangram.engine.demand import Demand
from tangram.engine.ledger import Ledger
from tangram.engine.room import Room, room_of
from tangram.services.scheduler.metrics_of_hami import QuotaFigure, hami_lines

_QUICK_COMPRESSION = 1
_GZIP = 31
"""zlib's number for a gzip header around the largest window."""


class Exposition:
    """`pieces` of the page; the figures of our own stand first, those with HAMi's names after them."""

    def __init__(
        self,
        registry: CollectorRegistry,
        ledger: Ledger,
        *,
        demand: Callable[[], Demand],
        quotas: Callable[[], Iterable[QuotaFigure]] = lambda: (),
        legacy: bool = False,
    ) -> None:
        self._registry = registry
        self._ledger = ledger
        self._demand = demand
        self._quotas = quotas
        self._legacy = legacy
        self.room: Room | None = None
        """As of the last scrape, for whoever gathers the figures of the registry."""

    async def page(self, *, gzipped: bool) -> bytes:
        """All of it. Only a page for people is not compressed."""
        return b"".join([piece async for piece in self.pieces(gzipped=gzipped)])

    async def pieces(self, *, gzipped: bool) -> AsyncGenerator[bytes]:
        room = Room()
        for room in room_of(self._ledger, self._demand()):  # noqa: B007 - only the last one is whole
            await asyncio.sleep(0)
        self.room = room
        squeeze = zlib.compressobj(_QUICK_COMPRESSION, zlib.DEFLATED, _GZIP) if gzipped else None
        for piece in self._texts():
            ready = piece if squeeze is None else squeeze.compress(piece)
            if ready:
                yield ready
            await asyncio.sleep(0)
        if squeeze is not None:
            yield squeeze.flush()

    def _texts(self) -> Iterator[bytes]:
        yield generate_latest(self._registry)
        yield from hami_lines(self._ledger, self._quotas(), legacy=self._legacy)
