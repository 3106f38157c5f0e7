"""An HTTP server of the test process that programs inside a box can reach.

Kubernetes calls extenders and webhooks; a test wants to see those calls and to choose the answers, so both are served
by the test itself, on a socket made in the control plane's network. Nothing of it listens outside the box.
"""

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from testbed.box import Box
from testbed.certificates import Pair
from testbed.rooms import CONTROL_ADDRESS

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
# Three hundred whole node objects do not fit the megabyte aiohttp reads by default.
LARGEST_BODY = 64 * 1024 * 1024
# Answers that a test still holds back at the end are dropped: nobody waits for them any more.
PATIENCE = 0.1


@asynccontextmanager
async def serve_inside(box: Box, handler: Handler, *, identity: Pair | None = None) -> AsyncGenerator[str]:
    """The address under which every path is served by one handler, over TLS when there is a certificate to show."""
    application = web.Application(client_max_size=LARGEST_BODY)
    application.router.add_route("*", "/{path:.*}", handler)
    # A caller that has hung up must not end the handler: what it does afterwards is what some tests are about.
    runner = web.AppRunner(
        application, access_log=None, handler_cancellation=False, shutdown_timeout=PATIENCE
    )
    await runner.setup()
    try:
        listening = box.listen(CONTROL_ADDRESS)
        port: int = listening.getsockname()[1]
        await web.SockSite(runner, listening, ssl_context=_context(identity)).start()
        scheme = "https" if identity else "http"
        yield f"{scheme}://{CONTROL_ADDRESS}:{port}"
    finally:
        await runner.cleanup()


def _context(identity: Pair | None) -> ssl.SSLContext | None:
    if identity is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(identity.certificate, identity.key)
    return context
