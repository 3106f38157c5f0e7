"""Who looks: found out for every request, and never taken for granted from the one before.

There are three ways to be somebody here. A Kubernetes token, in a header or behind a session, which the API server is
shown again whenever its last word is a minute old. An authenticating proxy, on a connection that proves to be it. And,
for a dashboard that a person runs for themselves on loopback, that person's own kubeconfig. Whoever is none of these
sees the page to sign in and nothing else. A token that does not hold is refused and never passed over in favour of
another way: who shows it means to be that account.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

import msgspec
from aiohttp import web

from tangram.kube.rights import RightsUnknown, User
from tangram.web.cookies import name_over
from tangram.web.forms import FormTokens
from tangram.web.known import NotKnown
from tangram.web.page import Viewer
from tangram.web.preferences import language_of, theme_of
from tangram.web.proxies import ProxyRules, is_loopback, is_proxy, named_by_proxy, peer_of
from tangram.web.receiving import NotSignedIn, Receives
from tangram.web.seeing import Seeing, Seen
from tangram.web.sessions import Gone, Session, Sessions
from tangram.web.sight import Sight
from tangram.web.sign_in import COOKIE, Entrance, unknown_rights
from tangram.web.tries import Tries

WRONG_HEADERS: Final = 60
"""Tokens in headers that an address may get wrong at once, and in a minute."""

_log = logging.getLogger(__name__)


class Way(StrEnum):
    TOKEN = "token"  # noqa: S105 - the name of a way, not a token
    PROXY = "proxy"
    NONE = "none"


class WaysIn(msgspec.Struct, frozen=True, kw_only=True):
    way: Way = Way.TOKEN
    actions: bool = False
    proxy: ProxyRules = ProxyRules()
    hosts: frozenset[str] = frozenset()
    """For `none`: names besides those of loopback under which this is reached, such as the address it listens at."""


class Rights(Protocol):
    """Raises `RightsUnknown`."""

    async def who(self, token: str) -> User | None: ...

    async def myself(self) -> User: ...


@dataclass(frozen=True, slots=True)
class Guest:
    """A viewer with what pages must not have: the session, and the person's own token."""

    viewer: Viewer
    session: Session | None = None
    token: str = field(default="", repr=False)


class _Identity(NamedTuple):
    user: User
    token: str = ""
    session: Session | None = None


