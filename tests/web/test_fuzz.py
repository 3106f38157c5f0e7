"""Whatever is sent, the dashboard answers with a page: never a failure of ours, never an echo that runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest
from aiohttp import web
from aiohttp.streams import StreamReader
from aiohttp.test_utils import make_mocked_request
from hypothesis import example, given
from hypothesis import strategies as st
from multidict import CIMultiDict

from builders.dashboard_demo import demo_known
from builders.dashboards import FORM_TOKEN, NOW, FakeReception, parts_of, viewer
from tangram.web.app import dashboard_app
from tangram.web.language import Language
from tangram.web.page import Viewer
from tangram.web.pages.all import PAGES
from tangram.web.sight import Sight

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
"""Recognized in an answer by the parts that would do harm."""
HARM = ("<script>alert", "<img src=x", "onerror=alert(1)>")

_texts = st.one_of(
    st.text(max_size=40), st.just(EVIL), st.sampled_from(["-1", "0", "1e9", "nan", "a/b", "../..", "%00"])
)
_fields = st.dictionaries(
    st.one_of(
        st.sampled_from(
            ["q", "page", "vendor", "product", "namespace", "policy", "state", "pod", "from", "to", "node", "card",
             "action", "manifest", "names", "since", "sort", "form_token"]
        ),
        st.text(min_size=1, max_size=10),
    ),
    _texts,
    max_size=6,
)  # fmt: skip
_names = st.one_of(st.sampled_from(["metax-a01", "research", "llama-70b-0", "gone", EVIL]), _texts)
_viewers = st.sampled_from(
    [
        viewer(may_act=True),
        viewer(sight=Sight(nodes=True, namespaces=frozenset({"research"})), language=Language.CHINESE),
        viewer(sight=Sight()),
    ]
)


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with asyncio.Runner() as runner:
        yield Desk(runner)


class Desk:
    """The application without sockets: a request goes in, an answer comes out."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self.reception = FakeReception(viewer())
        self.known = demo_known(NOW)
        self._app = self._runner.run(self._made())

    async def _made(self) -> web.Application:
        app = dashboard_app(parts_of(self.known, self.reception))
        app.freeze()
        return app

    def ask(
        self, path: str, method: str = "GET", headers: dict[str, str] | None = None, body: bytes = b""
    ) -> tuple[int, str, str]:
        """Status, kind and text."""
        return self._runner.run(self._ask(path, method, CIMultiDict(headers or {}), body))

    async def _ask(
        self, path: str, method: str, headers: CIMultiDict[str], body: bytes
    ) -> tuple[int, str, str]:
        loop = asyncio.get_running_loop()
        content = StreamReader(_NoProtocol(), 2**16, loop=loop)  # pyright: ignore[reportArgumentType] - nothing is paused
        content.feed_data(body)
        content.feed_eof()
        request = make_mocked_request(method, path, headers, app=self._app, payload=content)
        match = await self._app.router.resolve(request)
        response = await match.handler(request)
        assert isinstance(response, web.Response)
        text = response.body.decode("utf-8") if isinstance(response.body, bytes) else ""
        return response.status, response.content_type, text


class _NoProtocol:
    _reading_paused = False

    def pause_reading(self) -> None: ...

    def resume_reading(self, *, resume_parser: bool = True) -> None: ...


def _check(status: int, kind: str, text: str) -> None:
    assert status < 500 or status == 503
    if kind == "text/html":
        assert not [harm for harm in HARM if harm in text]


@given(
    path=st.sampled_from([page.path for page in PAGES]),
    names=st.tuples(_names, _names),
    query=_fields,
    by=_viewers,
)
@example(path="/nodes/{name}", names=(EVIL, EVIL), query={"pod": EVIL}, by=viewer())
@example(path="/", names=("", ""), query={"q": EVIL, "page": "-1"}, by=viewer())
def test_any_query_of_any_page_is_answered(
    desk: Desk, path: str, names: tuple[str, str], query: dict[str, str], by: Viewer
) -> None:
    desk.reception.known = by
    filled = path.replace("{namespace}", quote(names[0], safe="")).replace("{name}", quote(names[1], safe=""))
    _check(*desk.ask(f"{filled}?{urlencode(query)}"))


@given(path=st.text(max_size=60), query=st.text(max_size=60), fragment=st.booleans())
@example(path=EVIL, query=EVIL, fragment=False)
@example(path="static/../../etc/passwd", query="", fragment=False)
def test_any_path_is_answered(desk: Desk, path: str, query: str, fragment: bool) -> None:  # noqa: FBT001 - drawn
    headers = {"X-Fragment": "main"} if fragment else {}
    _check(*desk.ask(f"/{quote(path, safe='/%')}?{quote(query, safe='=&%+')}", headers=headers))


@given(
    headers=st.dictionaries(
        st.sampled_from(
            ["Accept-Language", "Cookie", "Accept-Encoding", "Last-Event-ID", "Origin", "X-Fragment"]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80),
    )
)
def test_any_headers_are_answered(desk: Desk, headers: dict[str, str]) -> None:
    headers.pop("Accept-Encoding", None)
    _check(*desk.ask("/pods", headers=headers))


@given(form=_fields, token=st.booleans(), path=st.sampled_from(["/explain", "/cards/cordon"]), by=_viewers)
@example(form={"manifest": EVIL}, token=True, path="/explain", by=viewer())
def test_any_form_is_answered(desk: Desk, form: dict[str, str], token: bool, path: str, by: Viewer) -> None:  # noqa: FBT001 - drawn
    desk.reception.known = by
    sent = urlencode({**form, **({"form_token": FORM_TOKEN} if token else {})}).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    _check(*desk.ask(path, "POST", kind, sent))


@given(
    body=st.binary(max_size=200),
    kind=st.sampled_from(["application/x-www-form-urlencoded", "text/plain", ""]),
)
def test_any_body_is_answered(desk: Desk, body: bytes, kind: str) -> None:
    _check(*desk.ask("/explain", "POST", {"Content-Type": kind} if kind else {}, body))


@given(
    manifest=st.one_of(
        st.text(max_size=300),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
            ),
            max_leaves=12,
        ).map(str),
    )
)
@example(manifest="kind: Pod\nmetadata: {name: '<script>alert(1)</script>'}\nspec: {containers: []}")
@example(manifest="a: &a [*a, *a]")
@example(manifest="!!python/object/apply:os.system ['true']")
def test_any_manifest_is_answered(desk: Desk, manifest: str) -> None:
    desk.reception.known = viewer()
    sent = urlencode({"form_token": FORM_TOKEN, "manifest": manifest}).encode()
    _check(*desk.ask("/explain", "POST", {"Content-Type": "application/x-www-form-urlencoded"}, sent))


def test_what_happens_here_is_not_logged_as_a_failure(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        desk.ask(f"/nodes/{quote(EVIL, safe='')}")
    assert caplog.records == []
