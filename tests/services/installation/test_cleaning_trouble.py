"""Servers that refuse, stumble, or are gone: said in a sentence for each kind, and never asked for every node."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from aiohttp import web

from builders.api_server import SmallApiServer, refusal, small_api_server
from tangram.kube import backoff
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.services.installation import cleaning, cleaning_nodes, cleaning_reading
from tangram.services.installation.cleaning import clean_up
from tangram.services.installation.cleaning_nodes import MOST_AT_ONCE, MOST_FAILURES
from tangram.services.installation.cleaning_report import Cleanup
from tangram.services.installation.cleaning_waiting import Aim

Object = dict[str, Any]
AIM = Aim(namespace="kube-system", chart="tangram", patience=0.0)


class Trouble:
    """A server with marked nodes, and somebody in front of it."""

    def __init__(self, server: SmallApiServer, connection: Connection) -> None:
        self.server = server
        self.connection = connection
        self.said: list[str] = []

    def nodes(self, count: int) -> None:
        for number in range(count):
            self.server.put(f"/api/v1/nodes/gpu-{number}", marked())

    def labelled(self, count: int) -> None:
        """Nodes without our condition: the small server knows no status of its own."""
        for number in range(count):
            self.server.put(f"/api/v1/nodes/gpu-{number}", marked() | {"status": {}})

    def refuse(self, method: str, ending: str, answer: web.Response) -> None:
        def first(request: web.Request) -> web.Response | None:
            hit = request.method == method and request.path.endswith(ending)
            return (
                web.Response(status=answer.status, body=answer.body, headers=answer.headers) if hit else None
            )

        self.server.answer_first = first

    def sent(self, method: str) -> list[str]:
        return [path for verb, path, *_ in self.server.requests if verb == method]

    async def clean(self) -> Cleanup:
        async with Api(self.connection, limit=2.0) as api:
            return await clean_up(api, AIM, self.said.append)


def marked() -> Object:
    """A node with a label, and with a condition of ours."""
    fields: Object = {
        "f:metadata": {"f:labels": {"f:metax-tech.com/gpu.installed": {}}},
        "f:status": {"f:conditions": {'k:{"type":"GpuModeChangePending"}': {}}},
    }
    return {
        "metadata": {
            "labels": {"metax-tech.com/gpu.installed": "true"},
            "managedFields": [
                {"manager": "tangram-gpu-label", "fieldsV1": {"f:metadata": fields["f:metadata"]}},
                {"manager": "tangram-gpu-device", "fieldsV1": {"f:status": fields["f:status"]}},
            ],
        },
        "status": {"conditions": [{"type": "GpuModeChangePending"}]},
    }


@pytest.fixture
async def trouble(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Trouble]:
    def at_once(_self: backoff.Backoff, _asked: float | None = None) -> float:
        return 0.0

    monkeypatch.setattr(backoff.Backoff, "pause", at_once)
    monkeypatch.setattr(cleaning, "SETTLED_S", 0.0)
    async with small_api_server() as (server, connection):
        yield Trouble(server, connection)


async def test_a_right_that_is_missing_is_said_once_and_asked_for_no_more(trouble: Trouble) -> None:
    trouble.nodes(100)

    def first(request: web.Request) -> web.Response | None:
        name = request.path.split("/")[4:5]
        message = f'nodes "{name}" is forbidden: User "x" cannot patch resource "nodes" in API group ""'
        return refusal(403, "Forbidden", message) if request.method == "PATCH" else None

    trouble.server.answer_first = first
    done = await trouble.clean()
    assert done.problems == [
        'nodes: User "x" cannot patch resource "nodes" in API group "" (gpu-0, gpu-1, gpu-10 and 97 more)'
    ]
    assert len(trouble.sent("PATCH")) <= 2 * MOST_AT_ONCE
    assert done.nodes == []


async def test_a_right_that_is_missing_for_one_part_keeps_nobody_from_the_other(trouble: Trouble) -> None:
    trouble.nodes(2)
    trouble.refuse("PATCH", "/status", refusal(403, "Forbidden", "cannot patch nodes/status"))
    # The small server forgets everything but what is patched, so each part is tried on a fresh node.
    done = await trouble.clean()
    assert {path for path in trouble.sent("PATCH") if not path.endswith("/status")} == {
        "/api/v1/nodes/gpu-0",
        "/api/v1/nodes/gpu-1",
    }
    assert [each.labels for each in done.nodes] == [["metax-tech.com/gpu.installed"]] * 2


async def test_pods_that_cannot_be_seen_are_a_reason_to_remove_nothing(trouble: Trouble) -> None:
    trouble.nodes(1)
    trouble.refuse("GET", "/pods", refusal(403, "Forbidden", "cannot list pods"))
    done = await trouble.clean()
    assert len(done.problems) == 1
    assert "whether pods of Tangram still run cannot be seen" in done.problems[0]
    assert trouble.sent("PATCH") == trouble.sent("DELETE") == []


async def test_nodes_that_cannot_be_read_keep_nobody_from_the_rest(trouble: Trouble) -> None:
    trouble.refuse("GET", "/nodes", refusal(403, "Forbidden", "cannot list nodes"))
    done = await trouble.clean()
    assert done.problems == ["nodes cannot be read: the API server answered 403 Forbidden: cannot list nodes"]
    assert trouble.sent("DELETE") == [
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/tangram-scheduler"
    ]


async def test_a_server_that_breaks_down_half_way_is_given_up_soon(trouble: Trouble) -> None:
    trouble.nodes(40)
    trouble.refuse("PATCH", "", refusal(503, "ServiceUnavailable", "etcd is away"))
    done = await trouble.clean()
    assert len(done.problems) == 1
    assert "etcd is away" in done.problems[0]
    assert len(trouble.sent("PATCH")) <= 2 * MOST_AT_ONCE * (MOST_FAILURES + 1)


async def test_a_node_that_refuses_is_named_and_the_others_are_cleaned(trouble: Trouble) -> None:
    trouble.labelled(3)
    trouble.refuse("PATCH", "/gpu-1", refusal(422, "Invalid", "a webhook says no"))
    done = await trouble.clean()
    assert done.problems == ["node gpu-1: the API server answered 422 Invalid: a webhook says no"]
    assert [each.name for each in done.nodes if each.labels] == ["gpu-0", "gpu-2"]


async def test_a_node_that_somebody_keeps_changing_is_given_up_and_named(trouble: Trouble) -> None:
    trouble.labelled(1)
    trouble.refuse("PATCH", "/gpu-0", refusal(409, "Conflict", "the object has been modified"))
    done = await trouble.clean()
    assert done.problems == ["node gpu-0: somebody else keeps changing it; ask again"]


async def test_a_node_that_goes_meanwhile_is_no_trouble(trouble: Trouble) -> None:
    trouble.nodes(1)
    trouble.refuse("PATCH", "", refusal(404, "NotFound", "no such node"))
    done = await trouble.clean()
    assert (done.problems, done.nodes) == ([], [])


async def test_a_server_that_is_not_there_is_one_sentence() -> None:
    async with Api(Connection("http://127.0.0.1:1", None)) as api:
        done = await clean_up(api, AIM, lambda _sentence: None)
    assert len(done.problems) == 1
    assert "ClientConnectorError" in done.problems[0]


async def test_a_list_whose_place_the_server_has_lost_begins_again(trouble: Trouble) -> None:
    trouble.labelled(1)
    left = [2]

    def first(request: web.Request) -> web.Response | None:
        if request.path != "/api/v1/nodes" or not left[0]:
            return None
        left[0] -= 1
        return refusal(410, "Expired", "the continue token is too old")

    trouble.server.answer_first = first
    done = await trouble.clean()
    assert done.problems == []
    assert len(done.nodes) == 1


async def test_progress_on_many_nodes_is_told_and_few_are_asked_at_once(
    trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning_nodes, "TELL_EVERY", 50)
    monkeypatch.setattr(cleaning_reading, "PAGE", 20)
    trouble.labelled(101)
    plain_call, under_way, most = Api.call, [0], [0]

    async def call(self: Api, method: str, *rest: Any, **more: Any) -> Object:  # noqa: ANN401 - passed on
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        try:
            return await plain_call(self, method, *rest, **more)
        finally:
            under_way[0] -= 1

    monkeypatch.setattr(Api, "call", call)
    done = await trouble.clean()
    assert trouble.said == ["50 of 101 nodes are done", "100 of 101 nodes are done"]
    assert (done.looked_at, len(done.nodes), done.problems) == (101, 101, [])
    assert most[0] == MOST_AT_ONCE
