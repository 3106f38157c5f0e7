"""What a server is and has, asked of it."""

from typing import Any

import pytest
from aiohttp import web

from builders.api_server import refusal, small_api_server
from tangram.kube.api import Api
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.probing import has_resource, server_version


@pytest.mark.parametrize(
    ("major", "minor", "expected"),
    [
        pytest.param("1", "36", (1, 36), id="plain"),
        pytest.param("1", "36+", (1, 36), id="a-vendors-build"),
        pytest.param("1", "35.2-gke.1", (1, 35), id="more-behind-it"),
        pytest.param(1, 34, (1, 34), id="numbers"),
    ],
)
async def test_the_version_is_read_as_vendors_write_it(
    major: object, minor: object, expected: tuple[int, int]
) -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: web.json_response({"major": major, "minor": minor})
        assert await server_version(api) == expected


@pytest.mark.parametrize(
    "answer", [{}, {"major": "1"}, {"major": "", "minor": "36"}, {"major": "1", "minor": []}, {"major": "v1"}]
)
async def test_an_answer_without_a_version_is_none(answer: dict[str, Any]) -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: web.json_response(answer)
        with pytest.raises(ApiUnreachable, match="no version in it"):
            await server_version(api)


async def test_a_resource_is_found_where_the_server_lists_it() -> None:
    lists: dict[str, object] = {
        "/api/v1": {"resources": [{"name": "pods"}, {"name": "pods/resize"}]},
        "/apis/coordination.k8s.io/v1": {"resources": [{"name": "leases"}, None, "x", {"name": 3}]},
        "/apis/odd.k8s.io/v1": {"resources": None},
    }

    def answer(request: web.Request) -> web.Response:
        found = lists.get(request.path)
        return refusal(404, "NotFound", "no") if found is None else web.json_response(found)

    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = answer
        assert await has_resource(api, "v1", "pods/resize")
        assert not await has_resource(api, "v1", "leases")
        assert await has_resource(api, "coordination.k8s.io/v1", "leases")
        assert not await has_resource(api, "odd.k8s.io/v1", "leases")
        assert not await has_resource(api, "resource.k8s.io/v1", "deviceclasses")


async def test_not_being_told_is_not_the_same_as_no() -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: refusal(503, "", "starting")
        with pytest.raises(ApiError):
            await has_resource(api, "v1", "pods")
