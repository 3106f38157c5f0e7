"""Two ways to meet a hostile world: in this process and in virtual time, or over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager

import msgspec
from aiohttp import web

from builders.hostile_world import Cut, HostileWorld, Object, Refused
from tangram.kube.api import JSON, SILENCE_LIMIT_S, Api
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiSilent, ApiUnreachable, error_of
from tangram.kube.watching import event_in, whole_lines


class ApiWithoutWire(Api):
    """An API client whose server is in the same process; time limits and readers of bytes are the real ones."""

    def __init__(self, world: HostileWorld) -> None:
        super().__init__(Connection("http://nowhere.invalid", None))
        self._world = world

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = JSON,
        query: Mapping[str, str] | None = None,
        limit: float | None = None,
    ) -> Object:
        assert (method, body, content) == ("GET", None, JSON), path
        try:
            async with asyncio.timeout(limit), aclosing(self._world.list_chunks(query or {})) as chunks:
                answer = b"".join([chunk async for chunk in chunks])
        except (TimeoutError, Cut) as error:
            raise ApiUnreachable(f"GET {path}: {type(error).__name__}") from error
        except Refused as refused:
            raise _refusal(refused) from refused
        return msgspec.json.decode(answer, type=Object)

    async def watch(
        self, path: str, query: Mapping[str, str], opened: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[tuple[str, Object]]:
        async with (
            aclosing(self._world.watch_chunks(query)) as chunks,
            aclosing(whole_lines(_unless_silent(chunks, opened))) as lines,
        ):
            try:
                async for line in lines:
                    yield event_in(line)
            except Cut as error:
                raise ApiUnreachable(f"WATCH {path}: the connection broke") from error
            except Refused as refused:
                raise _refusal(refused) from refused


async def _unless_silent(chunks: AsyncGenerator[bytes], opened: Callable[[], None]) -> AsyncGenerator[bytes]:
    watching = False
    while True:
        try:
            async with asyncio.timeout(SILENCE_LIMIT_S):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise (ApiSilent if watching else ApiUnreachable)("nothing came") from error
        if not watching:
            watching = True
            opened()
        yield chunk


def _refusal(refused: Refused) -> Exception:
    return error_of(refused.status, msgspec.json.encode(refused.body), refused.retry_after or None)


@asynccontextmanager
async def hostile_server(world: HostileWorld) -> AsyncGenerator[Connection]:
    """The same world behind a real socket."""

    async def handle(request: web.Request) -> web.StreamResponse:
        watches = request.query.get("watch") == "true"
        chunks = (world.watch_chunks if watches else world.list_chunks)(request.query)
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        async with aclosing(chunks):
            try:
                async for chunk in chunks:
                    if not response.prepared:
                        await response.prepare(request)
                    if chunk:
                        await response.write(chunk)
            except Refused as refused:
                headers = {"Retry-After": refused.retry_after} if refused.retry_after else {}
                return web.json_response(refused.body, status=refused.status, headers=headers)
            except Cut:
                if request.transport is not None:
                    request.transport.abort()
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield Connection(f"http://{host}:{port}", None)
    finally:
        await runner.cleanup()
