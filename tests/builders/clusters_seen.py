"""Clusters as an API server shows them to the doctor: one where all is well, and ways to spoil it."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import msgspec
from aiohttp import web

from builders.api_server import Object, refusal
from tangram.wire import loose
from tangram.wire.extender_config import extender_entry, scheduler_configuration
from tangram.wire.koordinator.definition import device_definition

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CONFIG = "/api/v1/namespaces/tangram/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/tangram/deployments"
PODS = "/api/v1/pods"
CONFIG_MAPS = "/api/v1/configmaps"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
DEVICE_KIND = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/devices.scheduling.koordinator.sh"
MADE = "2026-11-15T21:00:00Z"
"""When pods were made."""
NOW = 1_794_777_000.0
"""Ten minutes later."""
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
            PODS: [],
            CONFIG_MAPS: [],
            DEVICES: [],
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
            DEVICE_KIND: device_definition(),
        }
        self.forbidden: set[str] = set()
        self.methods: set[str] = set()

    def answer(self, request: web.Request) -> web.Response:
        self.methods.add(request.method)
        if request.path in self.forbidden:
            return refusal(403, "Forbidden", f"you may not list {request.path.rsplit('/', 1)[1]}")
        if request.path in self.lists:
            return web.json_response({"metadata": {}, "items": copy.deepcopy(self._asked(request))})
        if request.path in self.objects:
            return web.json_response(self.objects[request.path])
        return refusal(404, "NotFound", "the server could not find the requested resource")

    def _asked(self, request: web.Request) -> list[Object]:
        """The objects of a list; of one name alone where that is all that was asked for."""
        key, _, name = request.query.get("fieldSelector", "").partition("=")
        every = self.lists[request.path]
        if key != "metadata.name":
            return every
        return [each for each in every if loose.members(each.get("metadata")).get("name") == name]


def card_pod(
    name: str, scheduler: str = "", *, on: str = "", made: str = MADE, conditions: Sequence[Object] = ()
) -> Object:
    """A pod that asks for a card; bound where `on` names a node."""
    limits = {"metax-tech.com/sgpu": "1"}
    spec: Object = {"containers": [{"name": "main", "resources": {"limits": limits}}]}
    return {
        "metadata": {"namespace": "ai", "name": name, "creationTimestamp": made},
        "spec": spec | ({"schedulerName": scheduler} if scheduler else {}) | ({"nodeName": on} if on else {}),
        "status": {"phase": "Running" if on else "Pending", "conditions": [*conditions]},
    }


def part_pod(name: str, command: str, *arguments: str, on: str = "") -> Object:
    """A pod of somebody's component."""
    container = {
        "name": "main",
        "image": f"example/{command}:v1",
        "command": [f"/{command}"],
        "args": [*arguments],
    }
    spec: Object = {"containers": [container]} | ({"nodeName": on} if on else {})
    return {"metadata": {"namespace": "koordinator-system", "name": name}, "spec": spec}


def written_by(manager: str, *path: str) -> list[Object]:
    """What the API server keeps of the writer of a field."""
    fields: Object = {}
    for part in reversed(path):
        fields = {f"f:{part}": fields}
    return [{"manager": manager, "fieldsType": "FieldsV1", "fieldsV1": fields}]


def described(name: str, *ids: str, writer: str = "koordlet") -> Object:
    """The Device of a node with those cards."""
    entries = [
        {"id": each, "minor": minor, "type": "gpu", "health": True}
        for minor, each in enumerate(ids or ("a",))
    ]
    return {
        "metadata": {"name": name, "managedFields": written_by(writer, "spec")},
        "spec": {"devices": entries},
    }


def modes_map(place: str, **texts: str) -> Object:
    """A device ConfigMap; `_` in a key stands for `-`."""
    namespace, _, name = place.partition("/")
    return {
        "metadata": {"namespace": namespace, "name": name},
        "data": {key.replace("_", "-"): text for key, text in texts.items()},
    }
