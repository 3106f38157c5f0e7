"""A scheduler's door that says what a test wrote: `/view` and the rest, over TLS, for whoever shows a token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from builders.certificates import self_signed, serving
from tangram.reports.view_shape import View


class ScriptedScheduler:
    """`views` are told one after the other, the last one for ever."""

    def __init__(self, *views: View) -> None:
        self.views = list(views)
        self.asked: list[str] = []
        self.tokens: set[str] = set()
        self.news = asyncio.Event()
        self.failing = False

    def tell(self, told: View) -> None:
        self.views.append(told)
        self.news.set()

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        self.tokens.add(request.headers.get("Authorization", ""))
        if self.failing:
            return web.Response(body=b'{"Error": "it is unwell"}', status=500)
        if request.path != "/view":
            return web.Response(body=b'{"Error": "there is no such thing"}', status=404)
        if len(self.views) > 1:
            return _json(self.views.pop(0))
        if request.query.get("wait", "0") != "0":
            self.news.clear()
            try:
                async with asyncio.timeout(0.2):
                    await self.news.wait()
            except TimeoutError:
                pass
        return _json(self.views.pop(0) if len(self.views) > 1 else self.views[0])

    @asynccontextmanager
    async def serve(self, folder: Path) -> AsyncGenerator[tuple[str, Path]]:
        """Its address, and the file with the authority of its certificate."""
        pair = self_signed(folder)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving(pair))
        await site.start()
        try:
            port = runner.addresses[0][1]
            yield f"https://127.0.0.1:{port}", pair
        finally:
            await runner.cleanup()


def _json(told: View) -> web.Response:
    return web.Response(body=msgspec.json.encode(told), content_type="application/json")
