"""Long lists read page by page, of which little is kept: a cluster may have thousands of nodes, and many more pods."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing
from typing import Any, Final, TypeVar

from tangram.kube.api import Api
from tangram.kube.backoff import Backoff
from tangram.kube.errors import GONE, ApiError, ApiUnreachable
from tangram.wire import loose

Object = dict[str, Any]
_Kept = TypeVar("_Kept")

PAGE: Final = 200
MOST_TRIES: Final = 4


def named(names: Collection[str] | None) -> list[dict[str, str]]:
    """The queries that list these objects, each by its name; without names the one that lists all."""
    if names is None:
        return [{}]
    return [{"fieldSelector": f"metadata.name={name}"} for name in names]


async def read_all(
    api: Api, path: str, keep: Callable[[Object], _Kept | None], names: Collection[str] | None = None
) -> list[_Kept]:
    """What is kept of every object. Raises `ApiError` and `ApiUnreachable`.

    A list begins again when the server has lost the place in it, or stumbles.
    """
    pauses = Backoff(0.2, 5.0)
    for left in range(MOST_TRIES - 1, 0, -1):
        try:
            return [kept for query in named(names) for kept in await _read(api, path, keep, query)]
        except ApiError as error:
            if error.status != GONE and not error.may_pass:
                raise
            await asyncio.sleep(pauses.pause(error.retry_after))
        except ApiUnreachable:
            # Twice is enough to tell a stumble from a server that is not there.
            if left < MOST_TRIES - 1:
                raise
            await asyncio.sleep(pauses.pause())
    return [kept for query in named(names) for kept in await _read(api, path, keep, query)]


async def _read(
    api: Api, path: str, keep: Callable[[Object], _Kept | None], query: dict[str, str]
) -> list[_Kept]:
    found: list[_Kept] = []
    async with aclosing(api.pages(path, query, PAGE)) as pages:
        async for page in pages:
            for thing in loose.elements(page.get("items")):
                kept = keep(dict(loose.members(thing)))
                if kept is not None:
                    found.append(kept)
    return found
