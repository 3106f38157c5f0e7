"""The list of units that the kubelet reads, and whether it reads it.

The kubelet keeps one call open and is sent the whole list whenever anything in it is another. That call is also the
only sign of life between the two: a kubelet that was registered with and does not read has forgotten the plugin. Since
a call says nothing about who makes it, calls count for the registration during or after which they began.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

import grpc

from tangram.kubelet.news import News
from tangram.kubelet.sockets import Refusal
from tangram.model.offers import Unit
from tangram.wire.kubelet import deviceplugin

Send = Callable[[deviceplugin.ListAndWatchResponse], Awaitable[None]]


class _Told(NamedTuple):
    """What the kubelet is told about one id."""

    healthy: bool
    numa: int


class Listing:
    """`changed` is called whenever a call begins or ends."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._units: dict[str, _Told] | None = None
        self._registration = 0
        self._last_begun = 0
        self._readers: list[int] = []
        self._open = True
        self._over = False
        self._news = News()

    # ---- what is told

    @property
    def known(self) -> bool:
        """Whether there is anything to tell yet, be it that there is nothing."""
        return self._units is not None

    def offer(self, units: Iterable[Unit]) -> bool:
        """Tell these from now on. Whether that is anything new; their order is not."""
        told: dict[str, _Told] = {}
        for unit in units:
            # An id listed twice is one device to the kubelet, and healthy only if nobody doubts it.
            doubted = unit.id in told and not told[unit.id].healthy
            told[unit.id] = _Told(unit.healthy and not doubted, unit.numa)
        if told == self._units:
            return False
        self._units = told
        self._news.announce()
        return True

    # ---- who reads

    def registering(self) -> None:
        """From here on calls count for a new registration."""
        self._registration += 1

    @property
    def read(self) -> bool:
        """Whether the kubelet of the last registration reads the list now."""
        return self._registration in self._readers

    @property
    def expected(self) -> bool:
        """Whether that kubelet has not begun to read yet."""
        return self._last_begun < self._registration

    async def stream(self, send: Send) -> None:
        """Send the list now and after every change, until `end` or until the reader goes (then this is cancelled)."""
        if not self._open:
            raise Refusal(
                grpc.StatusCode.UNAVAILABLE, "this device plugin is ending and lists nothing any more"
            )
        mine = self._last_begun = self._registration
        self._readers.append(mine)
        self._changed()
        sent: dict[str, _Told] | None = None
        try:
            while not self._over:
                edition, now = self._news.edition, self._units
                if now is not None and now != sent:
                    await send(_message(now))
                    sent = now
                await self._news.after(edition)
        finally:
            self._readers.remove(mine)
            self._changed()

    # ---- its end

    def shut(self) -> None:
        """Let no other reader begin."""
        self._open = False

    def end(self) -> None:
        """Close the list for everyone who reads it."""
        self._open, self._over = False, True
        self._news.announce()


def _message(units: Mapping[str, _Told]) -> deviceplugin.ListAndWatchResponse:
    return deviceplugin.ListAndWatchResponse(
        devices=[
            deviceplugin.Device(
                ID=one,
                health=deviceplugin.HEALTHY if told.healthy else deviceplugin.UNHEALTHY,
                # To name a NUMA node means to be aligned with it; a unit that belongs to none must name none.
                topology=None if told.numa < 0 else _on_node(told.numa),
            )
            for one, told in sorted(units.items())
        ]
    )


def _on_node(numa: int) -> deviceplugin.TopologyInfo:
    return deviceplugin.TopologyInfo(nodes=[deviceplugin.NUMANode(ID=numa)])
