"""The small HTTP server behind probes and metrics."""

import asyncio
from contextlib import suppress
from http import HTTPStatus

import pytest

from tangram.daemon import pages
from tangram.daemon.pages import Page, serving_pages


async def hello() -> Page:
    return Page(b"hello\n")


async def said(port: int, question: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(question)
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("question", "status"),
    [
        pytest.param(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", HTTPStatus.OK, id="get"),
        pytest.param(b"GET /hello?debug=1 HTTP/1.0\r\n\r\n", HTTPStatus.OK, id="get-with-query"),
        pytest.param(b"HEAD /hello HTTP/1.1\r\n\r\n", HTTPStatus.OK, id="head"),
        pytest.param(b"GET /other HTTP/1.1\r\n\r\n", HTTPStatus.NOT_FOUND, id="another-page"),
        pytest.param(b"POST /hello HTTP/1.1\r\n\r\n", HTTPStatus.METHOD_NOT_ALLOWED, id="post"),
        pytest.param(b"\xff\xfe\r\n\r\n", HTTPStatus.BAD_REQUEST, id="no-http"),
        pytest.param(b"GET /\xff HTTP/1.1\r\n\r\n", HTTPStatus.NOT_FOUND, id="path-that-is-no-text"),
    ],
)
async def test_every_question_gets_one_answer(question: bytes, status: HTTPStatus) -> None:
    async with serving_pages("127.0.0.1", 0, {"/hello": hello}) as (_, port):
        answer = await said(port, question)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == f"HTTP/1.1 {status.value} {status.phrase}".encode()
    assert (body == b"hello\n") == (status is HTTPStatus.OK and not question.startswith(b"HEAD"))
    if question.startswith(b"HEAD"):
        assert b"Content-Length: 6" in head
        assert body == b""


@pytest.mark.parametrize("question", [b"", b"GET /hel", b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000])
async def test_half_a_question_and_an_endless_one_get_none(question: bytes) -> None:
    async with serving_pages("127.0.0.1", 0, {"/hello": hello}) as (_, port):
        # It may be cut off while it is still talking.
        with suppress(ConnectionError):
            assert await said(port, question) == b""
        assert (await said(port, b"GET /hello HTTP/1.1\r\n\r\n")).endswith(b"hello\n")


async def test_a_silent_client_is_sent_away_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PATIENCE_S", 0.05)
    async with serving_pages("127.0.0.1", 0, {"/hello": hello}) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()


async def test_the_end_waits_for_no_client() -> None:
    async with serving_pages("127.0.0.1", 0, {"/hello": hello}) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await said(port, b"GET /hello HTTP/1.1\r\n\r\n")
    assert await reader.read() == b""
    writer.close()
