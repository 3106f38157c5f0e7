"""Who stands at the door: what the application asks of a reception, and how it says that nobody known is there.

A reception is asked about every question but those of probes. It knows cookies, headers and tokens; nothing behind it
does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from aiohttp import web

from tangram.web.page import Asked, Shown, Viewer

Show = Callable[[web.Request, Asked, Shown], Awaitable[web.Response]]
"""Makes an answer of a page, with everything that every page has."""
Receives = Callable[[web.Request, Show], Awaitable[web.Response]]


class NotSignedIn(Exception):  # noqa: N818 - says what is the case
    """Nobody is known here. A page leads to the form for signing in, everything else is answered with 401.

    `why` is a word for that form; empty for somebody who simply came.
    """

    def __init__(self, why: str = "") -> None:
        super().__init__(why or "not signed in")
        self.why = why


class Reception(Protocol):
    """Everything raises `NotKnown` for a refusal."""

    @property
    def paths(self) -> Mapping[str, Mapping[str, Receives]]:
        """Path to method to what answers: signing in and out, preferences. Forms there are checked there."""
        ...

    def check(self, request: web.Request) -> None:
        """Of every question, also of those for static files: whether it may have come here at all."""
        ...

    def stranger(self, request: web.Request) -> Viewer:
        """Somebody who sees nothing, with the language and theme of the browser: for errors and for signing in."""
        ...

    async def viewer(self, request: web.Request) -> Viewer:
        """Who asks, and what they may see now. Raises `NotSignedIn` too."""
        ...
