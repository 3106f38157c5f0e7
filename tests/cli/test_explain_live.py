"""`tangram explain` about a live cluster, worked out here from what the person may list."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from syrupy.assertion import SnapshotAssertion

from builders import scheduling
from builders.api_server import SmallApiServer, refusal, small_api_server
from builders.commands import Answer, run

BIG = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 50, "metax-tech.com/vmemory": 60}


class Cluster:
    """A small API server with a node, and a kubeconfig for it."""

    def __init__(self, server: SmallApiServer, kubeconfig: Path) -> None:
        self.server = server
        self.kubeconfig = kubeconfig
        server.belongs = _belongs
        server.put("/api/v1/nodes/gpu-1", scheduling.node("gpu-1"))

    def pod(
        self,
        name: str,
        limits: dict[str, Any] | None = None,
        *,
        namespace: str = "ai",
        scheduler: str = "tangram-scheduler",
    ) -> None:
        made = scheduling.pod(name, limits, namespace=namespace, scheduler=scheduler)
        self.server.put(f"/api/v1/namespaces/{namespace}/pods/{name}", made)

    def bound(self, name: str, card: int, *, namespace: str = "ai", phase: str = "Running") -> None:
        annotations = {
            "hami.io/vgpu-node": "gpu-1",
            "hami.io/metax-sgpu-devices-allocated": f"GPU-gpu-1-{card},Metax-SGPU,16384,50:;",
        }
        made = scheduling.pod(name, namespace=namespace, annotations=annotations, spec={"nodeName": "gpu-1"})
        made["status"]["phase"] = phase
        self.server.put(f"/api/v1/namespaces/{namespace}/pods/{name}", made)

    async def explain(self, *arguments: str) -> Answer:
        return await asyncio.to_thread(run, "explain", *arguments, "--kubeconfig", str(self.kubeconfig))

    async def explained(self, *arguments: str) -> dict[str, Any]:
        answer = await self.explain(*arguments, "-o", "json")
        assert answer.err == ""
        return json.loads(answer.out)

    async def sentence(self, *arguments: str) -> str:
        answer = await self.explain(*arguments)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith("tangram: ")
        assert answer.err.count("\n") == 1
        return answer.err.removeprefix("tangram: ").strip()


def _belongs(path: str, collection: str) -> bool:
    return path.rsplit("/", 2)[1] == collection.rsplit("/", 1)[1]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


@asynccontextmanager
async def opened(kubeconfig: Path) -> AsyncGenerator[Cluster]:
    async with small_api_server() as (server, connection):
        _write_kubeconfig(kubeconfig, connection.server)
        yield Cluster(server, kubeconfig)


def _write_kubeconfig(path: Path, server: str) -> None:
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "ai"}}],
        "clusters": [{"name": "k", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(yaml.safe_dump(config))


async def test_a_pod_that_waits_is_explained_from_what_the_api_server_lists(
    kubeconfig: Path, snapshot: SnapshotAssertion
) -> None:
    async with opened(kubeconfig) as cluster:
        cluster.bound("a", 0)
        cluster.bound("b", 1, namespace="web")
        cluster.pod("train", BIG)
        answer = await cluster.explain("train", "--node", "gpu-1")
        assert (answer.status, answer.err) == (1, "")
        assert answer.out == snapshot
        report = await cluster.explained("train")
    assert report["source"] == "api-server"
    (only,) = report["pods"]
    assert (only["pod"], only["verdict"]) == ("ai/train", "waits")
    assert only["nodes"][0]["cards"][1]["holders"] == ["web/b"]
    assert (only["last"], only["turn"]) == (None, None)


async def test_a_pod_that_runs_or_has_ended_is_said_to(kubeconfig: Path, snapshot: SnapshotAssertion) -> None:
    async with opened(kubeconfig) as cluster:
        cluster.bound("a", 1)
        cluster.bound("over", 0, phase="Succeeded")
        cluster.pod("web", {"cpu": "1"})
        for name in ("a", "over", "web"):
            answer = await cluster.explain(name)
            assert (answer.status, answer.err) == (0, "")
            assert answer.out == snapshot(name=name)


async def test_a_new_pod_is_a_dry_run_in_the_namespace_of_the_kubeconfig(
    kubeconfig: Path, tmp_path: Path
) -> None:
    new = scheduling.pod("new")
    del new["metadata"]["namespace"]
    (tmp_path / "new.yaml").write_text(yaml.safe_dump({"kind": "Pod", **new}))
    async with opened(kubeconfig) as cluster:
        (only,) = (await cluster.explained("-f", str(tmp_path / "new.yaml")))["pods"]
        assert (only["pod"], only["verdict"], only["node"]) == ("ai/new", "fits", "gpu-1")
        (other,) = (await cluster.explained("-f", str(tmp_path / "new.yaml"), "-n", "web"))["pods"]
        assert other["pod"] == "web/new"
        assert {method for method, *_ in cluster.server.requests} == {"GET"}


async def test_without_a_name_all_that_wait_for_cards_are_explained(kubeconfig: Path) -> None:
    async with opened(kubeconfig) as cluster:
        assert "no pod to explain" in await cluster.sentence()
        cluster.pod("one", BIG)
        cluster.pod("two", namespace="web")
        cluster.pod("plain", {"cpu": "1"})
        found = await cluster.explained()
        assert [each["pod"] for each in found["pods"]] == ["ai/one", "web/two"]
        assert [each["pod"] for each in (await cluster.explained("-n", "web"))["pods"]] == ["web/two"]
        assert "none waits in namespace empty" in await cluster.sentence("-n", "empty")


async def test_a_pod_for_a_scheduler_that_does_not_ask_us_gets_a_warning(kubeconfig: Path) -> None:
    async with opened(kubeconfig) as cluster:
        cluster.pod("lost", scheduler="default-scheduler")
        answer = await cluster.explain("lost")
    assert "warning, other-scheduler: its schedulerName is default-scheduler" in answer.out
    assert "write tangram-scheduler" in answer.out


async def test_koordinators_devices_are_read_where_there_are_any(kubeconfig: Path) -> None:
    resources = {"koordinator.sh/gpu-memory": "64Gi"}
    device = {
        "metadata": {"labels": {"node.koordinator.sh/gpu-vendor": "metax"}},
        "spec": {
            "devices": [{"type": "gpu", "id": "GPU-k", "minor": 0, "health": True, "resources": resources}]
        },
    }
    path = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
    async with opened(kubeconfig) as cluster:
        cluster.server.put("/api/v1/nodes/koord", {"metadata": {}, "spec": {}, "status": {}})
        cluster.server.put(f"{path}/koord", device)
        cluster.pod("p")
        assert (await cluster.explained("p"))["cluster"]["cards"] == 3
        cluster.server.answer_first = lambda request: (
            refusal(403, "Forbidden", "no") if request.path == path else None
        )
        found = await cluster.explained("p")
    assert found["cluster"]["cards"] == 2
    assert [each["code"] for each in found["cluster"]["problems"]] == ["devices-unread"]


async def test_a_list_that_is_forgotten_half_way_is_begun_again(kubeconfig: Path) -> None:
    async with opened(kubeconfig) as cluster:
        cluster.pod("p")
        left = [refusal(410, "Expired", "too old")]
        cluster.server.answer_first = lambda request: (
            left.pop() if request.path == "/api/v1/pods" and left else None
        )
        assert (await cluster.explained("p"))["pods"][0]["verdict"] == "fits"
        assert not left
        cluster.server.answer_first = lambda request: (
            refusal(410, "Expired", "too old") if request.path == "/api/v1/pods" else None
        )
        assert "pods of all namespaces cannot be listed (410 too old)" in await cluster.sentence("p")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["tran"], "there is no pod ai/tran: write train, or write -n", id="near miss"),
        pytest.param(
            ["zzz"], "there is no pod ai/zzz: 'kubectl get pods -n ai' lists those there are", id="none"
        ),
        pytest.param(
            ["page"], "there is no pod ai/page, but one of that name in web: write -n web.", id="elsewhere"
        ),
        pytest.param(
            ["train", "--node", "gpu-2"], "--node is 'gpu-2': the nodes are gpu-1; write gpu-1.", id="node"
        ),
    ],
)
async def test_names_that_are_not_there(kubeconfig: Path, arguments: list[str], expected: str) -> None:
    async with opened(kubeconfig) as cluster:
        cluster.pod("train")
        cluster.pod("page", namespace="web")
        assert expected in await cluster.sentence(*arguments)


def _refusing(path: str, status: int, message: str) -> Any:  # noqa: ANN401 - as the builder has it
    def first(request: web.Request) -> web.Response | None:
        return refusal(status, "Reason", message) if request.path == path else None

    return first


@pytest.mark.parametrize(
    ("path", "status", "expected"),
    [
        pytest.param(
            "/api/v1/nodes", 401, "does not know you (Unauthorized): sign in again", id="unknown person"
        ),
        pytest.param(
            "/api/v1/nodes", 403, "you may not list nodes (Unauthorized), so what is free", id="nodes"
        ),
        pytest.param(
            "/api/v1/pods",
            403,
            "you may not list pods of all namespaces (Unauthorized), so what is free cannot be told: "
            "ask for that right, or ask the scheduler, which knows: --server URL.",
            id="pods",
        ),
        pytest.param(
            "/api/v1/pods", 500, "pods of all namespaces cannot be listed (500 Unauthorized)", id="broken"
        ),
    ],
)
async def test_rights_that_do_not_reach_far_enough(
    kubeconfig: Path, path: str, status: int, expected: str
) -> None:
    async with opened(kubeconfig) as cluster:
        cluster.pod("train")
        cluster.server.answer_first = _refusing(path, status, "Unauthorized")
        assert expected in await cluster.sentence("train")


async def test_an_api_server_that_is_gone_or_empty_gets_a_sentence(kubeconfig: Path) -> None:
    async with opened(kubeconfig) as cluster:
        cluster.server.remove("/api/v1/nodes/gpu-1")
        assert "has no node: there is nothing to place a pod on" in await cluster.sentence("train")
    assert "gives no answer (" in await cluster.sentence("train")


def test_without_a_cluster_to_ask_the_ways_to_name_one_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    answer = run("explain", "train")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("tangram: no API server is known: ")
