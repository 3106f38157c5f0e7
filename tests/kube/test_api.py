"""One request, one answer: a refusal and silence are told apart, and a token is read anew."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from builders.api_server import refusal, small_api_server
from tangram.kube import api as apis
from tangram.kube.api import Api, lively_socket
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError, ApiSilent, ApiUnreachable

NODE = "/api/v1/nodes/n1"


async def test_a_change_is_sent_as_a_merge_patch_and_the_object_comes_back() -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.put(NODE, {"spec": {}})
        changed = await api.merge(NODE, {"spec": {"unschedulable": True}})
        assert changed["spec"] == {"unschedulable": True}
        assert (await api.get(NODE))["spec"] == {"unschedulable": True}


async def test_a_server_below_a_path_of_somebodys_proxy_is_asked_there() -> None:
    async with small_api_server() as (server, connection):
        server.answer_first = lambda request: web.json_response({"asked": request.path_qs})
        below = Connection(f"{connection.server}/k8s/clusters/c-1", connection.tls)
        async with Api(below) as api:
            assert await api.get("/version", pretty="a b") == {
                "asked": "/k8s/clusters/c-1/version?pretty=a+b"
            }


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


async def test_one_call_may_have_a_limit_of_its_own() -> None:
    async def slow(_request: web.Request) -> web.Response:
        await asyncio.sleep(0.2)
        return web.json_response({})

    async with answering(slow) as connection, Api(connection, limit=0.05) as api:
        with pytest.raises(ApiUnreachable, match=r"within 0\.05 s"):
            await api.call("GET", NODE)
        assert await api.call("GET", NODE, limit=5.0) == {}
    async with answering(slow) as connection, Api(connection) as api:
        with pytest.raises(ApiUnreachable, match=r"within 0\.02 s"):
            await api.call("GET", NODE, limit=0.02)


async def test_a_request_that_is_too_large_is_refused_in_the_servers_words() -> None:
    async def small(_request: web.Request) -> web.Response:
        return refusal(413, "RequestEntityTooLarge", "limit is 3145728")

    async with answering(small) as connection, Api(connection) as api:
        with pytest.raises(ApiError, match="limit is 3145728") as caught:
            await api.create("/api/v1/pods", {"text": "x" * 900_000})
        assert not caught.value.may_pass


async def test_an_answer_of_many_megabytes_is_read() -> None:
    async def large(_request: web.Request) -> web.Response:
        return web.json_response({"items": ["x" * 1000] * 20_000})

    async with answering(large) as connection, Api(connection) as api:
        assert len((await api.get("/api/v1/pods"))["items"]) == 20_000


async def test_a_refusal_of_many_megabytes_is_kept_short() -> None:
    async def chatty(_request: web.Request) -> web.Response:
        return refusal(500, "InternalError", "x" * 1_000_000)

    async with answering(chatty) as connection, Api(connection) as api:
        with pytest.raises(ApiError) as caught:
            await api.get(NODE)
        assert len(str(caught.value)) < 3000


async def test_a_redirect_is_no_answer_and_the_token_goes_nowhere_else() -> None:
    seen: list[str] = []

    async def elsewhere(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.Response(status=307, headers={"Location": "/other"})

    async with answering(elsewhere) as connection, Api(connection) as api:
        for method in ("GET", "POST"):
            with pytest.raises(ApiError, match="307"):
                await api.call(method, NODE, {})
        with pytest.raises(ApiError, match="307"):
            _ = [event async for event in api.watch(NODE, {})]
    assert seen == [NODE] * 3


async def test_requests_share_connections_and_a_burst_opens_no_more_than_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apis, "MOST_CONNECTIONS", 4)
    ports: set[object] = set()

    async def handle(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername")[1])
        await asyncio.sleep(0.002)
        return web.json_response({})

    async with answering(handle) as connection, Api(connection) as api:
        for _ in range(10):
            await api.get(NODE)
        assert len(ports) == 1
        await asyncio.gather(*(api.get(NODE) for _ in range(50)))
        assert 1 < len(ports) <= 4


async def test_a_peer_that_vanishes_without_a_word_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []

    def remembered(address: tuple[object, ...]) -> socket.socket:
        made.append(lively_socket(address))
        return made[-1]

    monkeypatch.setattr(apis, "lively_socket", remembered)
    async with small_api_server() as (_, connection), Api(connection) as api:
        await api.get("/api/v1/pods")
        (own,) = made
        assert own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        tries = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT)
        assert idle + tries * own.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) <= 30


async def test_a_long_list_comes_whole_and_its_selection_is_asked_for_on_every_page() -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        for number in range(1201):
            server.put(f"/api/v1/pods/p{number:04}", {})
        found = await api.list_all("/api/v1/pods", {"labelSelector": "a=b"})
        assert [thing["metadata"]["name"] for thing in found] == [f"p{number:04}" for number in range(1201)]
        assert len(server.requests) == 3
        assert all(query["labelSelector"] == "a=b" for _, _, query, _ in server.requests)
        assert await api.list_all("/api/v1/nodes") == []


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        pytest.param({"items": "many"}, "no list", id="no-list"),
        pytest.param({"items": [], "metadata": {"continue": "again"}}, "in a circle", id="without-an-end"),
    ],
)
async def test_a_list_that_is_none_is_silence(answer: dict[str, object], sentence: str) -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: web.json_response(answer)
        with pytest.raises(ApiUnreachable, match=sentence):
            await api.list_all("/api/v1/pods")


async def test_a_watch_says_when_it_is_open_and_when_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apis, "SILENCE_LIMIT_S", 0.05)
    opened: list[bool] = []
    async with small_api_server() as (_, connection), Api(connection) as api:
        with pytest.raises(ApiSilent, match=r"nothing came for 0\.05 s"):
            _ = [
                event
                async for event in api.watch(
                    "/api/v1/pods", {"resourceVersion": "0"}, lambda: opened.append(True)
                )
            ]
    assert opened == [True]


async def test_a_watch_that_does_not_open_is_given_up_like_any_request() -> None:
    async def never(_request: web.Request) -> web.Response:
        await asyncio.sleep(10)
        return web.Response()

    opened: list[bool] = []
    async with answering(never) as connection, Api(connection, limit=0.05) as api:
        with pytest.raises(ApiUnreachable, match="did not answer within") as caught:
            _ = [event async for event in api.watch("/api/v1/pods", {}, lambda: opened.append(True))]
    assert not isinstance(caught.value, ApiSilent)
    assert opened == []


@asynccontextmanager
async def answering(
    handle: Callable[[web.Request], Awaitable[web.Response]],
) -> AsyncGenerator[Connection]:
    app = web.Application(client_max_size=64 << 20)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield Connection(f"http://{host}:{port}", None)
    finally:
        await runner.cleanup()
