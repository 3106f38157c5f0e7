"""One request, one answer: a refusal and silence are told apart, and a token is read anew."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from builders.api_server import refusal, small_api_server
from tangram.kube import api as apis
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError, ApiUnreachable

NODE = "/api/v1/nodes/n1"


async def test_a_change_is_sent_as_a_merge_patch_and_the_object_comes_back() -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.put(NODE, {"spec": {}})
        changed = await api.merge(NODE, {"spec": {"unschedulable": True}})
        assert changed["spec"] == {"unschedulable": True}
        assert (await api.get(NODE))["spec"] == {"unschedulable": True}


@pytest.mark.parametrize(
    ("status", "reason", "may_pass"),
    [
        (404, "NotFound", False),
        (409, "Conflict", False),
        (429, "TooManyRequests", True),
        (500, "InternalError", True),
    ],
)
async def test_a_refusal_keeps_kubernetes_words_and_says_whether_waiting_helps(
    status: int,
    reason: str,
    may_pass: bool,  # noqa: FBT001 - a case of the table
) -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: refusal(status, reason, "because", Retry_After="3")
        with pytest.raises(ApiError) as caught:
            await api.get(NODE)
        error = caught.value
        assert (error.status, error.reason, error.message, error.retry_after) == (
            status,
            reason,
            "because",
            3.0,
        )
        assert error.may_pass is may_pass


async def test_a_proxys_page_is_a_refusal_too() -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: web.Response(status=502, text="<html>bad gateway</html>")
        with pytest.raises(ApiError, match="bad gateway"):
            await api.get(NODE)


async def test_no_server_no_answer_and_no_json_are_all_silence() -> None:
    async with Api(Connection("http://127.0.0.1:1", None)) as api:
        with pytest.raises(ApiUnreachable, match=f"GET {NODE}"):
            await api.get(NODE)
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: web.Response(text="hello")
        with pytest.raises(ApiUnreachable, match="not JSON"):
            await api.get(NODE)


async def test_a_server_that_never_answers_is_given_up() -> None:
    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await forever.wait()
        writer.close()

    forever = asyncio.Event()
    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server, Api(Connection(f"http://{host}:{port}", None), limit=0.05) as api:
        with pytest.raises(ApiUnreachable, match=r"did not answer within 0\.05 s"):
            await api.get(NODE)
        forever.set()


async def test_a_replaced_token_is_used_and_a_lost_one_is_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apis, "_TOKEN_LIFE_S", -1.0)
    token = tmp_path / "token"
    seen: list[str] = []
    async with small_api_server() as (server, connection):
        server.answer_first = lambda request: seen.append(request.headers["Authorization"])
        async with Api(Connection(connection.server, None, token_file=token)) as api:
            for text in ("one", "two"):
                token.write_text(f"{text}\n", encoding="ascii")
                await api.get("/api/v1/pods")
            token.unlink()
            with pytest.raises(ApiUnreachable, match="the token in"):
                await api.get("/api/v1/pods")
    assert seen == ["Bearer one", "Bearer two"]


async def test_a_watch_that_brings_no_events_but_nonsense_is_silence() -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: web.Response(text="nonsense\n")
        with pytest.raises(ApiUnreachable, match="no event"):
            _ = [event async for event in api.watch("/api/v1/pods", {"resourceVersion": "1"})]


async def test_an_error_event_in_a_watch_is_a_refusal() -> None:
    line = '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: web.Response(text=line)
        with pytest.raises(ApiError, match="too old"):
            _ = [event async for event in api.watch("/api/v1/pods", {"resourceVersion": "1"})]
