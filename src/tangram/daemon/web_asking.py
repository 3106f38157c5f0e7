"""Questions over HTTP to a daemon that has more than a few pages: each path one answer, each body within its bounds.

Whoever reaches a port may send anything, at any pace. So nothing here trusts a length, a type or a time: a body is read
up to a size and for so long, few large ones are in memory at once, and every answer is one sentence in JSON or what the
daemon said. The daemon's own failure is told in the log, never to the one who asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import msgspec
from aiohttp import web

KIBI: Final = 1024
MEBI: Final = 1024 * KIBI
SMALL_BODY: Final = MEBI
"""Bodies up to here are read as they come; of larger ones only a few at a time."""
LARGE_AT_ONCE: Final = 4
READ_LIMIT_S: Final = 10.0
"""How long a client may take to send its body."""

_log = logging.getLogger(__name__)

Answering = Callable[[web.Request], Awaitable[web.Response]]
Paths = Mapping[str, Mapping[str, Answering]]
"""Path to method to what answers it. A path that ends in `/*` is any with one more part there."""


class NotAnswered(Exception):  # noqa: N818 - says what is the case
    """The one who asked gets this sentence, and no answer."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers


def told(sentence: str, status: int = 200, **headers: str) -> web.Response:
    """One sentence in JSON, under the name kube-scheduler reads."""
    return web.Response(
        body=msgspec.json.encode({"Error": sentence}),
        status=status,
        content_type="application/json",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def application(paths: Paths) -> web.Application:
    """An application that answers these paths and nothing else."""
    known = ", ".join(sorted(paths))

    async def answer(request: web.Request) -> web.Response:
        folder, slash, last = request.path.rpartition("/")
        methods = paths.get(request.path) or (paths.get(f"{folder}{slash}*") if last else None)
        if methods is None:
            return told(f"there is no such path; there are {known}", 404)
        answering = methods.get(request.method)
        if answering is None:
            allowed = ", ".join(sorted(methods))
            return told(
                f"{request.path} is asked by {allowed}, not by {request.method:.20}", 405, Allow=allowed
            )
        try:
            return await answering(request)
        except NotAnswered as refused:
            return told(refused.sentence, refused.status, **refused.headers)
        except ConnectionError:
            raise
        except Exception:  # noqa: BLE001 - whatever it was, the one who asked gets a sentence
            _log.exception("%s %s could not be answered", request.method, request.path)
            return told("the question could not be answered; the log of this process says why", 500)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    return app


class Reading:
    """Reads bodies for one application, so that all of them together stay within its memory."""

    def __init__(self) -> None:
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def body(self, request: web.Request, most: int) -> bytes:
        """The whole body, however it was sent. Raises `NotAnswered`, or `ConnectionError` when the client went away."""
        length = request.content_length
        if length is not None and length > most:
            raise _too_large(request, most)
        # A length says nothing about what comes out of a compressed body.
        small = length is not None and length <= SMALL_BODY and "Content-Encoding" not in request.headers
        try:
            async with asyncio.timeout(READ_LIMIT_S):
                if small:
                    return await _all(request, most)
                async with self._large:
                    return await _all(request, most)
        except TimeoutError:
            raise NotAnswered(
                408, f"the body of {request.path} did not come within {READ_LIMIT_S:g} s; send it at once"
            ) from None
        except web.RequestPayloadError as error:
            raise NotAnswered(400, f"the body of {request.path} cannot be read ({error!s:.120})") from None


def probe(reasons: Callable[[], Sequence[str]]) -> Answering:
    """What the kubelet asks: `ok`, or 503 with what is the matter, one sentence a line."""

    async def answer(_request: web.Request) -> web.Response:
        found = reasons()
        text = "".join(f"{reason}\n" for reason in found) if found else "ok\n"
        return web.Response(text=text, status=503 if found else 200)

    return answer


async def _all(request: web.Request, most: int) -> bytes:
    content = request.content
    first = await content.readany()
    if content.at_eof() and len(first) <= most:
        return first
    whole = bytearray(first)
    while len(whole) <= most:
        chunk = await content.readany()
        if not chunk and content.at_eof():
            return bytes(whole)
        whole += chunk
    raise _too_large(request, most)


def _too_large(request: web.Request, most: int) -> NotAnswered:
    return NotAnswered(
        413, f"the body of {request.path} is larger than {most // MEBI} MiB; send less at a time"
    )
