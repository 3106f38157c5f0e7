"""A dashboard with a real reception, before an API server whose word on everybody is written down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache

from aiohttp import ClientResponse, ClientSession, DummyCookieJar, web
from aiohttp.test_utils import TestServer

from builders.dashboards import FakeKnown, parts_of
from tangram.kube.rights import RightsUnknown, User
from tangram.web.answers import Answers
from tangram.web.app import Parts, dashboard_app
from tangram.web.reception import Reception, WaysIn
from tangram.web.rendering import Rendering
from tangram.web.seeing import Namespaces, Seeing
from tangram.web.static_files import StaticFiles

ADMIN = ("list pods", "list nodes", "patch nodes")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_time(self, seconds: float) -> None:
        self.now += seconds


class WrittenRights:
    """People by their tokens, and rights by name as in `list pods research`."""

    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        self.rights: dict[str, set[str]] = {}
        self.me = User("kubeconfig-owner")
        self.lost = False
        self.asked: list[tuple[str, str]] = []
        """Who was asked about, and what."""

    def person(self, name: str, *rights: str, token: str = "") -> User:
        user = User(name)
        if token:
            self.users[token] = user
        self.rights[name] = set(rights)
        return user

    async def who(self, token: str) -> User | None:
        self._answer()
        return self.users.get(token)

    async def myself(self) -> User:
        self._answer()
        return self.me

    async def may(self, user: User, verb: str, resource: str, namespace: str = "", *, name: str = "") -> bool:
        self._answer()
        del name
        right = f"{verb} {resource} {namespace}".strip()
        self.asked.append((user.name, right))
        return right in self.rights.get(user.name, ())

    def _answer(self) -> None:
        if self.lost:
            raise RightsUnknown("the API server did not say: it is gone")


class Scene:
    """One dashboard and everything around it that a test may turn."""

    def __init__(self, known: FakeKnown, ways: WaysIn) -> None:
        self.known = known
        self.clock = Clock()
        self.rights = WrittenRights()
        self.namespaces = Namespaces()
        known.picture.listeners.append(self.namespaces.note)
        self.namespaces.add(
            holder.pod.partition("/")[0]
            for node in known.picture.nodes.values()
            for card in node.cards
            for holder in card.holders
        )
        self.namespaces.add(pod.pod.partition("/")[0] for pod in known.picture.waiting.values())
        self.seeing = Seeing(self.rights, self.namespaces, self.clock)
        self.reception = Reception(self.rights, self.seeing, ways, self.clock)

        self.parts: Parts
        """Of the application that was made last."""

    def app(self, *, proxy_door: bool = False) -> web.Application:
        parts = parts_of(self.known, self.reception)
        self.parts = replace(parts, answers=Answers(_rendering(), self.known, parts.hub.stamp))
        return dashboard_app(self.parts, for_proxy=proxy_door)

    @asynccontextmanager
    async def served(self, *, proxy_door: bool = False) -> AsyncGenerator[Browser]:
        server = TestServer(self.app(proxy_door=proxy_door))
        await server.start_server()
        try:
            async with ClientSession(server.make_url("/"), cookie_jar=DummyCookieJar()) as session:
                yield Browser(session)
        finally:
            await server.close()


@cache
def _rendering() -> Rendering:
    """Templates are compiled once for all tests."""
    return Rendering(StaticFiles().address)


class Browser:
    """Sends what a browser sends with a form of our own pages, and keeps cookies as it is told."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self.cookies: dict[str, str] = {}
        self.set_cookies: list[str] = []
        self.texts: list[str] = []
        """Everything that was ever answered, headers and all."""

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
        async with self.session.get(
            path, headers={**self._cookie(), **(headers or {})}, allow_redirects=False
        ) as response:
            return await self._took(response)

    async def post(
        self, path: str, form: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        said = {"Sec-Fetch-Site": "same-origin"} if headers is None else headers
        async with self.session.post(
            path, data=dict(form), headers={**self._cookie(), **said}, allow_redirects=False
        ) as response:
            return await self._took(response)

    async def sign_in(self, token: str, back: str = "/") -> tuple[int, str]:
        """Through the page itself, as a person does."""
        _status, page = await self.get("/sign-in")
        return await self.post("/sign-in", {"token": token, "back": back, "form_token": form_token_in(page)})

    def _cookie(self) -> dict[str, str]:
        text = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Cookie": text} if text else {}

    async def _took(self, response: ClientResponse) -> tuple[int, str]:
        self.set_cookies = response.headers.getall("Set-Cookie", [])
        for name, morsel in response.cookies.items():
            if morsel.value:
                self.cookies[name] = morsel.value
            else:
                self.cookies.pop(name, None)
        body = await response.text()
        self.texts.append(f"{response.url} {response.headers} {body}")
        return response.status, response.headers.get("Location", body)


def form_token_in(page: str) -> str:
    """The first one in a page."""
    return page.partition('name="form_token" value="')[2].partition('"')[0]
