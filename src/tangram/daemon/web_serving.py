"""A web application at an address, for as long as it is wanted.

Plain text is for the same machine. Anywhere else, whoever is on the way can read and change what is said, so an address
that others can reach is refused unless there is a certificate, or the caller says that plain text is what people were
promised there.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from tangram.daemon.endpoints import Address
from tangram.daemon.errors import SettingError
from tangram.daemon.listening import listeners_at, places_at
from tangram.daemon.web_asking import KIBI
from tangram.daemon.web_connections import Connections, Tls

CONNECTIONS: Final = 256
QUIET_LIMIT_S: Final = 120.0
"""Go's clients, kube-scheduler and the API server among them, leave a quiet connection after 90 s by themselves. Were
we first, we could close it just as a question is on its way, and a POST is not sent again."""
WRITE_LIMIT_S: Final = 10.0
"""How long a client may take to read its answer."""
LONGEST_HEADER: Final = 20 * KIBI
"""Tokens of people with many groups are long, and so is a question that names many namespaces."""
LINGER_S: Final = 1.0
"""How long the rest of a body that nobody wants is taken, so that its sender hears why."""
END_LIMIT_S: Final = 3.0
"""How long questions under way may take once the end is asked for."""
_QUEUE: Final = 512

_log = logging.getLogger(__name__)
_strangers = logging.getLogger(f"{__name__}.strangers")
# What is no HTTP is told to the one who sent it; a traceback for each would let them fill our log.
_strangers.setLevel(logging.CRITICAL)


@asynccontextmanager
async def serving_app(
    app: web.Application,
    address: Address,
    tls: Tls | None = None,
    *,
    option: str,
    plain_for_others: bool = False,
    connections: int = CONNECTIONS,
) -> AsyncGenerator[Address]:
    """Serve the application there meanwhile; the address with its real port. Raises `SettingError`.

    `option` is what people wrote the address into.
    """
    listeners = await _listeners(address, option, for_others=plain_for_others or tls is not None)
    rooms: list[Connections] = []
    app.middlewares.append(_around(rooms))
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_strangers,
        max_line_size=LONGEST_HEADER,
        max_field_size=LONGEST_HEADER,
        lingering_time=LINGER_S,
        keepalive_timeout=QUIET_LIMIT_S,
        shutdown_timeout=END_LIMIT_S,
    )
    accepting: list[asyncio.Task[None]] = []
    try:
        await runner.setup()
        if runner.server is None:
            raise RuntimeError("an application that was set up has a server")
        room = Connections(runner.server, tls, connections)
        rooms.append(room)
        accepting = [asyncio.create_task(room.accept_from(one), name=f"{option}: door") for one in listeners]
        found = listeners[0].getsockname()
        served = Address(str(found[0]), int(found[1]))
        _log.info("%s is served at %s", option, served, extra={"address": str(served)})
        yield served
    finally:
        for task in accepting:
            task.cancel()
        await asyncio.gather(*accepting, return_exceptions=True)
        for one in listeners:
            one.close()
        for room in rooms:
            await room.close()
        await runner.cleanup()


def _around(rooms: Sequence[Connections]) -> Middleware:
    """Around every question: who has asked it whole is busy until the answer is out, and has so long to read it."""

    @web.middleware
    async def around(request: web.Request, handler: Handler) -> web.StreamResponse:
        protocol = request.protocol
        answered = False

        def came_whole() -> None:
            for room in () if answered else rooms:
                room.begin(protocol)

        for room in rooms:
            room.ask(protocol)
        request.content.on_eof(came_whole)
        try:
            response = await handler(request)
            try:
                async with asyncio.timeout(WRITE_LIMIT_S):
                    await response.prepare(request)
                    await response.write_eof()
            except TimeoutError:
                if request.transport is not None:
                    request.transport.abort()
                raise ConnectionResetError("the answer was not read") from None
            return response
        finally:
            answered = True
            for room in rooms:
                room.end(protocol)

    return around


async def _listeners(address: Address, option: str, *, for_others: bool) -> list[socket.socket]:
    try:
        places = await places_at(address.host, address.port)
    except (OSError, UnicodeError) as error:
        raise _unusable(address, option, error) from None
    if not for_others and not all(ipaddress.ip_address(place.host).is_loopback for place in places):
        raise SettingError(
            f"{option} is {str(address)!r:.80}, which others can reach, and there is no certificate: plain text is "
            "served on this machine alone; name 127.0.0.1, or give a certificate."
        )
    try:
        return listeners_at(places, address.port, _QUEUE)
    except OSError as error:
        raise _unusable(address, option, error) from None


def _unusable(address: Address, option: str, error: Exception) -> SettingError:
    number = error.errno if isinstance(error, OSError) else None
    reason = os.strerror(number) if number and number > 0 else str(error)
    return SettingError(
        f"{option} is {str(address)!r:.80}, where nothing can be served ({reason}): "
        "name a free address of this machine."
    )
