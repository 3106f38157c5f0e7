"""A registry, spoken to: requests with a login, answers or a sentence.

One place knows how to show who one is. A registry first refuses and says what it wants; what was shown then is shown
again with each request until it is refused once more, because tokens end within minutes and a push may take longer.
A secret goes to the registry and to the token server it names, and nowhere else: not along with a redirect, and not
to a host that an answer sends an upload to.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import re
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self
from urllib.parse import urlencode

import aiohttp
import msgspec
from multidict import CIMultiDictProxy
from yarl import URL

import tangram
from tangram.services.images.addresses import Target
from tangram.services.images.challenges import Challenge, read_challenges
from tangram.services.images.errors import UNREADABLE, BusyError, ImagesError
from tangram.services.images.logins import Login
from tangram.services.images.patience import Sleep, patiently
from tangram.services.images.places import is_same_place, read_address
from tangram.services.images.proxies import proxy_for
from tangram.services.images.proxies import shown as shown_proxy
from tangram.services.images.refusals import BUSY, Speaker

_MOST_READ: Final = 1 << 20
_PIECE: Final = 1 << 20
_GREETING: Final = frozenset(range(200, 500)) - BUSY
_TOKEN: Final = re.compile(r"[!-~]+")
_CONNECT_S: Final = 15
_SILENCE_S: Final = 120
"""A registry that keeps its blobs elsewhere copies them before it answers."""


class Answer(NamedTuple):
    status: int
    headers: CIMultiDictProxy[str]
    content: bytes


class Streamed(NamedTuple):
    """What is sent piece by piece, because it is too large to be held; `opened` begins it anew for each try."""

    size: int
    opened: Callable[[], io.BufferedReader]


class _Token(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""


class Registry:
    """An open connection to one registry for one project."""

    def __init__(
        self,
        target: Target,
        speaker: Speaker,
        *,
        login: Login | None,
        scopes: Sequence[str],
        trust: ssl.SSLContext | None,
        environment: Mapping[str, str],
        pause: Sleep = asyncio.sleep,
    ) -> None:
        """`scopes` are the rights that a token is asked for; no `trust` is plain HTTP."""
        self.target = target
        self.speaker = speaker
        self.pause = pause
        scheme = "https" if trust is not None else "http"
        self.base = URL(f"{scheme}://{target.host}/v2/")
        self._login = login
        self._scopes = tuple(scopes)
        self._trust = trust
        self._environment = environment
        self._shown = ""
        self._accepted = False
        self._signing_in = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(
                total=None, connect=None, sock_connect=_CONNECT_S, sock_read=_SILENCE_S
            ),
            # Compression on the way would change the lengths that tell whether a blob is whole.
            headers={"User-Agent": f"tangram/{tangram.__version__}", "Accept-Encoding": "identity"},
            # Registries with pages for people take a caller with a cookie for a browser, and want a browser's proof.
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def greet(self) -> None:
        """Raise unless a registry answers there, and one that accepts the login."""
        what = "its greeting"
        answer = await patiently(
            self.pause, lambda: self.ask("GET", self.base, what, _GREETING), heeded=BusyError
        )
        if answer.status in {400, 401, 403}:
            raise self.speaker.refused(what, answer.status, answer.content)
        if answer.status != 200:
            raise self.speaker.not_a_registry(answer.status)
        self._accepted = self._login is not None

    async def ask(
        self,
        method: str,
        url: URL,
        what: str,
        expected: Collection[int],
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | Streamed | None = None,
    ) -> Answer:
        """One request, tried once. Raises `InterruptedPushError` where another try may help."""
        answer = await self._shown_to(url, method, headers or {}, body)
        if answer.status in expected:
            return answer
        if answer.status in BUSY:
            raise self.speaker.busy(what, answer.status, answer.content, _retry_after(answer))
        # Who has been greeted is known; many registries say 401 all the same when a right is missing.
        status = 403 if answer.status == 401 and self._accepted else answer.status
        raise self.speaker.refused(what, status, answer.content)

    async def digest(self, url: URL, what: str, on_bytes: Callable[[int], None]) -> str:
        """The digest of what is kept there, read whole and piece by piece; empty if there is nothing."""
        answer = await self._shown_to(url, "HEAD", {}, None)  # signs in, if that has to be
        if answer.status == 404:
            return ""
        if self._session is None:
            raise RuntimeError("a registry is asked inside `async with`")
        shown = {"Authorization": self._shown} if self._shown else {}
        proxy = proxy_for(url, self._environment)
        found = hashlib.sha256()
        try:
            async with self._session.get(
                url, headers=shown, ssl=self._trust or True, proxy=proxy
            ) as response:
                if response.status != 200:
                    content = await _content(response)
                    if response.status in BUSY:
                        raise self.speaker.busy(what, response.status, content, 0.0)
                    raise self.speaker.refused(what, response.status, content)
                async for piece in response.content.iter_chunked(_PIECE):
                    found.update(piece)
                    on_bytes(len(piece))
        except (aiohttp.ClientError, TimeoutError, OSError, UnicodeError) as error:
            raise self.speaker.failed(error, proxy=shown_proxy(proxy)) from None
        return f"sha256:{found.hexdigest()}"

    async def _shown_to(
        self, url: URL, method: str, headers: Mapping[str, str], body: bytes | Streamed | None
    ) -> Answer:
        """A request with what the registry asked to be shown; sent once more if that has ended."""
        if not is_same_place(url, self.base):
            return await self._send(url, method, headers, body, "")
        shown = self._shown
        answer = await self._send(url, method, headers, body, shown)
        if answer.status != 401:
            return answer
        async with self._signing_in:
            # Three uploads are refused at once when a token ends; the first one fetches the next token for all.
            if self._shown == shown:
                asked = read_challenges(answer.headers.getall("WWW-Authenticate", ()))
                self._shown = await self._sign_in(asked)
        if not self._shown:
            return answer
        return await self._send(url, method, headers, body, self._shown)

    async def _sign_in(self, challenges: list[Challenge]) -> str:
        for challenge in challenges:
            if challenge.scheme == "bearer" and "realm" in challenge.settings:
                return f"Bearer {await self._token(challenge.settings)}"
            if challenge.scheme == "basic" and self._login is not None and not self._login.is_token:
                return _basic(self._login)
        return ""

    async def _token(self, settings: Mapping[str, str]) -> str:
        realm = read_address(settings["realm"])
        if realm is None or (realm.scheme == "http" and self._trust is not None):
            raise ImagesError(
                f"{self.target.domain} sends logins to {settings['realm']!r:.120}, which is not reached by HTTPS: "
                "they are not sent there; mend the registry's settings."
            )
        service = [("service", settings["service"])] if settings.get("service") else []
        login = self._login
        if login is not None and login.is_token:
            form = {**dict(service), "scope": " ".join(self._scopes), "client_id": "tangram"}
            form |= {"grant_type": "refresh_token", "refresh_token": login.secret}
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = await self._send(realm, "POST", kind, urlencode(form).encode(), "")
        else:
            known = _basic(login) if login is not None else ""
            asked = [*realm.query.items(), *service, *(("scope", scope) for scope in self._scopes)]
            answer = await self._send(realm.with_query(asked), "GET", {}, None, known)
        if answer.status in BUSY:
            raise self.speaker.busy("a login", answer.status, answer.content, _retry_after(answer))
        if answer.status != 200:
            raise self.speaker.refused(
                "a login", 401 if answer.status == 400 else answer.status, answer.content
            )
        try:
            given = msgspec.json.decode(answer.content, type=_Token)
        except UNREADABLE:
            given = _Token()
        token = given.token or given.access_token
        if _TOKEN.fullmatch(token) is None:
            raise ImagesError(f"{realm.host} answered a login for {self.target.domain} with no token.")
        return token

    async def _send(
        self, url: URL, method: str, headers: Mapping[str, str], body: bytes | Streamed | None, shown: str
    ) -> Answer:
        if self._session is None:
            raise RuntimeError("a registry is asked inside `async with`")
        sent = dict(headers)
        if shown:
            sent["Authorization"] = shown
        if isinstance(body, Streamed):
            sent["Content-Length"] = str(body.size)
        proxy = proxy_for(url, self._environment)
        try:
            async with self._session.request(
                method,
                url,
                headers=sent,
                data=body.opened()
                if isinstance(body, Streamed)
                else None
                if body is None
                else io.BytesIO(body),
                ssl=self._trust or True,
                proxy=proxy,
                allow_redirects=method in {"GET", "HEAD"},
            ) as response:
                return Answer(response.status, response.headers, await _content(response))
        except (aiohttp.ClientError, TimeoutError, OSError, UnicodeError) as error:
            where = "" if is_same_place(url, self.base) else url.authority
            raise self.speaker.failed(error, where=where, proxy=shown_proxy(proxy)) from None


async def _content(response: aiohttp.ClientResponse) -> bytes:
    """All that arrives, which may be in many parts, up to more than any answer to a program has."""
    held = bytearray()
    async for part in response.content.iter_any():
        held += part
        if len(held) >= _MOST_READ:
            break
    return bytes(held)


def _basic(login: Login) -> str:
    return f"Basic {base64.b64encode(f'{login.user}:{login.secret}'.encode()).decode()}"


def _retry_after(answer: Answer) -> float:
    told = answer.headers.get("Retry-After", "")
    return float(told) if told.isascii() and told.isdigit() and len(told) < 6 else 0.0
