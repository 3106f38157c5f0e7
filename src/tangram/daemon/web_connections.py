"""Who is connected to a web server of ours, and who has to leave when it is full.

A connection costs memory (under TLS a quarter of a mebibyte) and anybody can open one. So there are so many at most,
and when another one comes, whoever has been quiet for longest leaves for it: somebody who opened a connection and asks
nothing, or asks very slowly, its body included, is quiet, and an honest client only connects anew. A question that came
whole is never given up while it is answered, and nobody is shown out who has hardly come in; the next one waits in the
system's queue meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

from aiohttp import web

HANDSHAKE_LIMIT_S: Final = 10.0
FIRST_QUESTION_S: Final = 10.0
"""How long a new connection may take to ask something, headers included."""
GRACE_S: Final = 1.0
"""How long somebody may be quiet in a full house."""
GOODBYE_LIMIT_S: Final = 2.0
_BREATH_S: Final = 0.05

Tls = Callable[[], ssl.SSLContext]
"""The context for the next connection: each may have another certificate than the one before. Whatever it raises, that
connection is closed."""
Leave = Callable[[], object]


class Connections:
    """All connections of one server: accepted, welcomed, counted, and shown out."""

    def __init__(self, server: web.Server, tls: Tls | None, most: int) -> None:
        self._server = server
        self._tls = tls
        self._most = most
        self._shaking: set[web.RequestHandler] = set()
        """Not yet connected: TLS is being agreed on."""
        self._unasked: set[web.RequestHandler] = set()
        """Connected, or about to be, without a question so far."""
        self._quiet: dict[web.RequestHandler, tuple[float, Leave]] = {}
        """Nothing to answer, longest quiet first: since when, and how each is made to leave."""
        self._busy: set[web.RequestHandler] = set()
        self._welcomes: set[asyncio.Task[None]] = set()

    async def accept_from(self, listener: socket.socket) -> None:
        """Take connections for as long as it runs. Raises `OSError` when the listener itself is broken."""
        loop = asyncio.get_running_loop()
        while True:
            await self._make_room()
            try:
                connected, _peer = await loop.sock_accept(listener)
            except OSError:
                if listener.fileno() == -1:
                    raise
                # Out of file descriptors, or a client that left in the queue: neither is cured by ending.
                await asyncio.sleep(_BREATH_S)
                continue
            self._welcome(loop, connected)
            # A queue that never empties must not keep everybody else from the loop.
            await asyncio.sleep(0)

    def ask(self, protocol: web.RequestHandler) -> None:
        """A question has begun to come: the rest of it may take as long as anybody's silence."""
        self._unasked.discard(protocol)
        if self._quiet.pop(protocol, None) is not None:
            self._quiet[protocol] = (_now(), protocol.force_close)

    def begin(self, protocol: web.RequestHandler) -> None:
        """A question came whole, and will be answered."""
        if self._quiet.pop(protocol, None) is not None:
            self._busy.add(protocol)

    def end(self, protocol: web.RequestHandler) -> None:
        """Its answer is out."""
        if protocol in self._busy:
            self._busy.discard(protocol)
            self._quiet[protocol] = (_now(), protocol.force_close)

    async def close(self) -> None:
        """Nobody is welcomed any more."""
        for task in list(self._welcomes):
            task.cancel()
        await asyncio.gather(*self._welcomes, return_exceptions=True)

    async def _make_room(self) -> None:
        while True:
            self._forget_gone()
            if len(self._quiet) + len(self._busy) < self._most:
                return
            longest = next(iter(self._quiet.items()), None)
            if longest is not None and _now() - longest[1][0] >= GRACE_S:
                del self._quiet[longest[0]]
                longest[1][1]()
            else:
                await asyncio.sleep(_BREATH_S)

    def _forget_gone(self) -> None:
        present = self._shaking.union(self._server.connections)
        for protocol in [one for one in self._quiet if one not in present]:
            del self._quiet[protocol]
        self._busy &= present
        self._unasked &= present

    def _welcome(self, loop: asyncio.AbstractEventLoop, connected: socket.socket) -> None:
        protocol = self._server()
        welcome = loop.create_task(self._shake_hands(loop, connected, protocol), name="welcome")
        self._welcomes.add(welcome)
        self._shaking.add(protocol)
        self._unasked.add(protocol)
        self._quiet[protocol] = (_now(), welcome.cancel)

        def shaken(welcome: asyncio.Task[None]) -> None:
            self._welcomes.discard(welcome)
            self._shaking.discard(protocol)
            # Most who fail scan ports, or do not trust our certificate and tell their own people so.
            if welcome.cancelled() or welcome.exception() is not None:
                connected.close()
                self._quiet.pop(protocol, None)
                self._unasked.discard(protocol)
                return
            if protocol in self._quiet:
                self._quiet[protocol] = (_now(), protocol.force_close)
            loop.call_later(FIRST_QUESTION_S, self._ask_or_leave, protocol)

        welcome.add_done_callback(shaken)

    async def _shake_hands(
        self, loop: asyncio.AbstractEventLoop, connected: socket.socket, protocol: web.RequestHandler
    ) -> None:
        if self._tls is None:
            await loop.connect_accepted_socket(lambda: protocol, connected)
        else:
            await loop.connect_accepted_socket(
                lambda: protocol,
                connected,
                ssl=self._tls(),
                ssl_handshake_timeout=HANDSHAKE_LIMIT_S,
                ssl_shutdown_timeout=GOODBYE_LIMIT_S,
            )

    def _ask_or_leave(self, protocol: web.RequestHandler) -> None:
        if protocol in self._unasked:
            self._unasked.discard(protocol)
            self._quiet.pop(protocol, None)
            protocol.force_close()


def _now() -> float:
    return asyncio.get_running_loop().time()
