"""What the dashboard's own account can read is handed to nobody who may not read it."""

from __future__ import annotations

from typing import Any

import pytest

from builders.dashboards import EVERYTHING
from tangram.kube.errors import ApiError, ApiUnreachable
from tangram.kube.rights import RightsUnknown, User
from tangram.web.history.keeping import History
from tangram.web.knowing import Knowing, Sources
from tangram.web.known import NotKnown
from tangram.web.picture import Picture
from tangram.web.sight import Sight

ALICE = User("alice")
POD = "/api/v1/namespaces/a/pods/p"


class Rights:
    def __init__(self, *, allowed: bool = True, unknown: bool = False) -> None:
        self.allowed = allowed
        self.unknown = unknown
        self.asked: list[tuple[str, ...]] = []

    async def may(
        self, user: User, verb: str, resource: str, namespace: str = "", *, group: str = "", name: str = ""
    ) -> bool:
        self.asked.append((user.name, verb, resource, namespace, group, name))
        if self.unknown:
            raise RightsUnknown("nobody says")
        return self.allowed


class Server:
    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.read: list[str] = []

    async def get(self, path: str) -> dict[str, Any]:
        self.read.append(path)
        if self.failure:
            raise self.failure
        return {"path": path}


class Scheduler:
    async def explain_pod(self, *_: object) -> str:
        return "told"


def _knowing(rights: Rights, server: Server) -> Knowing:
    sources = Sources(scheduler=Scheduler(), api=server, rights=rights, actor=None, checks=None)  # pyright: ignore[reportArgumentType] - only what is asked
    return Knowing(Picture(), History(), sources)


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        (POD, ("alice", "get", "pods", "a", "", "p")),
        (
            "/apis/apps/v1/namespaces/a/deployments/d.x",
            ("alice", "get", "deployments", "a", "apps", "d.x"),
        ),
    ],
)
async def test_an_object_is_read_after_the_right_to_it_was_asked_for(
    path: str, asked: tuple[str, ...]
) -> None:
    rights, server = Rights(), Server()
    assert await _knowing(rights, server).manifest(ALICE, path) == {"path": path}
    assert rights.asked == [asked]


async def test_without_the_right_nothing_is_read() -> None:
    for rights, status in ((Rights(allowed=False), 403), (Rights(unknown=True), 503)):
        server = Server()
        with pytest.raises(NotKnown) as refused:
            await _knowing(rights, server).manifest(ALICE, POD)
        assert refused.value.status == status
        assert server.read == []


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/a/secrets/s",
        "/api/v1/namespaces/a/serviceaccounts/s",
        "/api/v1/namespaces/a/pods/p/log",
        "/api/v1/namespaces/a/pods/../secrets/s",
        "/api/v1/namespaces/a/pods",
        "/api/v1/nodes/n",
        "/api/v1/namespaces/a/pods/p?watch=true",
        "/metrics",
        "",
    ],
)
async def test_only_an_object_of_a_namespace_is_read_and_never_a_secret(path: str) -> None:
    rights, server = Rights(), Server()
    with pytest.raises(NotKnown) as refused:
        await _knowing(rights, server).manifest(ALICE, path)
    assert refused.value.status == 404
    assert server.read == []


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (ApiError(404, "NotFound", "no"), 404),
        (ApiError(403, "Forbidden", "not you"), 503),
        (ApiUnreachable("silence"), 503),
    ],
)
async def test_what_the_api_server_does_not_say_is_a_sentence(failure: Exception, status: int) -> None:
    with pytest.raises(NotKnown) as refused:
        await _knowing(Rights(), Server(failure)).manifest(ALICE, POD)
    assert refused.value.status == status


async def test_a_pod_outside_the_sight_is_a_pod_that_does_not_exist() -> None:
    knowing = _knowing(Rights(), Server())
    assert await knowing.explain_pod("a", "p", EVERYTHING) == "told"
    with pytest.raises(NotKnown, match="There is no pod 'p' in namespace 'a'") as refused:
        await knowing.explain_pod("a", "p", Sight(namespaces=frozenset({"b"})))
    assert refused.value.status == 404


async def test_a_right_that_nobody_knows_is_a_sentence() -> None:
    with pytest.raises(NotKnown, match="did not say what you may see"):
        await _knowing(Rights(unknown=True), Server()).may(ALICE, "list", "pods")
