"""One answer for everybody who asks for the same at the same moment.

When something changes, every browser that shows a page fetches it again within a moment. Where it is the same for all
who see the same, it is made for the first and handed to the rest. Nothing is kept for longer than a second, since pages
say how long ago things were, and nothing beyond the moment that it was made of.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Final, NamedTuple

from aiohttp import web
from multidict import CIMultiDict

KEPT_S: Final = 1.0
MOST: Final = 64


class _Kept(NamedTuple):
    at: float
    status: int
    headers: CIMultiDict[str]
    body: bytes

    def answer(self) -> web.Response:
        return web.Response(status=self.status, headers=self.headers.copy(), body=self.body)


class Sharing:
    def __init__(self) -> None:
        self._kept: Final[dict[Hashable, _Kept]] = {}
        self._moment: Hashable = None

    async def answer(
        self, moment: Hashable, key: Hashable, now: float, make: Callable[[], Awaitable[web.Response]]
    ) -> web.Response:
        """What was made for this key at this moment, or what is made now."""
        if moment != self._moment or len(self._kept) >= MOST:
            self._kept.clear()
            self._moment = moment
        kept = self._kept.get(key)
        if kept is not None and 0 <= now - kept.at < KEPT_S:
            return kept.answer()
        response = await make()
        if isinstance(response.body, bytes) and moment == self._moment:
            self._kept[key] = _Kept(now, response.status, response.headers.copy(), response.body)
        return response
