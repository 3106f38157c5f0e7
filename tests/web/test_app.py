"""Every question to the dashboard has an answer with a sentence, and every answer its headers."""

from __future__ import annotations

import asyncio
import gzip
import io
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import pytest
from aiohttp import ClientResponse, ClientSession

from builders.dashboards import FORM_TOKEN, FakeKnown, FakeReception, card, dashboard, node, viewer
from builders.waiting import until
from tangram.reports.view_shape import NodeDetail
from tangram.web import app, turns
from tangram.web.headers import ALWAYS
from tangram.web.known import Known, NotKnown
from tangram.web.language import Language
from tangram.web.page import Asked, Shown
from tangram.web.pages import all as pages
from tangram.web.receiving import NotSignedIn

PAGES = [page.path for page in pages.PAGES if "GET" in page.methods and "{" not in page.path]


def _known() -> FakeKnown:
    return FakeKnown(node("gpu-1", card(0), card(1)))


@asynccontextmanager
async def _asked(
    path: str, *, known: FakeKnown | None = None, reception: FakeReception | None = None, **how: object
) -> AsyncGenerator[ClientResponse]:
    method = str(how.pop("method", "GET"))
    async with (
        dashboard(known or _known(), reception) as session,
        session.request(method, path, allow_redirects=False, **how) as answer,  # pyright: ignore[reportArgumentType] - whatever a test sends
    ):
        yield answer


def _has_headers(answer: ClientResponse) -> bool:
    return all(answer.headers.get(name) == value for name, value in ALWAYS.items())


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_is_answered_with_the_headers_and_kept_by_nobody(path: str) -> None:
    async with _asked(path) as answer:
        assert answer.status == 200
        assert _has_headers(answer)
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Server" not in answer.headers


@pytest.mark.parametrize("path", ["/nope", "/nodes/", "/nodes/a/b", "/static/x/live.js", "/static/../app.py"])
async def test_an_address_with_nothing_is_a_page_that_says_so(path: str) -> None:
    async with _asked(path) as answer:
        assert answer.status == 404
        assert _has_headers(answer)
        assert "Nothing is at this address" in await answer.text()


@pytest.mark.parametrize(
    "name", ["_Context__obj", "_Context__self", "self", "caller", "_loop_vars", "path", "url"]
)
async def test_a_field_of_an_address_may_have_any_name(name: str) -> None:
    async with _asked(f"/pods?{name}=x") as answer:
        assert answer.status == 200
        assert f'data-page="/pods?{name}=x"' in await answer.text()


async def test_what_went_wrong_is_said_in_the_language_of_the_viewer() -> None:
    async with _asked("/nope", reception=FakeReception(viewer(language=Language.CHINESE))) as answer:
        text = await answer.text()
    assert '<html lang="zh-CN"' in text
    assert "此地址没有内容" in text


def _made_by(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    async def page(_asked: Asked, _known: Known) -> Shown:
        raise error

    def page_at(_path: str) -> pages.Found:
        return pages.Found(pages.Page("/x", page), {})

    monkeypatch.setattr(app, "page_at", page_at)


async def test_a_page_that_is_not_known_has_the_sentence_and_the_status_of_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _made_by(monkeypatch, NotKnown("any", "The scheduler sleeps <b>soundly</b>.", 503))
    async with _asked("/x") as answer:
        text = await answer.text()
        assert answer.status == 503
        assert answer.headers["Retry-After"] == "5"
    assert "The scheduler sleeps &lt;b&gt;soundly&lt;/b&gt;." in text


async def test_a_page_that_fails_is_told_in_the_log_and_not_to_the_viewer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _made_by(monkeypatch, RuntimeError("a secret of ours"))
    with caplog.at_level(logging.ERROR):
        async with _asked("/x") as answer:
            text = await answer.text()
            assert answer.status == 500
            assert _has_headers(answer)
    assert "a secret of ours" not in text
    assert "its log says why" in text
    assert "a secret of ours" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("POST", "/", "GET, HEAD"), ("PUT", "/pods", "GET, HEAD"), ("GET", "/cards/cordon", "POST")],
)
async def test_a_wrong_method_is_told_the_right_ones(method: str, path: str, allowed: str) -> None:
    async with _asked(path, method=method) as answer:
        assert answer.status == 405
        assert answer.headers["Allow"] == allowed


async def test_a_fragment_is_the_main_element_alone() -> None:
    async with _asked("/pods", headers={"X-Fragment": "main"}) as answer:
        text = (await answer.text()).strip()
    assert text.startswith("<main ")
    assert text.endswith("</main>")
    assert "X-Fragment" in answer.headers.getall("Vary")


async def test_large_pages_are_packed_for_those_who_can_unpack_them() -> None:
    async with dashboard(_known()) as session:
        async with session.get("/", headers={"Accept-Encoding": "identity"}) as plain:
            whole = await plain.read()
            assert "Content-Encoding" not in plain.headers
        async with (
            ClientSession(auto_decompress=False) as raw,
            raw.get(plain.url, headers={"Accept-Encoding": "gzip"}) as packed,
        ):
            assert packed.headers["Content-Encoding"] == "gzip"
            body = await packed.read()
    assert len(body) < len(whole)
    assert gzip.decompress(body).startswith(b"<!DOCTYPE html>")


