"""One device plugin: one resource, served on a socket of its own and registered whenever the kubelet does not know it.

What the units are and what the answers say is decided elsewhere (`Answers`). Nothing that the kubelet or the file
system does ends a plugin; it tells the log, and goes on trying.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tangram.kubelet.listing import Listing
from tangram.kubelet.news import News
from tangram.kubelet.registration import FIRST_PAUSE_S, LONGEST_PAUSE_S, RETRY_S, Registration
from tangram.kubelet.service import Answers, PluginService
from tangram.kubelet.sockets import SocketServer, SocketUnusable, serve, socket_address
from tangram.kubelet.watching import FolderWatch
from tangram.model.offers import Unit
from tangram.wire.kubelet import deviceplugin

_log = logging.getLogger("tangram.kubelet")


def endpoint_of(resource: str) -> str:
    """The name of the socket at which a resource is served."""
    return f"tangram-{re.sub(r'[^0-9A-Za-z]', '-', resource)}.sock"


class Plugin:
    """`run()` until cancelled, or until `drain` has ended it. It registers after the first `offer`, not before.

    Raises `SocketUnusable` if the directory's path is too long for a socket. Plugins of one directory may share a
    `watch`. `on_change` is called whenever `registered` or `registrations` may have become another.
    """

    def __init__(
        self,
        directory: Path,
        resource: str,
        answers: Answers,
        *,
        prefers: bool,
        on_change: Callable[[], None] = lambda: None,
        watch: FolderWatch | None = None,
    ) -> None:
        self.resource: Final = resource
        kubelet = directory / deviceplugin.KUBELET_SOCKET
        self._socket = directory / endpoint_of(resource)
        socket_address(kubelet)
        socket_address(self._socket)
        self._watch = watch or FolderWatch(directory)
        self._listing = Listing(self._on_reader)
        self._service = PluginService(resource, answers, self._listing, prefers=prefers)
        introduction = deviceplugin.RegisterRequest(
            version=deviceplugin.VERSION,
            endpoint=self._socket.name,
            resource_name=resource,
            options=self._service.options,
        )
        self._registration = Registration(kubelet, introduction, self._listing, on_change)
        self._news = News()
        self._server: SocketServer | None = None
        self._one_at_a_time = asyncio.Lock()
        self._draining = False

    @property
    def registered(self) -> bool:
        """Whether the kubelet knows us and reads our list now."""
        return self._registration.holds

    @property
    def registrations(self) -> int:
        """How often a kubelet has accepted us."""
        return self._registration.count

    @property
    def registration_seconds(self) -> float:
        """The last time: from the kubelet's socket appearing, or our list ending, to its answer."""
        return self._registration.seconds

    def offer(self, units: Sequence[Unit]) -> bool:
        """Offer exactly these. Whether they, or their health, are others than before: only then the kubelet is told."""
        if not self._listing.offer(units):
            return False
        self._news.announce()
        return True

    async def run(self) -> None:
        """Serve, register and follow the kubelet, whatever it does."""
        stop_listening = self._watch.listen(self._news.announce)
        try:
            while not self._draining:
                edition = self._news.edition
                await self._news.after(edition, await self._step())
        finally:
            stop_listening()
            if not self._draining:
                await self._stop(grace=None)

    async def drain(self, grace: float) -> None:
        """End: begin no list, finish what was asked within the grace, close the lists, remove our socket.

        The lists come last, because a kubelet whose list ends hangs up on every call that is still under way.
        """
        self._draining = True
        self._listing.shut()
        self._news.announce()
        deadline = time.monotonic() + grace
        try:
            async with asyncio.timeout(grace):
                await self._service.until_idle()
        except TimeoutError:
            _log.warning("calls of the kubelet are cut off", extra={"resource": self.resource})
        self._listing.end()
        await self._stop(grace=max(RETRY_S, deadline - time.monotonic()))

    async def _step(self) -> float:
        """Do what the moment asks for. How long to wait for news before the next look."""
        if not self._listing.known:
            return LONGEST_PAUSE_S
        kubelet_is_there = self._registration.look()
        if self.registered:
            return LONGEST_PAUSE_S
        try:
            # A starting kubelet removes our socket some time before it makes its own: that time need not be lost.
            if self._server is None or self._server.removed:
                await self._serve()
            if not kubelet_is_there:
                return LONGEST_PAUSE_S
            if (wait := self._registration.wait()) > 0:
                return wait
            # Only now is a socket replaced that somebody else has put there: two agents that overlap for a moment
            # would otherwise push each other out for ever.
            if self._server is None or not self._server.reachable:
                await self._serve()
        except SocketUnusable as error:
            self._registration.complain(f"{self.resource} cannot be served: {error}")
            return FIRST_PAUSE_S
        return await self._register()

    async def _register(self) -> float:
        if self._draining:
            return 0.0
        pause = await self._registration.ask()
        if pause > RETRY_S and self._server is not None and not self._server.reachable:
            # It could not call back, because our socket went while it tried.
            self._registration.forgive()
            return RETRY_S
        return pause

    def _on_reader(self) -> None:
        self._registration.list_changed()
        self._news.announce()

    async def _serve(self) -> None:
        async with self._one_at_a_time:
            if self._draining:
                return
            if self._server is not None:
                server, self._server = self._server, None
                await server.stop()
            self._server = await serve(self._socket, self._service.methods())

    async def _stop(self, *, grace: float | None) -> None:
        async with self._one_at_a_time:
            if self._server is not None:
                server, self._server = self._server, None
                await server.stop(grace=grace)
