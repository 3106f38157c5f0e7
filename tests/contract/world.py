"""What a case has: one server, a namespace of its own, and a name that nothing else on the server has.

Requests are raw: content types, headers and bodies are part of what is compared, and a client that completed or refused
anything by itself would hide it.
"""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from contract.hooks import Hooks

Object = dict[str, Any]
Json = Any
"""JSON of any shape: what is compared is looked at without knowing it."""

JSON: Final = "application/json"
YAML: Final = "application/yaml"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

_LARGE: Final = 1 << 20
PATIENCE: Final = 20.0
"""Seconds for what a server or a controller does in its own time."""


@dataclass(frozen=True, slots=True)
class Server:
    """An API server to ask. `admin` may do everything; `nobody` shows no credentials but those a case adds."""

    admin: aiohttp.ClientSession
    nobody: aiohttp.ClientSession
    hooks: Hooks


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, with the headers that mean something."""

    code: int
    body: Json
    """What the JSON says, or the text where it is none."""
    content: str = JSON
    warnings: tuple[str, ...] = ()
    retry_after: str = ""

    def __getitem__(self, key: str) -> Json:
        return self.body[key]

    @property
    def version(self) -> str:
        return self.body["metadata"]["resourceVersion"]

    @property
    def uid(self) -> str:
        return self.body["metadata"]["uid"]


@dataclass(slots=True)
class Stream:
    """An open watch."""

    code: int
    refusal: Json
    _response: aiohttp.ClientResponse
    seen: list[Object] = field(default_factory=list[Object])

    async def next(self) -> Object:
        """The next event; {} when the server has ended the watch."""
        async with asyncio.timeout(PATIENCE):
            line = await self._response.content.readline()
        event: Object = json.loads(line) if line else {}
        if event:
            self.seen.append(event)
        return event

    async def take(self, count: int) -> list[Object]:
        return [await self.next() for _ in range(count)]

    async def until(self, last: Callable[[Object], bool]) -> list[Object]:
        """Every event up to the first that is `last`, with it."""
        found: list[Object] = []
        while True:
            event = await self.next()
            found.append(event)
            if not event or last(event):
                return found

    async def to_the_end(self) -> list[Object]:
        return (await self.until(lambda _event: False))[:-1]


@dataclass(frozen=True, slots=True)
class World:
    server: Server
    tag: str
    """Unlike every other case's; part of each name outside the namespace, and read as `TAG` in what was observed."""

    @property
    def namespace(self) -> str:
        return f"ns-{self.tag}"

    def named(self, name: str) -> str:
        """A name for something that has no namespace."""
        return f"{self.tag}-{name}"

    @property
    def group(self) -> str:
        """An API group of this case's own."""
        return f"{self.tag}.example.com"

    def at(self, place: str, version: str = "v1") -> str:
        """An address in the case's namespace: `pods`, `pods/a/status`."""
        return f"{_root(version)}/namespaces/{self.namespace}/{place}"

    def top(self, place: str, version: str = "v1") -> str:
        """An address outside namespaces, or of all of them."""
        return f"{_root(version)}/{place}"

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = JSON,
        accept: str = JSON,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        **query: str,
    ) -> Answer:
        """One request; a body that is bytes is sent as it is. With a token it is somebody else who asks."""
        return await self._ask(
            method, path, body, query, content, accept=accept, token=token, headers=headers
        )

    async def _ask(
        self,
        method: str,
        path: str,
        body: object,
        query: Mapping[str, str],
        content: str = JSON,
        *,
        accept: str = JSON,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = {"Accept": accept, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = content
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        # aiohttp warns of large bodies in one piece.
        sent_data = io.BytesIO(data) if data is not None and len(data) > _LARGE else data
        who = self.server.admin
        if token is not None:
            who = self.server.nobody
            sent |= {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            asyncio.timeout(PATIENCE),
            who.request(
                method, path, data=sent_data, headers=sent, params=query, allow_redirects=False
            ) as response,
        ):
            text = (await response.read()).decode("utf-8", "replace")
            return Answer(
                response.status,
                _parsed(text),
                response.headers.get("Content-Type", ""),
                tuple(response.headers.getall("Warning", [])),
                response.headers.get("Retry-After", ""),
            )

    async def get(self, path: str, **query: str) -> Answer:
        return await self._ask("GET", path, None, query)

    async def post(self, path: str, body: object, **query: str) -> Answer:
        return await self._ask("POST", path, body, query)

    async def put(self, path: str, body: object, **query: str) -> Answer:
        return await self._ask("PUT", path, body, query)

    async def delete(self, path: str, body: object = None, **query: str) -> Answer:
        return await self._ask("DELETE", path, body, query)

    async def merge(self, path: str, change: object, **query: str) -> Answer:
        return await self._ask("PATCH", path, change, query, MERGE_PATCH)

    async def json_patch(self, path: str, *operations: Object, **query: str) -> Answer:
        return await self._ask("PATCH", path, list(operations), query, JSON_PATCH)

    async def strategic(self, path: str, change: object, **query: str) -> Answer:
        return await self._ask("PATCH", path, change, query, STRATEGIC_PATCH)

    async def apply(self, path: str, wanted: object, manager: str = "alice", **query: str) -> Answer:
        return await self._ask("PATCH", path, wanted, {**query, "fieldManager": manager}, APPLY_PATCH)

    async def must(self, asked: Awaitable[Answer]) -> Answer:
        """For what only prepares the case: an answer that is no refusal."""
        answer = await asked
        if answer.code >= 300:
            raise AssertionError(f"the case could not be prepared: {answer.code} {answer.body}")
        return answer

    async def have(self, path: str, thing: object, **query: str) -> Answer:
        return await self.must(self.post(path, thing, **query))

    async def until(self, path: str, true: Callable[[Answer], bool], **query: str) -> Answer:
        """The answer at `path` once it is as wanted."""
        last = time.monotonic() + PATIENCE
        while True:
            answer = await self.get(path, **query)
            if true(answer):
                return answer
            if time.monotonic() > last:
                raise AssertionError(f"{path} did not become as wanted: {answer.code} {answer.body}")
            await asyncio.sleep(0.02)

    async def until_gone(self, path: str) -> Answer:
        return await self.until(path, lambda answer: answer.code == 404)

    @asynccontextmanager
    async def watching(self, path: str, *, accept: str = JSON, **query: str) -> AsyncGenerator[Stream]:
        """A watch, from the moment the server has agreed to it."""
        limit = aiohttp.ClientTimeout(total=None, sock_read=PATIENCE)
        async with self.server.admin.get(
            path, params={"watch": "true", **query}, headers={"Accept": accept}, timeout=limit
        ) as response:
            refusal = None if response.status < 300 else _parsed(await response.text())
            yield Stream(response.status, refusal, response)


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text
