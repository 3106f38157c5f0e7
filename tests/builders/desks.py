"""A scheduler's desk that remembers what it was asked, and says what a test wants; and clients who behave badly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tangram.daemon.endpoints import Address
from tangram.services.scheduler.desk import Caller, Reply


class ScriptedDesk:
    """Answers its own name to everything, unless it is told to fail."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.callers: list[Caller] = []
        self.nodes: tuple[str, ...] = ()
        self.failure: Exception | None = None
        self.answer = b""
        self.wait: asyncio.Event | None = None
        self.reasons_unready: list[str] = []
        self.reasons_unhealthy: list[str] = []

    async def _answer(self, verb: str, body: bytes, caller: Caller | None = None) -> Reply:
        self.asked.append((verb, body))
        if caller is not None:
            self.callers.append(caller)
        if self.wait is not None:
            await self.wait.wait()
        if self.failure is not None:
            raise self.failure
        return Reply(self.answer or f'{{"said":"{verb}"}}'.encode())

    async def filter(self, body: bytes) -> Reply:
        return await self._answer("filter", body)

    async def bind(self, body: bytes) -> Reply:
        return await self._answer("bind", body)

    async def preempt(self, body: bytes) -> Reply:
        return await self._answer("preempt", body)

    async def review(self, body: bytes) -> Reply:
        return await self._answer("review", body)

    async def guard(self, body: bytes) -> Reply:
        return await self._answer("guard", body)

    async def explain_pod(
        self, namespace: str, name: str, caller: Caller, nodes: Sequence[str] = ()
    ) -> Reply:
        self.nodes = tuple(nodes)
        return await self._answer("explain_pod", f"{namespace}/{name}".encode(), caller)

    async def explain_manifest(self, body: bytes, caller: Caller, nodes: Sequence[str] = ()) -> Reply:
        self.nodes = tuple(nodes)
        return await self._answer("explain_manifest", body, caller)

    async def view(self, epoch: str, since: str, wait: str) -> Reply:
        return await self._answer("view", f"{epoch} {since} {wait}".encode())

    async def view_node(self, name: str, pod: str) -> Reply:
        return await self._answer("view_node", f"{name} {pod}".encode())

    def end_waiting(self) -> None:
        if self.wait is not None:
            self.wait.set()

    async def device_summaries(self, node: str | None) -> Reply:
        return await self._answer("device_summaries", (node or "").encode())

    async def metrics(self, *, gzipped: bool) -> Reply:  # noqa: ARG002 - a page this small is sent as it is
        return Reply(b"cards 8\n", kind="text/plain; version=0.0.4")

    def unready(self) -> Sequence[str]:
        return self.reasons_unready

    def unhealthy(self) -> Sequence[str]:
        return self.reasons_unhealthy


async def say(address: Address, *words: bytes, pause: float = 0.0) -> bytes:
    """Send these words one after the other; everything that comes back until the server closes."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        for word in words:
            writer.write(word)
            await writer.drain()
            await asyncio.sleep(pause)
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()


async def ask(
    address: Address, path: str, body: bytes = b"", *, method: str = "", headers: str = ""
) -> tuple[int, bytes]:
    """One question, and the status and body of its answer."""
    way = method or ("POST" if body else "GET")
    head = f"{way} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    answer = await say(address, head.encode() + body)
    start, _, rest = answer.partition(b"\r\n\r\n")
    return int(start.split(b" ")[1]), rest
