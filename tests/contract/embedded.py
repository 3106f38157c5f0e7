"""The embedded API server with its controllers, and the webhooks of the cases, on loopback."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import aiohttp
from aiohttp import web

from contract.hooks import Hooks
from contract.world import Server
from tangram.daemon.certificates import issue, server_context
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.sandbox.apiserver.server import LOOPBACK, Running, serving_api
from tangram.sandbox.controllers.service import Controllers


@asynccontextmanager
async def embedded_control_plane() -> AsyncGenerator[Running]:
    """Our API server and our controllers; nobody schedules, and there are no nodes."""
    supervisor = Supervisor()
    async with serving_api() as running, Api(running.connection()) as api:
        await Controllers(api, authority_pem=running.issued.authority.decode()).run(supervisor)
        yield running
        supervisor.stop()
        await supervisor.until_stopped()


@asynccontextmanager
async def embedded_server() -> AsyncGenerator[Server]:
    """The same, to put cases to."""
    hooks = Hooks()
    async with embedded_control_plane() as running, _serving(hooks):
        admin, nobody = running.connection(), running.connection()
        # What was before the cases is forgotten, as on the real one.
        running.parts.store.compact()
        headers = {"Authorization": f"Bearer {running.token}"}
        async with (
            aiohttp.ClientSession(
                running.address, connector=aiohttp.TCPConnector(ssl=admin.tls or False), headers=headers
            ) as administrator,
            aiohttp.ClientSession(
                running.address, connector=aiohttp.TCPConnector(ssl=nobody.tls or False)
            ) as stranger,
        ):
            yield Server(administrator, stranger, hooks)


@asynccontextmanager
async def _serving(hooks: Hooks) -> AsyncGenerator[None]:
    issued = issue((LOOPBACK,), "webhooks of the contract", now=datetime.now(UTC), life=timedelta(days=1))
    application = web.Application(client_max_size=64 << 20)
    application.router.add_route("*", "/{path:.*}", hooks.handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, LOOPBACK, 0, ssl_context=server_context(issued.pair))
        await site.start()
        [(_host, port, *_)] = runner.addresses
        hooks.served_at(f"https://{LOOPBACK}:{port}", issued.authority)
        yield
    finally:
        await runner.cleanup()
