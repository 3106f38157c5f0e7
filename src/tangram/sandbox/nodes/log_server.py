"""The one port of all simulated kubelets: `/containerLogs`, which is where an API server fetches what kubectl shows.

It answers on loopback and to anybody there, as nothing in it is secret: containers of a sandbox say what the sandbox
made them say. Entering containers is refused with a sentence, because there is no process to enter.
"""

from __future__ import annotations

import datetime as dt
import socket
import ssl
from collections.abc import Callable
from typing import Final

import msgspec
from aiohttp import web

from tangram.sandbox.nodes.log_book import Line, LogBook, LogOfRun

HOST: Final = "127.0.0.1"
_MOST_DIGITS: Final = 15
_NO_PROCESS: Final = "containers of the sandbox have no process to run anything in; see their logs instead\n"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one question for logs."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since: dt.datetime | None = None
    most_bytes: int | None = None


class LogServer:
    """`start` and `stop`; `port` is set meanwhile."""

    def __init__(
        self,
        book: LogBook,
        tls: ssl.SSLContext | None,
        now: Callable[[], dt.datetime],
        listener: socket.socket | None = None,
    ) -> None:
        self._book = book
        self._tls = tls
        self._now = now
        self._listener = listener
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._on_logs)
        app.router.add_get("/healthz", _on_health)
        for word in ("exec", "attach", "run", "portForward"):
            app.router.add_route("*", f"/{word}/{{rest:.*}}", _on_entering)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        listener = self._listener or socket.create_server((HOST, 0))
        self.port = listener.getsockname()[1]
        await web.SockSite(self._runner, listener, ssl_context=self._tls).start()

    async def stop(self) -> None:
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def _on_logs(self, request: web.Request) -> web.StreamResponse:
        where = request.match_info
        namespace, pod, container = where["namespace"], where["pod"], where["container"]
        try:
            asked = self._read(request)
        except ValueError as error:
            return web.Response(status=422, text=f"{error}\n")
        run = self._book.find(namespace, pod, container, previous=asked.previous)
        if run is None:
            what = f'container "{container}" in pod "{pod}"'
            why = (
                f"previous terminated {what} not found"
                if asked.previous
                else f"{what} is waiting to start: ContainerCreating"
            )
            return web.Response(status=400, text=f"{why}\n")
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        await _write(response, run, asked)
        await response.write_eof()
        return response

    def _read(self, request: web.Request) -> Asked:
        query = request.query
        tail = _number(query.get("tailLines", query.get("tail")), "tailLines")
        seconds = _number(query.get("sinceSeconds"), "sinceSeconds")
        since = None if seconds is None else self._now() - dt.timedelta(seconds=seconds)
        if "sinceTime" in query:
            since = dt.datetime.fromisoformat(query["sinceTime"])
        return Asked(
            follow=query.get("follow") == "true",
            previous=query.get("previous") == "true",
            timestamps=query.get("timestamps") == "true",
            tail=tail,
            since=since,
            most_bytes=_number(query.get("limitBytes"), "limitBytes"),
        )


async def _write(response: web.StreamResponse, run: LogOfRun, asked: Asked) -> None:
    left, said = asked.most_bytes, run.said
    lines = [line for line in run.lines() if asked.since is None or line.at >= asked.since]
    if asked.tail is not None:
        lines = lines[len(lines) - min(asked.tail, len(lines)) :]
    coming = run.following(said) if asked.follow else None
    written = "".join(text_of(line, timestamps=asked.timestamps) for line in lines).encode()
    if left is not None:
        written, left = written[:left], max(0, left - len(written))
    if written:
        await response.write(written)
    if coming is None:
        return
    async for line in coming:
        data = text_of(line, timestamps=asked.timestamps).encode()
        if left is not None:
            data, left = data[:left], max(0, left - len(data))
        if data:
            await response.write(data)
        if left == 0:
            return


def text_of(line: Line, *, timestamps: bool) -> str:
    """A line as kubectl prints it."""
    moment = f"{line.at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%f}000Z " if timestamps else ""
    return f"{moment}{line.text}\n"


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise ValueError(f"{name} is {text!r:.40}: it is a whole number from 0")
    return int(text)


async def _on_entering(_request: web.Request) -> web.Response:
    return web.Response(status=501, text=_NO_PROCESS)


async def _on_health(_request: web.Request) -> web.Response:
    return web.Response(text="ok")
