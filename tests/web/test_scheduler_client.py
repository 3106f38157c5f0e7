"""The scheduler is asked for no more than somebody may see, and its failures become sentences."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from builders.dashboards import EVERYTHING, node, view
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.reports.shape import ClusterReport, ExplainReport
from tangram.web.known import NotKnown
from tangram.web.scheduler_client import MOST_ONLY, SchedulerClient
from tangram.web.sight import Sight

REPORT = ExplainReport(
    cluster=ClusterReport(nodes=0, cards=0, running=0, guessed=[], waiting=[], problems=[]), pods=[]
)


class Asked:
    def __init__(self) -> None:
        self.queries: list[list[tuple[str, str]]] = []
        self.tokens: list[str] = []


@asynccontextmanager
async def _client(
    answer: Callable[[web.Request], web.Response],
) -> AsyncGenerator[tuple[SchedulerClient, Asked]]:
    asked = Asked()

    async def handle(request: web.Request) -> web.Response:
        asked.queries.append(list(request.query.items()))
        asked.tokens.append(request.headers.get("Authorization", ""))
        return answer(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    server = TestServer(app)
    await server.start_server()
    connection = Connection(str(server.make_url("")).rstrip("/"), None, token="of-the-dashboard")  # noqa: S106 - a test's
    try:
        async with Api(connection) as following, Api(connection) as asking:
            yield SchedulerClient(following, asking), asked
    finally:
        await server.close()


def _said(value: object) -> Callable[[web.Request], web.Response]:
    return lambda _request: web.Response(body=msgspec.json.encode(value), content_type="application/json")


async def test_a_view_is_decoded_into_its_records() -> None:
    told = view(node("a"), version=3)
    async with _client(_said(told)) as (client, asked):
        assert await client.view("one", 2, 20) == told
    assert asked.queries == [[("epoch", "one"), ("since", "2"), ("wait", "20")]]
    assert asked.tokens == ["Bearer of-the-dashboard"]


@pytest.mark.parametrize(
    ("sight", "only"),
    [
        pytest.param(EVERYTHING, [], id="everything"),
        pytest.param(Sight(), [("only", "")], id="nothing"),
        pytest.param(
            Sight(namespaces=frozenset({"b", "a"})), [("only", "a"), ("only", "b")], id="two namespaces"
        ),
    ],
)
async def test_an_explanation_is_narrowed_to_the_sight(sight: Sight, only: list[tuple[str, str]]) -> None:
    async with _client(_said(REPORT)) as (client, asked):
        assert await client.explain_pod("a", "pod", sight, ["n1"]) == REPORT
        assert await client.explain_manifest([{"kind": "Pod"}], sight, ["a"]) == REPORT
    first, second = asked.queries
    assert first == [("namespace", "a"), ("pod", "pod"), *only, ("node", "n1")]
    assert second == [("namespace", "a"), *only]


async def test_the_namespaces_asked_about_are_among_those_that_fit() -> None:
    sight = Sight(namespaces=frozenset({f"a{number:04}" for number in range(400)} | {"zz"}))
    async with _client(_said(REPORT)) as (client, asked):
        await client.explain_manifest([], sight, ["zz"])
    named = [value for name, value in asked.queries[0] if name == "only"]
    assert len(named) == MOST_ONLY
    assert "zz" in named


@pytest.mark.parametrize(
    ("status", "told", "as_status", "sentence"),
    [
        (404, "there is no node 'x'", 404, "There is no node 'x'."),
        (400, "pod is 'y': write NAMESPACE/NAME", 400, "Pod is 'y': write NAMESPACE/NAME."),
        (403, "'sa' may not list nodes", 503, "The scheduler answers 403: 'sa' may not list nodes."),
        (500, "it broke", 503, "The scheduler answers 500: it broke."),
    ],
)
async def test_a_refusal_keeps_the_schedulers_words(
    status: int, told: str, as_status: int, sentence: str
) -> None:
    body = msgspec.json.encode({"Error": told})
    async with _client(lambda _: web.Response(body=body, status=status)) as (client, _asked):
        with pytest.raises(NotKnown) as refused:
            await client.node("x")
    assert (refused.value.status, refused.value.sentence) == (as_status, sentence)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"tangram": "view/v1"}'])
async def test_something_else_at_the_address_is_said(body: bytes) -> None:
    async with _client(lambda _: web.Response(body=body)) as (client, _asked):
        with pytest.raises(NotKnown, match="that is none, or of another version"):
            await client.view("", 0, 0)


async def test_silence_is_said() -> None:
    async with Api(Connection("http://127.0.0.1:1", None)) as api:
        with pytest.raises(NotKnown, match="The scheduler cannot be asked"):
            await SchedulerClient(api, api).view("", 0, 0)


async def test_a_name_cannot_become_another_path() -> None:
    paths: list[str] = []

    def answer(request: web.Request) -> web.Response:
        paths.append(request.raw_path)
        return web.Response(status=404)

    async with _client(answer) as (client, _asked):
        with pytest.raises(NotKnown):
            await client.node("../explain?x=", "a&b=c/d")
    assert paths == ["/view/nodes/..%2Fexplain%3Fx=?pod=a%26b%3Dc/d"]
