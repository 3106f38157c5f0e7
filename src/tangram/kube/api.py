"""One connection to an API server: requests in, plain JSON out.

No models: each caller reads the few fields it needs through `wire/`, which is both faster and safer against fields
added by newer servers. No hidden retries either: the one who asks knows whether asking twice is harmless.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import msgspec

from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError, ApiUnreachable, error_of

Object = dict[str, Any]
JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

REQUEST_LIMIT_S: Final = 10.0
_TOKEN_LIFE_S: Final = 60.0
_SILENCE_LIMIT_S: Final = 90.0
"""A watch that brings neither events nor bookmarks for so long is dead: servers send a bookmark every minute."""


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
    ) -> Object:
        """One request and its answer. Raises `ApiError` for a refusal and `ApiUnreachable` for silence."""
        headers = self._headers() | ({"Content-Type": content} if body is not None else {})
        data = None if body is None else msgspec.json.encode(body)
        try:
            async with (
                asyncio.timeout(self._limit),
                self._open().request(method, path, data=data, headers=headers, params=query) as response,
            ):
                answer = await response.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ApiUnreachable(_sentence(method, path, error, self._limit)) from error
        if response.status >= 400:
            raise error_of(response.status, answer, response.headers.get("Retry-After"))
        try:
            return msgspec.json.decode(answer, type=Object) if answer else {}
        except msgspec.DecodeError as error:
            raise ApiUnreachable(f"{method} {path}: the answer is not JSON ({error})") from error

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

    async def watch(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[tuple[str, Object]]:
        """Events as (type, object) until the server ends the watch. Raises as `call` does; an `ERROR` event too."""
        limit = aiohttp.ClientTimeout(total=None, sock_connect=self._limit, sock_read=_SILENCE_LIMIT_S)
        asked = {"watch": "true", "allowWatchBookmarks": "true", **query}
        try:
            async with self._open().get(
                path, params=asked, headers=self._headers(), timeout=limit
            ) as response:
                if response.status >= 400:
                    raise error_of(
                        response.status, await response.read(), response.headers.get("Retry-After")
                    )
                unread = bytearray()
                async for chunk in response.content.iter_any():
                    unread += chunk
                    *lines, rest = unread.split(b"\n")
                    unread = rest
                    for line in lines:
                        if line:
                            yield _event(line)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise ApiUnreachable(_sentence("WATCH", path, error, _SILENCE_LIMIT_S)) from error

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self.connection.tls or False, limit=0)
            # Its own limits count from the start of a connection; ours count the whole call.
            self._session = aiohttp.ClientSession(
                self.connection.server,
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"User-Agent": self._agent, "Accept": JSON},
                auto_decompress=True,
            )
        return self._session

    def _headers(self) -> dict[str, str]:
        file = self.connection.token_file
        if file is not None and time.monotonic() - self._token_read > _TOKEN_LIFE_S:
            try:
                self._token = file.read_text("utf-8").strip()
            except OSError as error:
                raise ApiUnreachable(f"the token in {file} cannot be read ({error.strerror})") from error
            self._token_read = time.monotonic()
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}


class _WatchEvent(msgspec.Struct):
    type: str
    object: Object


def _event(line: bytes | bytearray) -> tuple[str, Object]:
    try:
        event = msgspec.json.decode(line, type=_WatchEvent)
    except msgspec.DecodeError as error:
        raise ApiUnreachable(f"a watch brought something that is no event ({error})") from error
    if event.type == "ERROR":
        status = event.object
        raise ApiError(
            int(status.get("code", 500)), str(status.get("reason", "")), str(status.get("message", ""))
        )
    return event.type, event.object


def _sentence(method: str, path: str, error: BaseException, limit: float) -> str:
    if isinstance(error, TimeoutError):
        return f"{method} {path}: the API server did not answer within {limit:g} s"
    return f"{method} {path}: {type(error).__name__}: {error}"
