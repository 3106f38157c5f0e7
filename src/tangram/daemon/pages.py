"""A few pages over HTTP, for probes and scrapers: one answer to one question, then the connection is closed.

Written out because it is this small. The HTTP library that speaks to the API server could serve too, and would bring
two more megabytes into every process of every node for three pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Final, NamedTuple

from tangram.daemon.listening import listeners_at, places_at

LONGEST_HEAD: Final = 16 * 1024
QUEUE: Final = 100
PATIENCE_S: Final = 10.0
"""How long a client may take to say what it wants, and to read what it gets."""


class Page(NamedTuple):
    body: bytes
    kind: str = "text/plain; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK


Pages = Mapping[str, Callable[[], Awaitable[Page]]]


@asynccontextmanager
async def serving_pages(host: str, port: int, pages: Pages) -> AsyncGenerator[tuple[str, int]]:
    """Serve the pages by their path meanwhile; where, with the real port. Raises `OSError`."""
    conversations: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            conversations.add(task)
            task.add_done_callback(conversations.discard)
        try:
            # A client that goes away, or never says anything, has nothing left to be told.
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(PATIENCE_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_answer(await _page(head, pages), with_body=not head.startswith(b"HEAD ")))
                    await writer.drain()
        finally:
            writer.close()

    listeners = listeners_at(await places_at(host, port), port, QUEUE)
    servers = [await asyncio.start_server(converse, sock=one, limit=LONGEST_HEAD) for one in listeners]
    try:
        found = listeners[0].getsockname()
        yield str(found[0]), int(found[1])
    finally:
        for server in servers:
            server.close()
        for task in conversations:
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)
        for server in servers:
            await server.wait_closed()


async def _page(head: bytes, pages: Pages) -> Page:
    words = head.partition(b"\r\n")[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/"):
        return Page(b"this is no question in HTTP\n", status=HTTPStatus.BAD_REQUEST)
    if words[0] not in (b"GET", b"HEAD"):
        return Page(b"there is nothing here but to be read\n", status=HTTPStatus.METHOD_NOT_ALLOWED)
    path = words[1].partition(b"?")[0].decode("utf-8", "replace")
    page = pages.get(path)
    if page is None:
        known = ", ".join(pages)
        return Page(f"there is no such page; there are {known}\n".encode(), status=HTTPStatus.NOT_FOUND)
    return await page()


def _answer(page: Page, *, with_body: bool) -> bytes:
    head = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
        f"Content-Type: {page.kind}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (page.body if with_body else b"")
