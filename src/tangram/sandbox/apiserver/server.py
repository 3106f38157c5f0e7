"""The server at an address of this machine, for as long as it is wanted."""

from __future__ import annotations

import errno
import secrets
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

from aiohttp import web
from msgspec import Struct

from tangram.daemon.certificates import Issued, issue, server_context
from tangram.daemon.errors import SettingError
from tangram.kube.connection import Connection
from tangram.sandbox.apiserver.documents import Documents
from tangram.sandbox.apiserver.journal import FileJournal
from tangram.sandbox.apiserver.parts import Parts
from tangram.sandbox.apiserver.serving import Serving

LOOPBACK: Final = "127.0.0.1"
LIFE: Final = timedelta(days=365)
END_S: Final = 1.0


class Running(Struct, frozen=True, kw_only=True):
    """A server that answers, and how its administrator reaches it."""

    address: str
    token: str
    issued: Issued
    parts: Parts

    def connection(self, token: str = "") -> Connection:
        tls = ssl.create_default_context(cadata=self.issued.authority.decode())
        return Connection(self.address, tls, token=token or self.token)


def make_certificate() -> Issued:
    """What the server and the kubelets show, and who vouches for it."""
    return issue((LOOPBACK, "localhost"), "tangram sandbox", now=datetime.now(UTC), life=LIFE)


@asynccontextmanager
async def serving_api(
    port: int = 0,
    *,
    issued: Issued | None = None,
    token: str = "",
    journal: FileJournal | None = None,
) -> AsyncGenerator[Running]:
    """An API server on loopback; port 0 takes a free one. Raises `SettingError` for a port that is taken."""
    issued = issued or make_certificate()
    token = token or secrets.token_urlsafe(24)
    listener = _listener(port)
    place = f"{LOOPBACK}:{listener.getsockname()[1]}"
    parts = Parts(administrator=token, authority=issued.authority, journal=journal)
    app = Serving(parts, Documents(parts.registry, place)).app()
    # Whoever hangs up while watching is forgotten at once.
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=END_S)
    await runner.setup()
    try:
        await web.SockSite(runner, listener, ssl_context=server_context(issued.pair)).start()
        yield Running(address=f"https://{place}", token=token, issued=issued, parts=parts)
    finally:
        await runner.cleanup()
        await parts.close()


def check_port(port: int) -> None:
    """Raises `SettingError` for one at which no server could listen now."""
    _listener(port).close()


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    try:
        check_port(port)
    except SettingError:
        return False
    return True


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port), backlog=512)
    except OSError as error:
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        why = (
            "is in use by another program"
            if error.errno == errno.EADDRINUSE
            else f"cannot be used ({error.strerror})"
        )
        raise SettingError(
            f"port {port} {why}: name another one with --port"
            + (", or 0 for any that is free." if taken else ".")
        ) from None