async def test_the_static_files_of_a_page_are_kept_for_good() -> None:
    async with dashboard(_known()) as session:
        text = await (await session.get("/")).text()
        path = next(
            part for part in text.split('"') if part.startswith("/static/") and part.endswith("live.js")
        )
        async with session.get(path) as file:
            assert file.status == 200
            assert file.headers["Content-Type"] == "text/javascript; charset=utf-8"
            assert "immutable" in file.headers["Cache-Control"]
            assert _has_headers(file)
        old = "/static/" + "0" * 16 + "/live.js"
        async with session.get(old) as file:
            assert file.headers["Cache-Control"] == "no-store"


async def test_who_is_not_known_is_led_to_the_form_and_a_script_is_told() -> None:
    reception = FakeReception(viewer())
    reception.refusal = NotSignedIn("idle")
    async with dashboard(_known(), reception) as session:
        async with session.get("/nodes/gpu-1?pod=a/b", allow_redirects=False) as answer:
            assert answer.status == 303
            assert answer.headers["Location"] == "/sign-in?back=/nodes/gpu-1%3Fpod%3Da/b&why=idle"
        async with session.get("/", headers={"X-Fragment": "main"}, allow_redirects=False) as answer:
            assert answer.status == 401
        async with session.get("/events?page=/", allow_redirects=False) as answer:
            assert answer.status == 401
        async with session.post("/explain", data={"a": "b"}, allow_redirects=False) as answer:
            assert answer.status == 401


async def test_a_form_without_its_token_changes_nothing() -> None:
    known = _known()
    async with dashboard(known) as session:
        for form in ({}, {"form_token": "another"}):
            data = {"node": "gpu-1", "card": "0", "action": "cordon", **form}
            async with session.post("/cards/cordon", data=data, allow_redirects=False) as answer:
                assert answer.status == 403
                assert _has_headers(answer)
    assert known.cordoned == []


async def test_a_form_whose_sender_was_signed_out_while_it_came_changes_nothing() -> None:
    known, reception = _known(), FakeReception(viewer(may_act=True))
    fields = {"form_token": FORM_TOKEN, "node": "gpu-1", "card": "0", "action": "cordon", "confirm": "yes"}

    async def slowly() -> AsyncGenerator[bytes]:
        yield b"form_token="
        await until(lambda: reception.asked > 0)
        reception.refusal = NotSignedIn("revoked")
        yield urlencode(fields).removeprefix("form_token=").encode()

    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    async with (
        dashboard(known, reception) as session,
        session.post("/cards/cordon", data=slowly(), headers=kind, allow_redirects=False) as answer,
    ):
        assert answer.status == 401
    assert known.cordoned == []


async def test_a_body_that_is_too_large_is_refused_with_a_sentence() -> None:
    body = b"form_token=" + FORM_TOKEN.encode() + b"&manifest=" + b"x" * (5 * 1024 * 1024)
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    async with _asked("/explain", method="POST", data=io.BytesIO(body), headers=kind) as answer:
        assert answer.status == 413
        assert "larger than" in await answer.text()


async def test_head_is_get_without_the_body() -> None:
    async with _asked("/", method="HEAD") as answer:
        assert answer.status == 200
        assert await answer.read() == b""
        assert _has_headers(answer)


async def test_a_page_says_of_which_moment_it_is_and_what_answers_a_form_or_fails_does_not() -> None:
    async with dashboard(_known()) as session:
        page = await (await session.get("/pods")).text()
        assert re.search(r'data-stamp="[0-9a-f]{8}\.1"', page)
        form = {"form_token": FORM_TOKEN, "manifest": "kind: Pod"}
        for answer in (await session.post("/explain", data=form), await session.get("/nope")):
            assert 'data-stamp=""' in await answer.text()
        missing = await (await session.get("/nodes/not-yet")).text()
        assert re.search(r'data-stamp="[0-9a-f]{8}\.1"', missing), "it may come"


async def test_the_scheduler_is_asked_a_few_questions_of_one_person_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    under_way, most = 0, 0

    class Slow(FakeKnown):
        async def node(self, name: str, pod: str = "") -> NodeDetail:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.01)
            under_way -= 1
            raise NotKnown("no-scheduler", f"{name} {pod}", 503)

    async with dashboard(Slow(node("gpu-1", card(0)))) as session:
        answers = await asyncio.gather(*(session.get("/nodes/gpu-1") for _ in range(12)))
        assert {answer.status for answer in answers} == {200}
        monkeypatch.setattr(turns, "MOST_OF_ONE", 0)
        async with session.get("/nodes/gpu-1") as answer:
            assert answer.status == 429
    assert most == turns.AT_ONCE
