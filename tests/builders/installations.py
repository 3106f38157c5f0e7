"""Clusters before and after an installation: records where all is well, and an API server that shows such a cluster."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from builders.api_server import Object, refusal
from builders.clusters_seen import SeenCluster
from tangram.services.installation.asking import Told
from tangram.services.installation.created import HOME, NAME, made_on
from tangram.services.installation.doors import EXPLAIN, METRICS, READY
from tangram.services.installation.ground import Ground, Helm, Neighbours
from tangram.services.installation.standing import Door, LeaseSeen, Page, Standing
from tangram.services.installation.workloads import Workload

FREE = Told(status=404, message="not found")
DENIED = 'admission webhook "pods.tangram.dev" denied the request: container main asks for too much.'
NO_DRY_RUN = 'admission webhook "x.example" does not support dry run because the sideEffects field is not set'
MAY_NOT = (
    'pods is forbidden: User "jane" cannot create resource "pods" in API group "" in the namespace "default"'
)
AGENT = {"tangram.dev/agent": "serving", "tangram.dev/node-inventory": "{}"}
LABELS = {"metax-tech.com/gpu.installed": "true", "metax-tech.com/driver.ready": "true"}
USUAL_INFO = {
    "kubeletVersion": "v1.36.3",
    "containerRuntimeVersion": "containerd://2.1.4",
    "osImage": "Ubuntu 22.04.4 LTS",
    "kernelVersion": "5.15.0-113-generic",
    "architecture": "amd64",
    "operatingSystem": "linux",
}


def bare_node(name: str = "gpu-1", labels: Mapping[str, str] | None = None, /, **info: str) -> Object:
    """A node that nothing was installed on; further facts replace those it usually tells."""
    return {
        "metadata": {"name": name, "labels": dict(labels or {})},
        "status": {
            "nodeInfo": USUAL_INFO | info,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def served_node(
    name: str = "gpu-1",
    *,
    amounts: tuple[str, str] = ("16", "16"),
    annotations: Mapping[str, str] = AGENT,
    labels: Mapping[str, str] = LABELS,
    cordoned: bool = False,
) -> Object:
    """A node with sliced cards: how much of it there is, and how much of that can be given."""
    made = bare_node(name, labels)
    made["metadata"]["annotations"] = dict(annotations)
    made["spec"] = {"unschedulable": True} if cordoned else {}
    for field, amount in zip(("capacity", "allocatable"), amounts, strict=True):
        made["status"][field] = {"metax-tech.com/sgpu": amount} if amount else {}
    return made


def good_ground(*nodes: Object, **changes: Any) -> Ground:  # noqa: ANN401 - whatever the record holds
    """A cluster that is ready, with these nodes instead of one, and with these fields instead of the usual."""
    fields: dict[str, Any] = {
        "server": "https://it:6443",
        "version": (1, 36),
        "spoken_version": "v1.36.3",
        "nodes": Told(nodes or (bare_node(),)),
        "home": Told(({"metadata": {"name": HOME}},)),
        "tried_in": HOME,
        "privileged": Told(({"kind": "Pod"},)),
        "granting": Told(({"kind": "ClusterRole"},)),
        "rights": {each.kind: True for each in made_on((1, 36))},
        "names": {f"{each.kind} {name}": FREE for each in made_on((1, 36)) for name in each.names},
        "neighbours": Neighbours(),
        "helm": Helm("v3.18.0"),
    }
    return Ground(**(fields | changes))


def workload(role: str = "gpu-device", **changes: Any) -> Workload:  # noqa: ANN401 - the same
    fields: dict[str, Any] = {
        "kind": "DaemonSet",
        "namespace": HOME,
        "name": f"tangram-{role}",
        "role": role,
        "image": "tangram.dev/cloud/tangram:0.1.0",
        "wanted": 2,
        "ready": 2,
        "current": True,
    }
    return Workload(**(fields | changes))


def good_door(**pages: Page) -> Door:
    """The scheduler behind its Service; pages are named by their last word."""
    usual = {READY: Page(200, "ok"), EXPLAIN: Page(401, "who asks?"), METRICS: Page(401, "who asks?")}
    return Door(f"Service {HOME}/{NAME}", usual | {f"/{name}": page for name, page in pages.items()})


def good_standing(*nodes: Object, **changes: Any) -> Standing:  # noqa: ANN401 - the same
    """An installation that is whole."""
    fields: dict[str, Any] = {
        "server": "https://it:6443",
        "version": (1, 36),
        "nodes": Told(nodes or (served_node(),)),
        "workloads": (workload(), workload("scheduler", kind="Deployment")),
        "doors": (good_door(),),
        "lease": LeaseSeen(f"{HOME}/{NAME}", Told(({"spec": {}},)), "host_1", renewed=True),
        "tried_in": "default",
        "completed": Told(({"spec": {"schedulerName": NAME}},)),
        "refused": Told(status=400, message=DENIED),
        "served": frozenset({NAME, "hami-scheduler"}),
    }
    return Standing(**(fields | changes))


def admitted(pod: Object) -> web.Response:
    """What our webhook makes of a trial pod."""
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    if limits.get("metax-tech.com/vcore") == "150":
        return refusal(400, "BadRequest", DENIED)
    pod["spec"].setdefault("schedulerName", NAME)
    return web.json_response(pod, status=201)


class AskedCluster:
    """An API server before an installation: every right is granted, and whatever is tried is said to be fine."""

    def __init__(self) -> None:
        self.seen = SeenCluster()
        self.seen.lists["/api/v1/nodes"] = [bare_node()]
        for kind in ("mutatingwebhookconfigurations", "validatingadmissionpolicies"):
            self.seen.lists[f"/apis/admissionregistration.k8s.io/v1/{kind}"] = []
        for kind in ("deployments", "daemonsets"):
            self.seen.lists[f"/apis/apps/v1/{kind}"] = []
        self.seen.objects["/version"] = {"major": "1", "minor": "36", "gitVersion": "v1.36.3"}
        for name in (HOME, "default"):
            self.seen.objects[f"/api/v1/namespaces/{name}"] = {"metadata": {"name": name}}
        self.posts: list[tuple[str, str]] = []
        """Path and `dryRun` of everything that was sent to be made."""
        self.answer_post: Callable[[web.Request], web.Response | None] = lambda _request: None

    def answer(self, request: web.Request) -> web.Response:
        if request.method != "POST":
            return self.seen.answer(request)
        self.posts.append((request.path, request.query.get("dryRun", "")))
        if request.path in self.seen.forbidden:
            return refusal(403, "Forbidden", MAY_NOT)
        if request.path.endswith("reviews"):
            return web.json_response({"status": {"allowed": True}}, status=201)
        return self.answer_post(request) or web.json_response({"spec": {}}, status=201)


class InstalledCluster(AskedCluster):
    """The same after an installation, behind a Service that the API server proxies to."""

    def __init__(self) -> None:
        super().__init__()
        self.renewals = 0
        self.seen.lists["/api/v1/nodes"] = [served_node()]
        hook = {
            "name": "pods.tangram.dev",
            "failurePolicy": "Fail",
            "clientConfig": {
                "service": {"namespace": HOME, "name": NAME, "port": 9443},
                "caBundle": base64.b64encode(b"CA").decode(),
            },
        }
        admission = "/apis/admissionregistration.k8s.io/v1"
        self.seen.lists[f"{admission}/mutatingwebhookconfigurations"] = [
            {"metadata": {"name": NAME}, "webhooks": [hook]}
        ]
        self.seen.lists[f"{admission}/validatingadmissionpolicies"] = [
            {"metadata": {"name": "tangram-allocations"}}
        ]
        self.seen.lists[f"/api/v1/namespaces/{HOME}/configmaps"] = self.seen.lists[
            "/api/v1/namespaces/tangram/configmaps"
        ]
        self.seen.objects[f"/api/v1/namespaces/{HOME}/services/{NAME}"] = {"spec": {"type": "ClusterIP"}}
        self.pages: dict[str, tuple[int, str]] = {
            READY: (200, "ok\n"),
            EXPLAIN: (401, '{"Error": "who asks?"}'),
            METRICS: (401, '{"Error": "who asks?"}'),
        }

    def answer(self, request: web.Request) -> web.Response:
        proxy = f"/api/v1/namespaces/{HOME}/services/https:{NAME}:9443/proxy"
        if request.path.startswith(proxy):
            status, text = self.pages[request.path.removeprefix(proxy)]
            return web.Response(status=status, text=text)
        if request.path.endswith(f"/leases/{NAME}"):
            self.renewals += 1
            spec = {"holderIdentity": "host_1", "leaseDurationSeconds": 15, "renewTime": str(self.renewals)}
            return web.json_response({"spec": spec})
        return super().answer(request)