class Reception:
    """Raises `NotSignedIn`, and `NotKnown` with a sentence for every other reason."""

    def __init__(
        self, rights: Rights, seeing: Seeing, ways: WaysIn, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.ways: Final = ways
        self.sessions: Final = Sessions(clock)
        self._rights = rights
        self._seeing = seeing
        self._tokens = FormTokens()
        self._wrong = Tries(WRONG_HEADERS, WRONG_HEADERS, clock)
        self._entrance = Entrance(self, rights, seeing, clock)

    @property
    def paths(self) -> Mapping[str, Mapping[str, Receives]]:
        """Signing in and out, and preferences; what answers is in `sign_in`."""
        return self._entrance.paths

    async def viewer(self, request: web.Request) -> Viewer:
        """Who looks, and what they may see now. A stream asks again before it says more; that costs nothing."""
        return (await self.guest(request)).viewer

    async def guest(self, request: web.Request) -> Guest:
        self.check(request)
        try:
            found = await self._identity(request)
            seen = await self._seeing.of(found.user)
        except RightsUnknown as unknown:
            _log.warning("%s was not answered: %s", request.path, unknown)
            raise unknown_rights() from None
        return Guest(self._viewer(request, found, seen), found.session, found.token)

    async def anybody(self, request: web.Request) -> Viewer:
        """Who looks, or a stranger: for what everybody may do, such as choosing a language."""
        try:
            return await self.viewer(request)
        except NotSignedIn:
            return self.stranger(request)

    def stranger(self, request: web.Request) -> Viewer:
        """Somebody who may see nothing, for pages that show nothing."""
        return Viewer(
            user=User(""),
            sight=Sight(),
            language=language_of(request),
            theme=theme_of(request),
            form_token=self._tokens.of(b"stranger"),
        )

    def leaving(self, request: web.Request) -> Viewer | None:
        """Who has a session, by that alone: to leave nobody needs a right, nor an API server that answers."""
        session = self.sessions.find(request.cookies.get(name_over(request, COOKIE), ""))
        if isinstance(session, Gone):
            return None
        return msgspec.structs.replace(
            self.stranger(request), user=User(session.owner), form_token=self._tokens.of(session.digest)
        )

    def check(self, request: web.Request) -> None:
        """Raises `NotKnown` where everybody is let in and the browser was led here under another site's name."""
        if self.ways.way is not Way.NONE:
            return
        if not is_loopback(peer_of(request)):
            raise NotKnown(
                "local-only",
                "this dashboard lets everybody in and so answers its own machine alone: run it with --sign-in token "
                "for others.",
                403,
            )
        host = _host_of(request.host)
        if host not in self.ways.hosts and not (
            host == "localhost" or host.endswith(".localhost") or is_loopback(host)
        ):
            raise NotKnown(
                "local-host",
                f"this dashboard was asked for as {host!r:.80}, and lets everybody in only under a name of this "
                "machine: open it as http://localhost with its port.",
                421,
            )

    def own_token(self, form_token: str) -> str:
        """The Kubernetes token of the session that this form token was made for; empty where there is none."""
        found = (one for one in self.sessions.all() if self._tokens.of(one.digest) == form_token)
        session = next(found, None)
        return session.token if session else ""

    async def _identity(self, request: web.Request) -> _Identity:
        if self.ways.way is Way.PROXY:
            named = named_by_proxy(request, self.ways.proxy)
            if named is not None:
                return _Identity(named)
        bearer = _bearer(request)
        if bearer:
            return _Identity(await self._by_header(request, bearer), bearer)
        number = request.cookies.get(name_over(request, COOKIE), "")
        if number:
            return await self._by_session(number)
        if self.ways.way is Way.NONE:
            return _Identity(await self._rights.myself())
        raise NotSignedIn

    async def _by_header(self, request: web.Request, token: str) -> User:
        # Everybody behind a proxy has its address.
        counts = not is_proxy(request, self.ways.proxy)
        wait = self._wrong.wait_s(peer_of(request)) if counts else 0
        if wait:
            raise NotKnown(
                "too-many-tries",
                f"too many tokens from this address were none of this cluster's; try again in {wait} s.",
                429,
            )
        user = await self._rights.who(token)
        if user is None:
            if counts:
                self._wrong.failed(peer_of(request))
            raise NotKnown(
                "wrong-header",
                "the token in the Authorization header is not one of this cluster, or has ended; send another one, or "
                "none to sign in here.",
                401,
            )
        return user

    async def _by_session(self, number: str) -> _Identity:
        session = self.sessions.find(number)
        if isinstance(session, Gone):
            if self.ways.way is Way.NONE and session is Gone.UNKNOWN:
                # Left over from before a restart; without it this person would be let in.
                return _Identity(await self._rights.myself())
            raise NotSignedIn(session.value)
        user = await self._rights.who(session.token)
        if user is None:
            self.sessions.end(session.digest)
            raise NotSignedIn("revoked")
        return _Identity(user, session.token, session)

    def _viewer(self, request: web.Request, found: _Identity, seen: Seen) -> Viewer:
        whose = found.session.digest if found.session else f"user {found.user.name}".encode()
        return Viewer(
            user=found.user,
            sight=seen.sight,
            language=language_of(request),
            theme=theme_of(request),
            may_act=self.ways.actions and seen.may_patch_nodes,
            form_token=self._tokens.of(whose),
            signed_in=found.session is not None,
        )


def _bearer(request: web.Request) -> str:
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _host_of(header: str) -> str:
    """The host without its port, as it is compared."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].rstrip(".")
