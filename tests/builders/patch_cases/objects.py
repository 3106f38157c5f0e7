"""The objects of the cases, and what a step of one is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
Object = dict[str, Json]

GROUP = "patching.tangram.dev"
VERSIONS: Mapping[str, str] = {
    "ConfigMap": "v1",
    "Deployment": "apps/v1",
    "Node": "v1",
    "Pod": "v1",
    "Service": "v1",
    "Thing": f"{GROUP}/v1",
    "Plain": f"{GROUP}/v1",
}
PLURALS: Mapping[str, str] = {kind: f"{kind.lower()}s" for kind in VERSIONS}
DEFINITIONS: Mapping[str, str] = {
    kind: f"io.k8s.api.{'apps' if kind == 'Deployment' else 'core'}.v1.{kind}"
    for kind in ("ConfigMap", "Deployment", "Node", "Pod", "Service")
}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    how: str
    """create, update (a merge patch made into a whole object), json, merge, strategic, apply."""
    body: Json = None
    manager: str = "editor"
    force: bool = False
    subresource: str = ""
    only_owners: bool = False
    """The server does more to the object than the step asks, so only the owners are compared."""
    unowned: tuple[str, ...] = ()
    """Of a create: what the server or admission fills in afterwards, so that it is nobody's."""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    steps: Sequence[Step]


def made(kind: str, name: str = "", **fields: Json) -> Object:
    """The opening of an object; `metadata` among the fields is joined with its name."""
    metadata = {"name": name} | fields.pop("metadata", {}) if name else fields.pop("metadata", {})
    return {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": metadata, **fields}


def container(name: str, **fields: Json) -> Object:
    said: Object = {
        "name": name,
        "image": f"example.com/{name}:1",
        "imagePullPolicy": "IfNotPresent",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return said | fields


def port(number: int, name: str, protocol: str = "TCP") -> Object:
    return {"containerPort": number, "name": name, "protocol": protocol}


def deployment(*containers: Object, **spec: Json) -> Object:
    inner = {"volumes": spec.pop("volumes")} if "volumes" in spec else {}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": list(containers or (container("web"),))} | inner,
    }
    return made(
        "Deployment",
        metadata={"labels": {"app": "web", "tier": "front"}},
        spec={"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template} | spec,
    )


def in_template(**spec: Json) -> Object:
    return {"spec": {"template": {"spec": spec}}}


def config(**data: str) -> Object:
    return made("ConfigMap", metadata={"labels": {"app": "web"}, "annotations": {"a/b": "1"}}, data=data)


def node() -> Object:
    return made("Node", metadata={"labels": {"zone": "one"}}, spec={})


SERVICE_ADDRESSES = ("spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy")
POD_ADMISSION = (
    "spec.tolerations",
    "spec.priority",
    "spec.preemptionPolicy",
    "spec.serviceAccount",
    "spec.serviceAccountName",
)


def new_node() -> Step:
    """The server marks every new node as not ready yet, after the owners are noted."""
    return create(node(), "spec.taints")


def service() -> Object:
    ports = [
        {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080},
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
    ]
    return made(
        "Service", spec={"clusterIP": "None", "type": "ClusterIP", "selector": {"app": "web"}, "ports": ports}
    )


def pod() -> Object:
    spec = {
        "containers": [container("main", ports=[port(80, "http")])],
        "automountServiceAccountToken": False,
        "schedulingGates": [{"name": "example.com/wait"}],
    }
    return made("Pod", metadata={"labels": {"app": "web"}}, spec=spec)


THINGS: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "mode": {"type": "string", "default": "slow"},
                "settings": {"type": "object", "additionalProperties": {"type": "string"}},
                "whole": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "additionalProperties": {"type": "string"},
                },
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "plain": {"type": "array", "items": {"type": "string"}},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"},
                        },
                    },
                },
                "marks": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["id"],
                    "items": {
                        "type": "object",
                        "required": ["id"],
                        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
                    },
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "either": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def definition(kind: str, *, status_apart: bool) -> Object:
    """The CustomResourceDefinition of `Thing`, or of `Plain`, which has no status subresource."""
    version: Object = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": THINGS}}
    if status_apart:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURALS[kind]}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "plural": PLURALS[kind],
                "singular": kind.lower(),
                "listKind": f"{kind}List",
            },
            "versions": [version],
        },
    }


def thing(kind: str = "Thing", **spec: Json) -> Object:
    return made(kind, spec=spec)


def create(body: Object, *unowned: str) -> Step:
    return Step(how="create", body=body, manager="maker", unowned=unowned)


def json(*operations: Json) -> Step:
    return Step(how="json", body=list(operations))


def merge(body: Json) -> Step:
    return Step(how="merge", body=body)


def strategic(body: Json, **more: Json) -> Step:
    return Step(how="strategic", body=body, **more)


def apply(body: Object, manager: str = "applier", **more: Json) -> Step:
    return Step(how="apply", body=body, manager=manager, **more)


def op(kind: str, path: str, *value: Json, start: str = "") -> Object:
    said: Object = {"op": kind, "path": path}
    return said | ({"value": value[0]} if value else {}) | ({"from": start} if start else {})
