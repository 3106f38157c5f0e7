"""Clusters as an API server shows them to the doctor: one where all is well, and ways to spoil it."""

from __future__ import annotations

import copy

import msgspec
from aiohttp import web

from builders.api_server import Object, refusal
from tangram.wire.extender_config import extender_entry, scheduler_configuration

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIG = "/api/v1/namespaces/tangram/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/tangram/deployments"
WEBHOOKS = f"{ADMISSION}/mutatingwebhookconfigurations"


def hook(name: str, **more: object) -> Object:
    service = {"namespace": "tangram", "name": "tangram-scheduler"}
    return {
        "name": name,
        "failurePolicy": "Fail",
        "clientConfig": {"service": service, "caBundle": "Q0E="},
        **more,
    }


def configuration(name: str, *hooks: Object) -> Object:
    return {"metadata": {"name": name}, "webhooks": list(hooks)}


def node(name: str, *, agent: bool = True, **allocatable: str) -> Object:
    annotations = {"tangram.dev/node-inventory": "{}"} if agent else {}
    amounts = {f"metax-tech.com/{key}": amount for key, amount in allocatable.items()}
    return {"metadata": {"name": name, "annotations": annotations}, "status": {"allocatable": amounts}}


def scheduler_config(
    place: str = "tangram/scheduler", changes: Object | None = None, *, later: Object | None = None
) -> Object:
    """A ConfigMap with the configuration as we write it, with changes to our entry, or with an extender after it."""
    entry = extender_entry("http://127.0.0.1:8080") | (changes or {})
    made = scheduler_configuration(entry, ["tangram-scheduler"])
    made["extenders"] += [later] if later else []
    namespace, _, name = place.partition("/")
    return {
        "metadata": {"namespace": namespace, "name": name},
        "data": {"config.yaml": msgspec.json.encode(made).decode()},
    }


class SeenCluster:
    """What each path answers: a list of objects, one object, or a refusal. All else is not found."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Object]] = {
            "/api/v1/nodes": [node("gpu-1", sgpu="16"), node("gpu-2", gpu="8"), node("cpu-1", agent=False)],
            WEBHOOKS: [configuration("tangram-scheduler", hook("pods.tangram.dev"))],
            f"{ADMISSION}/validatingwebhookconfigurations": [],
            f"{ADMISSION}/validatingadmissionpolicies": [{"metadata": {"name": "tangram-allocations"}}],
            "/apis/resource.k8s.io/v1/deviceclasses": [],
            "/api/v1/namespaces/kube-system/configmaps": [],
            "/api/v1/namespaces/default/configmaps": [],
            CONFIG: [scheduler_config()],
            "/api/v1/namespaces/kube-system/pods": [],
            DEPLOYMENTS: [],
            "/apis/apps/v1/namespaces/kube-system/deployments": [],
            "/apis/apps/v1/namespaces/default/deployments": [],
        }
        self.objects: dict[str, Object] = {
            "/version": {"major": "1", "minor": "36"},
            "/apis/resource.k8s.io": {
                "preferredVersion": {"groupVersion": "resource.k8s.io/v1"},
                "versions": [{"groupVersion": "resource.k8s.io/v1"}],
            },
            "/apis/scheduling.k8s.io": {"versions": [{"groupVersion": "scheduling.k8s.io/v1"}]},
            "/apis/scheduling.k8s.io/v1": {"resources": [{"name": "priorityclasses"}]},
        }
        self.forbidden: set[str] = set()
        self.methods: set[str] = set()

    def answer(self, request: web.Request) -> web.Response:
        self.methods.add(request.method)
        if request.path in self.forbidden:
            return refusal(403, "Forbidden", f"you may not list {request.path.rsplit('/', 1)[1]}")
        if request.path in self.lists:
            return web.json_response({"metadata": {}, "items": copy.deepcopy(self.lists[request.path])})
        if request.path in self.objects:
            return web.json_response(self.objects[request.path])
        return refusal(404, "NotFound", "the server could not find the requested resource")
