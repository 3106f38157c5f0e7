"""Signing in with a Kubernetes token, signing out, and choosing how pages look.

A token is sent in the body of a form, once, and is never sent back: not in a page, an address, a cookie or a log. What
a browser keeps is a number that was made for it at that moment, so one that somebody planted before is worth nothing.
Whoever is wrong too often waits.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from aiohttp import web

from tangram.daemon.web_asking import Reading
from tangram.kube.rights import RightsUnknown, User
from tangram.web.cookies import Cookie, name_over, put
from tangram.web.forms import check_form, check_origin, read_form
from tangram.web.going_back import HOME, SIGN_IN, after_sign_in
from tangram.web.known import NotKnown
from tangram.web.page import Asked, Shown, Viewer
from tangram.web.preferences import chosen
from tangram.web.proxies import peer_of
from tangram.web.receiving import Receives, Show
from tangram.web.seeing import Seeing
from tangram.web.sessions import LONGEST_S, Gone, Sessions
from tangram.web.tries import Tries

COOKIE: Final = "tangram-session"
TEMPLATE: Final = "sign-in.html"
REASONS: Final = frozenset({"unknown", "idle", "long", "revoked", "out"})
"""Why somebody is asked to sign in again; each has its sentence in `words/sign_in.py`."""

_log = logging.getLogger(__name__)


class Rights(Protocol):
    """Raises `RightsUnknown`."""

    async def who(self, token: str) -> User | None: ...


class House(Protocol):
    """What is needed of the reception."""

    @property
    def sessions(self) -> Sessions: ...

    def stranger(self, request: web.Request) -> Viewer: ...

    def leaving(self, request: web.Request) -> Viewer | None: ...

    async def anybody(self, request: web.Request) -> Viewer: ...


class Entrance:
    """Raises `NotKnown` for a form that is refused."""

    def __init__(
        self,
        reception: House,
        rights: Rights,
        seeing: Seeing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reception = reception
        self._rights = rights
        self._seeing = seeing
        self._tries = Tries(clock=clock)
        self._reading = Reading()
        self.paths: Final[Mapping[str, Mapping[str, Receives]]] = {
            SIGN_IN: {"GET": self._form, "POST": self._sign_in},
            "/sign-out": {"POST": self._sign_out},
            "/preferences": {"POST": self._preferences},
        }

    async def _form(self, request: web.Request, show: Show) -> web.Response:
        why = request.query.get("why", "")
        back = after_sign_in(request.query.get("back", ""))
        return await self._page(request, show, back, why if why in REASONS else "")

    async def _sign_in(self, request: web.Request, show: Show) -> web.Response:
        form = await read_form(request, self._reading)
        # Nobody is known yet whom the form could have been made for; where it comes from must be certain instead.
        check_origin(request, must_say=True)
        check_form(request, form, self._reception.stranger(request))
        back, address = after_sign_in(form.get("back", "")), peer_of(request)
        wait = self._tries.wait_s(address)
        if wait:
            return await self._page(request, show, back, "too-many", status=429, wait=wait)
        token = _token_in(form.get("token", ""))
        if not token:
            return await self._page(request, show, back, "empty", status=400)
        try:
            user = await self._rights.who(token)
        except RightsUnknown as unknown:
            _log.warning("nobody could sign in: %s", unknown)
            raise unknown_rights() from None
        if user is None:
            self._tries.failed(address)
            _log.info("a token from %s was none of this cluster", address, extra={"address": address})
            return await self._page(request, show, back, "wrong", status=403)
        self._end(request)
        self._seeing.forget(user)
        number = self._reception.sessions.begin(token, user.name)
        _log.info("%s signed in", user.name, extra={"user": user.name, "address": address})
        cookie = Cookie(name=name_over(request, COOKIE), value=number, lasts_s=int(LONGEST_S))
        return await self._go(request, show, back, (cookie,))

    async def _sign_out(self, request: web.Request, show: Show) -> web.Response:
        form = await read_form(request, self._reading)
        viewer = self._reception.leaving(request)
        if viewer is not None:
            check_form(request, form, viewer)
            self._end(request)
            _log.info("%s signed out", viewer.user.name, extra={"user": viewer.user.name})
        gone = Cookie(name=name_over(request, COOKIE), value="")
        return await self._go(request, show, f"{SIGN_IN}?why=out", (gone,))

    async def _preferences(self, request: web.Request, show: Show) -> web.Response:
        form = await read_form(request, self._reading)
        check_form(request, form, await self._reception.anybody(request))
        back, cookies = chosen(form)
        return await self._go(request, show, back, cookies)

    def _end(self, request: web.Request) -> None:
        """The session that this browser had, if any."""
        found = self._reception.sessions.find(request.cookies.get(name_over(request, COOKIE), ""))
        if not isinstance(found, Gone):
            self._reception.sessions.end(found.digest)

    async def _go(
        self, request: web.Request, show: Show, path: str, cookies: Sequence[Cookie]
    ) -> web.Response:
        response = await show(request, self._asked(request, HOME), Shown(go_to=path))
        for cookie in cookies:
            put(response, cookie, secure=request.secure)
        return response

    async def _page(
        self, request: web.Request, show: Show, back: str, why: str, *, status: int = 200, wait: int = 0
    ) -> web.Response:
        values = {"back": back, "why": why, "wait": wait}
        shown = Shown(template=TEMPLATE, values=values, status=status)
        response = await show(request, self._asked(request, back), shown)
        if wait:
            response.headers["Retry-After"] = str(wait)
        return response

    def _asked(self, request: web.Request, back: str) -> Asked:
        # What the frame of the page leads back to, after another language was chosen.
        query = {"back": back} if back != HOME else {}
        return Asked(viewer=self._reception.stranger(request), path=SIGN_IN, query=query, now=time.time())


def unknown_rights() -> NotKnown:
    """For people; the log has what the API server said, which may name others."""
    return NotKnown(
        "rights-unknown",
        "the API server did not say who you are or what you may see, so nothing is shown; try again in a moment.",
        503,
    )


def _token_in(text: str) -> str:
    """What was pasted, without the ends of lines that a terminal puts into a long word, and without `Bearer`."""
    joined = "".join(text.split())
    return joined.removeprefix("Bearer").removeprefix("bearer") if " " in text.strip() else joined
