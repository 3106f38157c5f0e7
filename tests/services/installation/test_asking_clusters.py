"""What is asked of an API server: everything once, nothing that lasts, and no answer is too odd."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web

from builders.api_server import Object, refusal, small_api_server
from builders.installations import MAY_NOT, AskedCluster, InstalledCluster, admitted, bare_node
from tangram.drivers.doctor.findings import Outcome
from tangram.kube.api import Api
from tangram.services.installation import inspecting, trial
from tangram.services.installation.inspecting import inspect
from tangram.services.installation.preflight import judge_ground
from tangram.services.installation.surveying import survey
from tangram.services.installation.trial import Trial, Wish, try_pod
from tangram.services.installation.verify import judge_standing
from tangram.services.installation.workloads import our_workloads

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PODS = "/api/v1/namespaces/default/pods"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
WISH = Wish(namespace="default", limits={"metax-tech.com/sgpu": "1"}, image="none", patience=0.2)


@asynccontextmanager
async def served(cluster: AskedCluster) -> AsyncGenerator[Api]:
    async with small_api_server() as (server, connection), Api(connection, limit=5) as api:
        server.answer_first = cluster.answer
        yield api


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "_LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(inspecting, "RENEWED_WITHIN_S", 0.05)
    monkeypatch.setattr(trial, "_AGAIN_S", 0.02)


async def test_everything_that_a_preflight_sends_to_be_made_is_a_dry_run() -> None:
    cluster = AskedCluster()
    async with served(cluster) as api:
        ground = await survey(api, "kube-system")
    assert {path for path, dry in cluster.posts if dry != "All"} == {REVIEWS}
    assert {path for path, dry in cluster.posts if dry == "All"} == {
        "/api/v1/namespaces/kube-system/pods",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
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


# ---- the pod


class PodServer:
    """Keeps one pod, gives it a status, and forgets it when it is deleted."""

    def __init__(self, status: Object, *, stays: int = 0) -> None:
        self.status = status
        self.stays = stays
        self.pod: Object | None = None
        self.deletions = 0

    def answer(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            self.pod = {"metadata": {"name": "it", "namespace": "default", "uid": "u"}, "spec": {}}
            return web.json_response(self.pod, status=201)
        if request.method == "DELETE":
            self.deletions += 1
            if self.pod is None or self.deletions > self.stays + 1:
                return refusal(404, "NotFound", "gone")
            return web.json_response({})
        return web.json_response((self.pod or {}) | self.status)


async def tried(pods: PodServer) -> tuple[Trial | None, str, str]:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = pods.answer
        placed, finding = await try_pod(api, WISH)
    return placed, finding.outcome, finding.why


GIVEN = {
    "metadata": {
        "name": "it",
        "namespace": "default",
        "uid": "u",
        "annotations": {
            "hami.io/metax-sgpu-devices-allocated": "GPU-7,Metax-SGPU,1024,1:;",
            "metax-tech.com/gpu-devices-allocated": '[[{"uuid":"GPU-7","vRam":1024,"compute":1}]]',
        },
    },
    "spec": {
        "nodeName": "gpu-1",
        "containers": [
            {
                "name": "main",
                "resources": {
                    "limits": {
                        "metax-tech.com/sgpu": "1",
                        "metax-tech.com/vcore": "1",
                        "metax-tech.com/vmemory": "1",
                    }
                },
            }
        ],
    },
    "status": {"phase": "Running"},
}


async def test_a_pod_that_runs_is_shown_with_its_card_and_deleted() -> None:
    pods = PodServer(GIVEN, stays=1)
    placed, outcome, why = await tried(pods)
    assert outcome == "ok"
    assert "ran on gpu-1" in why
    assert placed is not None
    assert [(each.card, each.memory, each.kind) for each in placed.devices] == [("GPU-7", 1 << 30, "slice")]
    assert placed.deleted
    assert pods.deletions == 3


@pytest.mark.parametrize(
    ("status", "says"),
    [
        pytest.param(
            {"phase": "Pending", "conditions": [{"status": "False", "message": "0/3 nodes: no card fits"}]},
            "no card fits",
            id="waits",
        ),
        pytest.param(
            {"phase": "Failed", "message": "UnexpectedAdmissionError"}, "UnexpectedAdmission", id="failed"
        ),
        pytest.param(
            {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]},
            "ErrImagePull",
            id="no-image",
        ),
        pytest.param({"phase": "Running"}, "nobody wrote down which card", id="no-card"),
        pytest.param({}, "nobody says why", id="nothing"),
    ],
)
async def test_a_pod_that_does_not_run_says_why_and_is_deleted_all_the_same(
    status: Object, says: str
) -> None:
    pods = PodServer({"status": status})
    placed, outcome, why = await tried(pods)
    assert (outcome, says in why) == ("fail", True), why
    assert placed is not None
    assert placed.deleted


async def test_a_pod_is_deleted_when_the_one_who_waits_gives_up() -> None:
    pods = PodServer({"status": {"phase": "Pending"}})
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = pods.answer
        waiting = asyncio.create_task(try_pod(api, msgspec.structs.replace(WISH, patience=600)))
        await server.asked(2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert pods.deletions == 2


@pytest.mark.parametrize(
    ("message", "outcome"),
    [pytest.param(MAY_NOT, "skip", id="right"), pytest.param("quota", "fail", id="quota")],
)
async def test_a_pod_that_may_not_be_made_is_told_of(message: str, outcome: str) -> None:
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: refusal(403, "Forbidden", message)
        placed, finding = await try_pod(api, WISH)
    assert (placed, finding.outcome) == (None, outcome)


async def test_nodes_are_chosen_by_the_api_server_itself() -> None:
    cluster = AskedCluster()
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = cluster.answer
        cluster.seen.lists["/api/v1/nodes"] = [bare_node()]
        await survey(api, "kube-system", "gpu=true")
        queries = [query for _, path, query, _ in server.requests if path == "/api/v1/nodes"]
    assert [query.get("labelSelector") for query in queries] == ["gpu=true"]
