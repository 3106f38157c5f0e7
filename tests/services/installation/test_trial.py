"""The one pod that `verify --pod` makes: shown with its card, and gone whatever happens."""

import asyncio

import msgspec
import pytest
from aiohttp import web

from builders.api_server import Object, refusal, small_api_server
from builders.installations import MAY_NOT
from tangram.kube.api import Api
from tangram.services.installation import trial
from tangram.services.installation.trial import Trial, Wish, try_pod
from tangram.services.installation.trial_pods import SLEEP

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WISH = Wish(
    namespace="default", limits={"metax-tech.com/sgpu": "1"}, image="none", command=SLEEP, patience=0.2
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_AGAIN_S", 0.02)


class PodServer:
    """Keeps one pod, gives it a status, and forgets it when it is deleted."""

    def __init__(self, status: Object, *, stays: int = 0, may_delete: bool = True) -> None:
        self.may_delete = may_delete
        self.status = status
        self.stays = stays
        self.pod: Object | None = None
        self.deletions = 0

    def answer(self, request: web.Request) -> web.Response:
        if request.path == REVIEWS:
            return web.json_response({"status": {"allowed": self.may_delete}}, status=201)
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
    said: list[str] = []
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = pods.answer
        placed, finding = await try_pod(api, WISH, said.append)
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
        pytest.param(
            {
                "phase": "Failed",
                "containerStatuses": [{"state": {"terminated": {"message": "no such file"}}}],
            },
            "no such file",
            id="no-program",
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


@pytest.mark.parametrize("asked", [2, 4], ids=["while-it-is-made", "while-it-waits"])
async def test_a_pod_is_deleted_when_the_one_who_waits_gives_up(asked: int) -> None:
    pods = PodServer({"status": {"phase": "Pending"}})
    said: list[str] = []
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = pods.answer
        wish = msgspec.structs.replace(WISH, patience=600)
        waiting = asyncio.create_task(try_pod(api, wish, said.append))
        await server.asked(asked)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert pods.pod is not None
    assert pods.deletions == 2
    assert [each.partition("/")[0] for each in said] == ["deleting pod default"]


async def test_a_pod_that_cannot_be_deleted_after_all_is_named_to_the_one_who_gives_up() -> None:
    pods = PodServer({"status": {"phase": "Pending"}})
    said: list[str] = []
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda request: (
            refusal(403, "Forbidden", "no") if request.method == "DELETE" else pods.answer(request)
        )
        waiting = asyncio.create_task(try_pod(api, msgspec.structs.replace(WISH, patience=600), said.append))
        await server.asked(4)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        deletions = [path for method, path, _, _ in server.requests if method == "DELETE"]
    assert len(deletions) == 1
    assert said[-1] == f"it is still there: kubectl -n default delete pod {deletions[0].rpartition('/')[2]}"


async def test_no_pod_is_made_by_somebody_who_may_not_delete_it() -> None:
    pods = PodServer({}, may_delete=False)
    placed, outcome, why = await tried(pods)
    assert (placed, outcome, pods.pod) == (None, "skip", None)
    assert "you may not delete pods in default" in why


@pytest.mark.parametrize(
    ("message", "outcome"),
    [pytest.param(MAY_NOT, "skip", id="right"), pytest.param("quota", "fail", id="quota")],
)
async def test_a_pod_that_may_not_be_made_is_told_of(message: str, outcome: str) -> None:
    said: list[str] = []
    async with small_api_server() as (server, connection), Api(connection) as api:
        server.answer_first = lambda _request: refusal(403, "Forbidden", message)
        placed, finding = await try_pod(api, WISH, said.append)
    assert (placed, finding.outcome) == (None, outcome)
