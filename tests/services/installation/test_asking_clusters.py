"""What is asked of an API server: everything once, nothing that lasts, and no answer is too odd."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web

from builders.api_server import Object, refusal, small_api_server
from builders.installations import MAY_NOT, AskedCluster, InstalledCluster, admitted, bare_node
from tangram.drivers.doctor.findings import Outcome
from tangram.kube.api import Api
from tangram.services.installation import inspecting
from tangram.services.installation.inspecting import inspect
from tangram.services.installation.preflight import judge_ground
from tangram.services.installation.surveying import survey
from tangram.services.installation.verify import judge_standing
from tangram.services.installation.workloads import our_workloads

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PODS = "/api/v1/namespaces/default/pods"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


@asynccontextmanager
async def served(cluster: AskedCluster) -> AsyncGenerator[Api]:
    async with small_api_server() as (server, connection), Api(connection, limit=5) as api:
        server.answer_first = cluster.answer
        yield api


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "_LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(inspecting, "RENEWED_WITHIN_S", 0.05)


async def test_everything_that_a_preflight_sends_to_be_made_is_a_dry_run() -> None:
    cluster = AskedCluster()
    async with served(cluster) as api:
        ground = await survey(api, "kube-system")
    assert {path for path, dry in cluster.posts if dry != "All"} == {REVIEWS}
    assert {path for path, dry in cluster.posts if dry == "All"} == {
        "/api/v1/namespaces/kube-system/pods",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    }
    assert ground.spoken_version == "v1.36.3"
    assert len(ground.rights) == 14


async def test_a_namespace_and_a_kind_that_are_not_there_need_rights_of_their_own() -> None:
    cluster = AskedCluster()
    del cluster.seen.objects[
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/devices.scheduling.koordinator.sh"
    ]
    async with served(cluster) as api:
        ground = await survey(api, "new")
    assert {"namespaces", "customresourcedefinitions.apiextensions.k8s.io"} <= set(ground.rights)
    assert ground.tried_in == "default"
    assert (f"{PODS}", "All") in cluster.posts


async def test_an_old_cluster_is_asked_about_the_guarding_webhook_instead_of_the_policy() -> None:
    cluster = AskedCluster()
    cluster.seen.objects["/version"] = {"major": "1", "minor": "27+", "gitVersion": "v1.27.9"}
    async with served(cluster) as api:
        ground = await survey(api, "kube-system")
    assert "validatingwebhookconfigurations.admissionregistration.k8s.io" in ground.rights
    assert not any("policies" in kind for kind in ground.rights)


async def test_somebody_who_may_nothing_gets_sentences_and_no_failure_but_about_rights() -> None:
    def forbid(_request: web.Request) -> web.Response:
        return refusal(403, "Forbidden", MAY_NOT)

    cluster = AskedCluster()
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda request: (
            cluster.answer(request) if request.path in ("/version", REVIEWS) else forbid(request)
        )
        ground = await survey(api, "kube-system")
        standing = await inspect(api, "default", "", ())
    found = judge_ground(ground).findings
    assert [each.check for each in found if each.outcome is Outcome.FAIL] == []
    assert {"nodes", "privileged", "names", "installed"} <= {
        each.check for each in found if each.outcome is Outcome.SKIP
    }
    assert judge_standing(standing).failing == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>", id="html"),
        pytest.param(b"[]", id="a-list"),
        pytest.param(b"{}", id="nothing-in-it"),
        pytest.param(
            b'{"items": "none", "status": 1, "spec": [], "metadata": 7, "webhooks": {}}', id="wrong-shapes"
        ),
        pytest.param(b'{"items": [null, 1, {"metadata": null, "spec": 3, "status": []}]}', id="odd-items"),
    ],
)
async def test_an_odd_api_server_is_told_of_in_findings_and_never_in_a_traceback(body: bytes) -> None:
    async with small_api_server() as (server, connection), Api(connection, limit=5) as api:
        version = msgspec.json.encode({"major": "1", "minor": "36"})
        server.answer_first = lambda request: web.Response(
            body=version if request.path == "/version" else body, content_type="application/json"
        )
        ground, standing = await survey(api, "kube-system"), await inspect(api, "default", "a=b", ())
    assert all(each.why for each in judge_ground(ground).findings)
    assert all(each.why for each in judge_standing(standing).findings)


async def test_a_server_without_a_version_is_not_asked_any_further() -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: web.json_response({})
        ground, standing = await survey(api, "kube-system"), await inspect(api, "default", "", ())
    assert "no version in it" in ground.unreachable
    assert judge_standing(standing).failing == ["api-server"]


async def test_an_installation_is_seen_through_the_proxy_of_its_service() -> None:
    cluster = InstalledCluster()
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = cluster.answer
        cluster.answer_post = lambda _request: admitted(server.requests[-1][3])
        standing = await inspect(api, "default", "", cluster.seen.lists[HOOKS])
    assert judge_standing(standing).failing == []
    assert {path for path, dry in cluster.posts if dry != "All"} == set()
    assert standing.lease is not None
    assert standing.lease.renewed


async def test_a_lease_that_nobody_renews_is_not_alive() -> None:
    cluster = InstalledCluster()
    async with small_api_server() as (server, connection), Api(connection) as api:

        def stale(request: web.Request) -> web.Response:
            cluster.renewals = 0
            return cluster.answer(request)

        server.answer_first = stale
        standing = await inspect(api, "default", "", cluster.seen.lists[HOOKS])
    assert "kube-scheduler-lease" in judge_standing(standing).failing


async def test_a_service_that_leads_elsewhere_by_name_is_not_asked() -> None:
    cluster = InstalledCluster()
    spot = "/api/v1/namespaces/kube-system/services/tangram-scheduler"
    cluster.seen.objects[spot] = {"spec": {"type": "ExternalName"}}
    async with served(cluster) as api:
        standing = await inspect(api, "default", "", cluster.seen.lists[HOOKS])
    assert [door.closed != "" for door in standing.doors] == [True]


async def test_the_metrics_of_one_ready_pod_of_every_workload_on_nodes_are_asked_for() -> None:
    cluster = InstalledCluster()
    cluster.seen.lists["/apis/apps/v1/daemonsets"] = [daemon_set("tangram", "gpu-device")]
    pods = "/api/v1/namespaces/cards/pods"
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    cluster.seen.lists[pods] = [
        {"metadata": {"name": "late"}, "status": {}},
        {"metadata": {"name": "ready"}, "status": ready},
    ]
    cluster.seen.objects[f"{pods}/ready:9394/proxy/metrics"] = {"any": "text"}
    async with served(cluster) as api:
        standing = await inspect(api, "default", "", ())
    assert [(each.pod, each.page.status) for each in standing.agent_pages] == [("cards/ready", 200)]


def daemon_set(*command: str, image: str = "example/anything:1", args: tuple[str, ...] = ()) -> Object:
    container = {"name": "main", "image": image, "command": [*command], "args": [*args]}
    return {
        "metadata": {"namespace": "cards", "name": "agents", "generation": 2},
        "spec": {
            "selector": {"matchLabels": {"app": "agents"}},
            "template": {"spec": {"containers": [container]}},
        },
        "status": {
            "desiredNumberScheduled": 3,
            "numberReady": 2,
            "updatedNumberScheduled": 3,
            "observedGeneration": 2,
        },
    }


@pytest.mark.parametrize(
    ("thing", "role"),
    [
        pytest.param(daemon_set("/usr/bin/tangram", "gpu-device"), "gpu-device", id="by-path"),
        pytest.param(daemon_set(image="reg/tangram:1", args=("gpu-label",)), "gpu-label", id="by-image"),
        pytest.param(daemon_set("tangram", args=("dashboard", "--actions")), "dashboard", id="in-both"),
        pytest.param(daemon_set("tangram", "sandbox"), "", id="another-command"),
        pytest.param(daemon_set("gpu-device", image="cloud/gpu-device:0.8"), "", id="the-vendors"),
        pytest.param(daemon_set("sh", "-c", "tangram gpu-device"), "", id="in-a-shell"),
        pytest.param({"metadata": None, "spec": 4}, "", id="nonsense"),
    ],
)
def test_workloads_of_ours_are_known_by_what_they_run(thing: Object, role: str) -> None:
    found = list(our_workloads([thing], "DaemonSet"))
    assert [each.role for each in found] == ([role] if role else [])
    for each in found:
        assert (each.wanted, each.ready, each.current, each.selector) == (3, 2, True, {"app": "agents"})


async def test_a_binding_that_hands_out_too_much_is_seen_though_the_role_itself_may_be_made() -> None:
    cluster = AskedCluster()
    cluster.answer_post = lambda request: (
        refusal(403, "Forbidden", "attempting to grant RBAC permissions not currently held: ...")
        if request.path.endswith("/clusterrolebindings")
        else None
    )
    async with served(cluster) as api:
        ground = await survey(api, "kube-system")
    found = {each.check: each.outcome for each in judge_ground(ground).findings}
    assert found["rights"] == Outcome.FAIL


@pytest.mark.parametrize(
    "url",
    ["https://[::1", "https://jane:secret@127.0.0.1:1/admit", "https://a:b", "http://it", "nonsense", "://"],
)
async def test_the_address_of_a_webhook_may_be_anything_and_its_password_is_not_shown(url: str) -> None:
    hook = {"metadata": {"name": "tangram"}, "webhooks": [{"clientConfig": {"url": url, "caBundle": ""}}]}
    async with served(InstalledCluster()) as api:
        standing = await inspect(api, "default", "", [hook])
    said = str(judge_standing(standing).findings)
    assert "secret" not in said
    assert len(standing.doors) == 1


async def test_nodes_are_chosen_by_the_api_server_itself() -> None:
    cluster = AskedCluster()
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = cluster.answer
        cluster.seen.lists["/api/v1/nodes"] = [bare_node()]
        await survey(api, "kube-system", "gpu=true")
        queries = [query for _, path, query, _ in server.requests if path == "/api/v1/nodes"]
    assert [query.get("labelSelector") for query in queries] == ["gpu=true"]
