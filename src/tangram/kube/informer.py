"""A local copy of a list of objects, kept true by list and watch.

It promises three things. Changes of one object arrive in the order the server made them. After any gap (a lost
connection, a watch the server has forgotten) the next full list is compared with the copy, so nothing is missed and
nothing deleted stays. And it never gives up: the server may be away for hours, the copy is then merely old.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tangram.kube.api import Api, Object
from tangram.kube.errors import GONE, ApiError, ApiUnreachable

PAGE: Final = 500
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 30.0
WATCH_S: Final = 300
"""The server ends a watch after about so long; we vary it, so that a fleet of agents does not come back at once."""


class Key(NamedTuple):
    """What an object is called. A new object under an old name has another uid, and counts as another object."""

    namespace: str
    name: str


class Change(NamedTuple):
    """One step: `new` is None when the object is gone, `old` when it was not known before."""

    key: Key
    old: Object | None
    new: Object | None


def key_of(thing: Mapping[str, Any]) -> Key:
    """The key of an object as the API server sends it."""
    metadata = thing["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


class Informer:
    """`run()` until cancelled; `objects` is the copy, `synced` is set after the first full list."""

    def __init__(
        self,
        api: Api,
        path: str,
        told: Callable[[Change], None],
        *,
        query: Mapping[str, str] | None = None,
        troubled: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        self._api = api
        self._path = path
        self._told = told
        self._query = dict(query or {})
        self._troubled = troubled
        self.objects: Final[dict[Key, Object]] = {}
        self.synced: Final = asyncio.Event()
        self.fresh = False
        """Whether the copy follows the server right now; false while the connection is lost."""

    async def run(self) -> None:
        pause = FIRST_PAUSE_S
        version = ""
        while True:
            try:
                if not version:
                    version = await self._list()
                self.fresh = True
                version = await self._follow(version)
                pause = FIRST_PAUSE_S
            except ApiError as error:
                self.fresh = False
                # 410: the server no longer knows that moment. Anything else is told, and the list tried again too.
                version = ""
                if error.status == GONE:
                    continue
                self._troubled(str(error))
                pause = await _rest(max(pause, error.retry_after or 0.0))
            except ApiUnreachable as error:
                self.fresh = False
                self._troubled(str(error))
                pause = await _rest(pause)

    async def _list(self) -> str:
        seen: dict[Key, Object] = {}
        token, version = "", ""
        while True:
            query = self._query | {"limit": str(PAGE)} | ({"continue": token} if token else {})
            page = await self._api.get(self._path, **query)
            items: list[Object] = page.get("items") or []
            metadata: Object = page.get("metadata") or {}
            seen.update((key_of(item), item) for item in items)
            version, token = str(metadata.get("resourceVersion", "")), str(metadata.get("continue") or "")
            if not token:
                break
        for key in [key for key in self.objects if key not in seen]:
            self._take(key, None)
        for key, item in seen.items():
            self._take(key, item)
        self.synced.set()
        return version

    async def _follow(self, version: str) -> str:
        """Watch from a moment on; the moment reached when the server ends the watch in good order."""
        seconds = str(int(WATCH_S * random.uniform(0.8, 1.2)))  # noqa: S311 - spreads load, guards nothing
        query = self._query | {"resourceVersion": version, "timeoutSeconds": seconds}
        async for kind, thing in self._api.watch(self._path, query):
            version = str(thing["metadata"].get("resourceVersion", version))
            if kind != "BOOKMARK":
                self._take(key_of(thing), None if kind == "DELETED" else thing)
        return version

    def _take(self, key: Key, new: Object | None) -> None:
        old = self.objects.get(key)
        if old is not None and new is not None:
            if old["metadata"].get("uid") != new["metadata"].get("uid"):
                # Deleted and made again while nobody watched: two steps, never one.
                self._take(key, None)
                old = None
            elif old["metadata"].get("resourceVersion") == new["metadata"].get("resourceVersion"):
                return
        if new is None:
            if self.objects.pop(key, None) is None:
                return
        else:
            self.objects[key] = new
        self._told(Change(key, old, new))


async def _rest(pause: float) -> float:
    """Wait about so long; the next wait is longer."""
    await asyncio.sleep(pause * random.uniform(0.7, 1.3))  # noqa: S311 - spreads load, guards nothing
    return min(pause * 2, LONGEST_PAUSE_S)
