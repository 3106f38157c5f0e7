"""One connection to an API server: requests in, plain JSON out.

No models: each caller reads the few fields it needs through `wire/`, which is both faster and safer against fields
added by newer servers. No hidden retries either: the one who asks knows whether asking twice is harmless.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec

from tangram.kube.connection import Connection
from tangram.kube.errors import ApiSilent, ApiUnreachable, error_of
from tangram.kube.objects import Object
from tangram.kube.watching import event_in, whole_lines
from tangram.wire import loose

__all__ = ["APPLY_PATCH", "JSON", "MERGE_PATCH", "REQUEST_LIMIT_S", "STRATEGIC_PATCH", "Api", "Object"]

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
"""Lists of built-in kinds are merged by their keys: one condition changes, the others stay."""
APPLY_PATCH: Final = "application/apply-patch+yaml"

REQUEST_LIMIT_S: Final = 10.0
_TOKEN_LIFE_S: Final = 60.0
SILENCE_LIMIT_S: Final = 90.0
"""A watch that brings neither events nor bookmarks for so long is dead: servers send a bookmark every minute."""
PAGE: Final = 500
MOST_CONNECTIONS: Final = 128
"""At once. A burst waits its turn for one that is open already instead of opening a thousand."""
IDLE_S: Final = 30.0
"""Connections are kept so long for the next request. Servers close idle ones after 90 s, some proxies after 50."""
_REDIRECTED: Final = 300
"""An API server redirects nobody. Whoever does is something else, and our token is not for it."""


class Api:
    """Use as an async context manager, or `close()` it."""

    def __init__(
        self, connection: Connection, *, limit: float = REQUEST_LIMIT_S, agent: str = "tangram"
    ) -> None:
        self.connection: Final = connection
        self._limit = limit
        self._agent = agent
        self._session: aiohttp.ClientSession | None = None
        self._token = connection.token
        self._token_read = -_TOKEN_LIFE_S

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

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
        """One request and its answer, within `limit` seconds instead of the usual ones where one is given.

        Raises `ApiError` for a refusal and `ApiUnreachable` for silence.
        """
        answer = await self.answer(method, path, body, content=content, query=query, limit=limit)
        try:
            return msgspec.json.decode(answer, type=Object) if answer else {}
        except msgspec.DecodeError as error:
            raise ApiUnreachable(f"{method} {path}: the answer is not JSON ({error})") from error

    async def answer(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = JSON,
        query: Mapping[str, str] | None = None,
        limit: float | None = None,
    ) -> bytes:
        """The same as it came, for those who know what it holds and would only decode it again."""
        headers = {"Content-Type": content} if body is not None else {}
        data = None if body is None else msgspec.json.encode(body)
        return await self._exchange(method, path, data, headers=headers, query=query, limit=limit)

    async def text(self, path: str, *, limit: float | None = None) -> str:
        """What a path answers that serves no objects, such as /readyz. Raises as `call` does."""
        answer = await self._exchange("GET", path, None, headers={"Accept": "*/*"}, query=None, limit=limit)
        return answer.decode("utf-8", "replace")

    async def _exchange(
        self,
        method: str,
        path: str,
        data: bytes | None,
        *,
        headers: Mapping[str, str],
        query: Mapping[str, str] | None,
        limit: float | None,
    ) -> bytes:
        limit = self._limit if limit is None else limit
        headers = {**self._headers(), **headers}
        try:
            async with (
                asyncio.timeout(limit),
                self._open().request(
                    method, self._at(path), data=data, headers=headers, params=query, allow_redirects=False
                ) as response,
            ):
                answer = await response.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ApiUnreachable(_sentence(method, path, error, limit)) from error
        if response.status >= _REDIRECTED:
            raise error_of(response.status, answer, response.headers.get("Retry-After"))
        return answer

    async def get(self, path: str, **query: str) -> Object:
        return await self.call("GET", path, query=query)

    async def create(self, path: str, body: object, **query: str) -> Object:
        return await self.call("POST", path, body, query=query)

    async def merge(self, path: str, change: object, **query: str) -> Object:
        """A JSON merge patch: null removes a key."""
        return await self.call("PATCH", path, change, content=MERGE_PATCH, query=query)

    async def apply(self, path: str, wanted: object, manager: str) -> Object:
        """Server-side apply: we own exactly the fields we send, and lose those we no longer send."""
        query = {"fieldManager": manager, "force": "true"}
        return await self.call("PATCH", path, wanted, content=APPLY_PATCH, query=query)

    async def delete(self, path: str, body: object = None) -> Object:
        return await self.call("DELETE", path, body)

    async def pages(
        self, path: str, query: Mapping[str, str], size: int = PAGE, *, limit: float | None = None
    ) -> AsyncGenerator[Object]:
        """A list in pages of so many items, each as the server sent it. The server may end it half way with a 410.

        While one page is being read the next is on its way.
        """

        def ask(token: str) -> asyncio.Task[Object]:
            asked = {**query, "limit": str(size)} | ({"continue": token} if token else {})
            return asyncio.create_task(self.call("GET", path, query=asked, limit=limit))

        token, coming = "", ask("")
        try:
            while True:
                page = await coming
                if not loose.is_list(page.get("items", [])) and page["items"] is not None:
                    raise ApiUnreachable(f"GET {path}: the answer is no list")
                before, token = token, loose.text(loose.members(page.get("metadata")).get("continue"))
                if token and token == before:
                    raise ApiUnreachable(f"GET {path}: the list goes round in a circle")
                if token:
                    coming = ask(token)
                yield page
                if not token:
                    return
        finally:
            coming.cancel()
            # What it ended with is nobody's business any more.
            await asyncio.wait({coming})
            if not coming.cancelled():
                coming.exception()

    async def list_all(self, path: str, query: Mapping[str, str] | None = None) -> list[Object]:
        """Every object of a list, in the server's order."""
        found: list[Object] = []
        async for page in self.pages(path, query or {}):
            found += page.get("items") or []
        return found

    async def watch(
        self, path: str, query: Mapping[str, str], opened: Callable[[], None] = lambda: None
    ) -> AsyncGenerator[tuple[str, Object]]:
        """Events as (type, object) until the server ends the watch. Raises as `call` does; an `ERROR` event too.

        `opened` is called when the server has agreed to it, which is long before the first event of a quiet list.
        """
        limit = aiohttp.ClientTimeout(total=None, sock_connect=self._limit, sock_read=SILENCE_LIMIT_S)
        asked = {"watch": "true", "allowWatchBookmarks": "true", **query}
        watching = False
        try:
            async with asyncio.timeout(self._limit):
                response = await self._open().get(
                    self._at(path),
                    params=asked,
                    headers=self._headers(),
                    timeout=limit,
                    allow_redirects=False,
                )
            async with response:
                if response.status >= _REDIRECTED:
                    async with asyncio.timeout(self._limit):
                        answer = await response.read()
                    raise error_of(response.status, answer, response.headers.get("Retry-After"))
                watching = True
                opened()
                async for line in whole_lines(response.content.iter_any()):
                    yield event_in(line)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if watching and isinstance(error, TimeoutError):
                raise ApiSilent(f"WATCH {path}: nothing came for {SILENCE_LIMIT_S:g} s") from error
            raise ApiUnreachable(_sentence("WATCH", path, error, self._limit)) from error

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                ssl=self.connection.tls or False,
                limit=MOST_CONNECTIONS,
                keepalive_timeout=IDLE_S,
                socket_factory=lively_socket,
            )
            # Its own limits count from the start of a connection; ours count the whole call.
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"User-Agent": self._agent, "Accept": JSON},
                auto_decompress=True,
            )
        return self._session

    def _at(self, path: str) -> str:
        """Below the server's own path, where a proxy for many clusters gives it one."""
        return f"{self.connection.server}{path}"

    def _headers(self) -> dict[str, str]:
        file = self.connection.token_file
        if file is not None and time.monotonic() - self._token_read > _TOKEN_LIFE_S:
            try:
                self._token = file.read_text("utf-8").strip()
            except OSError as error:
                raise ApiUnreachable(f"the token in {file} cannot be read ({error.strerror})") from error
            self._token_read = time.monotonic()
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}


def lively_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket that notices within half a minute that its peer is gone without a word: a machine without power."""
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 15)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    return made


def _sentence(method: str, path: str, error: BaseException, limit: float) -> str:
    if isinstance(error, TimeoutError):
        return f"{method} {path}: the API server did not answer within {limit:g} s"
    return f"{method} {path}: {type(error).__name__}: {error}"
