"""An API server in little: one list of objects with versions, watches that can be cut, refusals on demand.

It keeps the rules clients depend on (every change has a larger version, a watch starts after the version it names, a
version that is too old is answered 410) and none of the rest.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tangram.kube.connection import Connection

Object = dict[str, Any]


class SmallApiServer:
    """Serves every path under /api/v1 as one collection; `objects` are keyed by their full path."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.history: list[tuple[int, str, str, Object]] = []
        self.oldest = 0
        self.version = 0
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.answer_first: Callable[[web.Request], web.Response | None] = lambda _request: None
        self._changed = asyncio.Event()
        self._cut = asyncio.Event()
        self._asked = asyncio.Semaphore(0)
        self.watching = 0

    async def asked(self, times: int) -> None:
        """Wait until so many more requests have come."""
        async with asyncio.timeout(20):
            for _ in range(times):
                await self._asked.acquire()

    def put(self, path: str, thing: Object) -> Object:
        kind = "MODIFIED" if path in self.objects else "ADDED"
        self.version += 1
        namespace = path.split("/")[4] if "/namespaces/" in path else ""
        metadata = {"name": path.rsplit("/", 1)[1], "namespace": namespace, "uid": f"uid-{path}"} | thing.get(
            "metadata", {}
        )
        kept = {**thing, "metadata": metadata | {"resourceVersion": str(self.version)}}
        self.objects[path] = kept
        self._tell(kind, path, kept)
        return kept

    def remove(self, path: str) -> None:
        gone = self.objects.pop(path)
        self.version += 1
        self._tell(
            "DELETED", path, {**gone, "metadata": gone["metadata"] | {"resourceVersion": str(self.version)}}
        )

    def forget_history(self) -> None:
        self.oldest = self.version
        self.history.clear()

    def belongs(self, path: str, collection: str) -> bool:
        """Whether an object is one of those listed there."""
        return path.startswith(collection + "/")

    def cut_watches(self) -> None:
        """Every open watch breaks, as when a proxy restarts."""
        self._cut.set()
        self._cut = asyncio.Event()

    def _tell(self, kind: str, path: str, thing: Object) -> None:
        self.history.append((self.version, kind, path, thing))
        self._changed.set()
        self._changed = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body: Any = json.loads(text) if text else {}
        self._asked.release()
        self.requests.append((request.method, request.path, dict(request.query), body))
        first = self.answer_first(request)
        if first is not None:
            return first
        if request.query.get("watch") == "true":
            return await self._watch(request)
        match request.method:
            case "GET" if request.path in self.objects:
                return web.json_response(self.objects[request.path])
            case "GET":
                return self._list(request)
            case "POST":
                name = body["metadata"].get("name") or f"{body['metadata']['generateName']}{self.version}"
                return web.json_response(self.put(f"{request.path}/{name}", body), status=201)
            case "PATCH" if request.path in self.objects:
                return web.json_response(self.put(request.path, {**self.objects[request.path], **body}))
            case _:
                return refusal(404, "NotFound", f"{request.path} not found")

    def _list(self, request: web.Request) -> web.Response:
        found = sorted(
            (path, thing) for path, thing in self.objects.items() if self.belongs(path, request.path)
        )
        if not found and not request.path.rsplit("/", 1)[1].endswith("s"):
            return refusal(404, "NotFound", f"{request.path} not found")
        start, limit = int(request.query.get("continue", "0")), int(request.query.get("limit", "1000"))
        page = [thing for _, thing in found[start : start + limit]]
        metadata: Object = {"resourceVersion": str(self.version)}
        if start + limit < len(found):
            metadata["continue"] = str(start + limit)
        return web.json_response({"metadata": metadata, "items": page})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        since = int(request.query["resourceVersion"])
        if since < self.oldest:
            return refusal(410, "Expired", "too old resource version")
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        self.watching += 1
        cut = self._cut
        try:
            while not cut.is_set():
                changed = self._changed
                for version, kind, path, thing in list(self.history):
                    if version > since and self.belongs(path, request.path):
                        await response.write(json.dumps({"type": kind, "object": thing}).encode() + b"\n")
                        since = version
                waits = [asyncio.create_task(changed.wait()), asyncio.create_task(cut.wait())]
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for wait in waits:
                        wait.cancel()
            if request.transport is not None:
                request.transport.abort()
        finally:
            self.watching -= 1
        return response


def refusal(status: int, reason: str, message: str, **headers: str) -> web.Response:
    body = {"kind": "Status", "code": status, "reason": reason, "message": message}
    return web.json_response(
        body, status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


@asynccontextmanager
async def small_api_server() -> AsyncGenerator[tuple[SmallApiServer, Connection]]:
    server = SmallApiServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield server, Connection(f"http://{host}:{port}", None)
    finally:
        await runner.cleanup()
