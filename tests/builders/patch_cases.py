"""Objects and what is done to them one step after another: patches of every kind, updates and applies.

One table for two readers. The end-to-end tests send every step to a real API server and record what it answers; the
unit tests do the same step with our own functions, starting from what the real server had before it. Bodies state the
defaults of what they add, because filling those in is not what is looked at here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

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
    body: Any = None
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


def made(kind: str, name: str = "", **fields: Any) -> Object:
    """The opening of an object; `metadata` among the fields is joined with its name."""
    metadata = {"name": name} | fields.pop("metadata", {}) if name else fields.pop("metadata", {})
    return {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": metadata, **fields}


def container(name: str, **fields: Any) -> Object:
    return {
        "name": name,
        "image": f"example.com/{name}:1",
        "imagePullPolicy": "IfNotPresent",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    } | fields


def port(number: int, name: str, protocol: str = "TCP") -> Object:
    return {"containerPort": number, "name": name, "protocol": protocol}


def deployment(*containers: Object, **spec: Any) -> Object:
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


def in_template(**spec: Any) -> Object:
    return {"spec": {"template": {"spec": spec}}}


def config(**data: str) -> Object:
    return made("ConfigMap", metadata={"labels": {"app": "web"}, "annotations": {"a/b": "1"}}, data=data)


def node() -> Object:
    return made("Node", metadata={"labels": {"zone": "one"}}, spec={})


SERVICE_ADDRESSES = ("spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy")
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
    return made("Service", spec={"type": "ClusterIP", "selector": {"app": "web"}, "ports": ports})


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
            "names": {"kind": kind, "plural": PLURALS[kind], "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def thing(kind: str = "Thing", **spec: Any) -> Object:
    return made(kind, spec=spec)


def create(body: Object, *unowned: str) -> Step:
    return Step(how="create", body=body, manager="maker", unowned=unowned)


def json(*operations: Any) -> Step:
    return Step(how="json", body=list(operations))


def merge(body: Any) -> Step:
    return Step(how="merge", body=body)


def strategic(body: Any, **more: Any) -> Step:
    return Step(how="strategic", body=body, **more)


def apply(body: Object, manager: str = "applier", **more: Any) -> Step:
    return Step(how="apply", body=body, manager=manager, **more)


def op(kind: str, path: str, *value: Any, start: str = "") -> Object:
    said: Object = {"op": kind, "path": path}
    return said | ({"value": value[0]} if value else {}) | ({"from": start} if start else {})


def _json_patches() -> list[Case]:
    start = create(config(one="1", two="2"))
    finalizers = create(made("ConfigMap", metadata={"finalizers": ["example.com/a", "example.com/b"]}))
    two = create(deployment(container("web"), container("side")))
    image = "/spec/template/spec/containers"
    return [
        Case("json-add-and-remove-a-key", [start, json(op("add", "/data/three", "3"), op("remove", "/data/one"))]),
        Case("json-replace-sets-a-missing-key", [start, json(op("replace", "/data/new", "n"))]),
        Case("json-test-then-replace", [start, json(op("test", "/data/one", "1"), op("replace", "/data/one", "x"))]),
        Case("json-test-fails", [start, json(op("test", "/data/one", "2"), op("replace", "/data/one", "x"))]),
        Case("json-test-of-what-is-missing-is-null", [start, json(op("test", "/data/x", None), op("add", "/data/x", "y"))]),
        Case("json-remove-what-is-missing", [start, json(op("remove", "/data/none"))]),
        Case("json-add-below-what-is-missing", [start, json(op("add", "/binaryData/x", "eA=="))]),
        Case("json-move", [start, json(op("move", "/data/moved", start="/data/one"))]),
        Case("json-move-what-is-missing", [start, json(op("move", "/data/moved", start="/data/none"))]),
        Case("json-copy", [start, json(op("copy", "/data/copied", start="/data/one"))]),
        Case("json-escaped-slash", [start, json(op("replace", "/metadata/annotations/a~1b", "2"))]),
        Case("json-unknown-operation", [start, json(op("increase", "/data/one", 1))]),
        Case("json-no-path", [start, json({"op": "remove"})]),
        Case("json-not-a-list", [start, Step(how="json", body={"data": {}})]),
        Case("json-element-that-is-no-operation", [start, json("remove")]),
        Case("json-path-that-is-no-text", [start, json({"op": "remove", "path": 7})]),
        Case("json-append-to-a-list", [finalizers, json(op("add", "/metadata/finalizers/-", "example.com/c"))]),
        Case("json-insert-into-a-list", [finalizers, json(op("add", "/metadata/finalizers/0", "example.com/c"))]),
        Case("json-remove-the-last-by-a-negative-index", [finalizers, json(op("remove", "/metadata/finalizers/-1"))]),
        Case("json-index-behind-the-end", [finalizers, json(op("remove", "/metadata/finalizers/2"))]),
        Case("json-replace-in-an-element", [two, json(op("replace", f"{image}/1/image", "example.com/side:2"))]),
        Case("json-remove-an-element", [two, json(op("remove", f"{image}/0"))]),
        Case("json-forget-the-owners", [start, json(op("replace", "/metadata/managedFields", [{}])), merge({"data": {"one": "x"}})]),
        Case("json-forget-the-owners-with-no-entries", [start, json(op("replace", "/metadata/managedFields", []))]),
        Case("json-rename-an-owner", [start, json(op("replace", "/metadata/managedFields/0/manager", "kubectl"), op("replace", "/metadata/managedFields/0/operation", "Apply"))]),
        Case("json-owners-that-nobody-can-read", [start, json(op("replace", "/metadata/managedFields/0/fieldsType", "FieldsV9"))]),
    ]  # fmt: skip


def _merge_patches() -> list[Case]:
    start = create(config(one="1", two="2"))
    web = create(deployment(container("web", args=["a", "b"]), container("side")))
    return [
        Case("merge-set-and-delete", [start, merge({"data": {"one": None, "three": "3"}, "metadata": {"labels": {"app": None}}})]),
        Case("merge-of-what-is-not-there", [start, merge({"binaryData": {"x": "eA==", "y": None}})]),
        Case("merge-that-changes-nothing", [start, merge({"data": {"one": "1"}})]),
        Case("merge-replaces-lists", [web, merge(in_template(containers=[container("web", args=["c"])]))]),
        Case("merge-not-an-object", [start, merge(["data"])]),
        Case("merge-of-a-number", [start, merge(7)]),
        Case("merge-one-field-by-two-managers", [web, merge({"spec": {"replicas": 2}}), Step(how="merge", manager="other", body={"spec": {"replicas": 3}})]),
        Case("merge-twice-by-one-manager", [web, merge({"spec": {"replicas": 2}}), merge({"spec": {"paused": True}})]),
    ]  # fmt: skip


def _strategic_patches() -> list[Case]:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}]
    web = create(
        deployment(
            container("web", env=env, ports=[port(80, "http"), port(443, "https")], args=["a", "b"]),
            container("side"),
            volumes=[{"name": "scratch", "emptyDir": {}}, {"name": "more", "emptyDir": {"medium": "Memory"}}],
        )
    )
    finalizers = create(
        made("ConfigMap", metadata={"finalizers": ["example.com/a", "example.com/b", "example.com/c"]})
    )
    labelled = create(config(one="1"))
    other_env = {"name": "web", "env": [{"name": "B", "value": "x"}, {"name": "D", "value": "4"}]}
    by_name: Callable[..., list[Object]] = lambda *names: [{"name": name} for name in names]  # noqa: E731
    return [
        Case("strategic-change-one-container", [web, strategic(in_template(containers=[{"name": "side", "image": "example.com/side:2"}]))]),
        Case("strategic-merge-env-by-name", [web, strategic(in_template(containers=[other_env]))]),
        Case("strategic-env-in-an-order", [web, strategic(in_template(containers=[{**other_env, "$setElementOrder/env": by_name("D", "B")}]))]),
        Case("strategic-order-alone", [web, strategic(in_template(**{"$setElementOrder/containers": by_name("side", "web")}))]),
        Case("strategic-new-container-in-front", [web, strategic(in_template(**{"$setElementOrder/containers": by_name("first", "web", "side"), "containers": [container("first")]}))]),
        Case("strategic-delete-a-container", [web, strategic(in_template(containers=[{"$patch": "delete", "name": "side"}]))]),
        Case("strategic-delete-and-add", [web, strategic(in_template(containers=[{"$patch": "delete", "name": "web"}, container("new")]))]),
        Case("strategic-replace-all-containers", [web, strategic(in_template(containers=[{"$patch": "replace"}, container("only")]))]),
        Case("strategic-delete-an-env", [web, strategic(in_template(containers=[{"name": "web", "env": [{"$patch": "delete", "name": "A"}]}]))]),
        Case("strategic-env-from-elsewhere", [web, strategic(in_template(containers=[{"name": "web", "env": [{"name": "A", "value": None, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}]}]))]),
        Case("strategic-merge-ports", [web, strategic(in_template(containers=[{"name": "web", "ports": [port(8080, "more"), port(443, "tls")]}]))]),
        Case("strategic-args-are-replaced", [web, strategic(in_template(containers=[{"name": "web", "args": ["z"]}]))]),
        Case("strategic-null-deletes", [web, strategic({"metadata": {"labels": {"tier": None}}, "spec": {"template": {"metadata": {"annotations": {"now": "1", "gone": None}}}}})]),
        Case("strategic-replace-a-map", [web, strategic({"metadata": {"labels": {"$patch": "replace", "fresh": "yes"}}})]),
        Case("strategic-delete-a-map", [web, strategic({"metadata": {"labels": {"$patch": "delete"}}})]),
        Case("strategic-directive-on-what-is-not-there", [web, strategic({"metadata": {"annotations": {"$patch": "delete"}}})]),
        Case("strategic-retain-keys-of-a-volume", [web, strategic(in_template(volumes=[{"$retainKeys": ["name", "configMap"], "name": "scratch", "configMap": {"name": "x", "defaultMode": 420}}]))]),
        Case("strategic-retain-keys-of-the-strategy", [web, strategic({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})]),
        Case("strategic-retain-keys-that-leave-one-out", [web, strategic({"spec": {"strategy": {"$retainKeys": ["rollingUpdate"], "type": "Recreate"}}})]),
        Case("strategic-retain-keys-that-are-no-list", [web, strategic({"spec": {"strategy": {"$retainKeys": "type", "type": "Recreate"}}})]),
        Case("strategic-add-a-finalizer", [finalizers, strategic({"metadata": {"finalizers": ["example.com/d", "example.com/a"]}})]),
        Case("strategic-delete-a-finalizer", [finalizers, strategic({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/b"], "$setElementOrder/finalizers": ["example.com/c", "example.com/a"]}})]),
        Case("strategic-order-of-finalizers", [finalizers, strategic({"metadata": {"$setElementOrder/finalizers": ["example.com/c", "example.com/d", "example.com/a"], "finalizers": ["example.com/d"]}})]),
        Case("strategic-no-merge-key", [web, strategic(in_template(containers=[{"image": "example.com/x"}]))]),
        Case("strategic-unknown-directive", [web, strategic({"metadata": {"labels": {"$patch": "increase"}}})]),
        Case("strategic-unknown-directive-in-a-list", [web, strategic(in_template(containers=[{"$patch": "increase", "name": "web"}]))]),
        Case("strategic-merge-directive-in-a-list", [web, strategic(in_template(containers=[{"$patch": "merge", "name": "web"}]))]),
        Case("strategic-order-that-does-not-match", [web, strategic(in_template(**{"$setElementOrder/containers": by_name("web"), "containers": [{"name": "side", "image": "x"}]}))]),
        Case("strategic-order-that-is-no-list", [web, strategic(in_template(**{"$setElementOrder/containers": "web"}))]),
        Case("strategic-order-of-nothing", [web, strategic({"$setElementOrder": []})]),
        Case("strategic-delete-from-nothing", [finalizers, strategic({"metadata": {"$deleteFromPrimitiveList": ["x"]}})]),
        Case("strategic-mixed-list", [finalizers, strategic({"metadata": {"finalizers": [{"a": "b"}]}})]),
        Case("strategic-list-in-a-list", [finalizers, strategic({"metadata": {"finalizers": [["b"]]}})]),
        Case("strategic-not-an-object", [web, strategic([])]),
        Case("strategic-of-a-config-map", [labelled, strategic({"data": {"one": None, "two": "2"}, "metadata": {"annotations": {"a/b": None}}})]),
        Case("strategic-service-ports", [create(service(), *SERVICE_ADDRESSES), strategic({"spec": {"ports": [{"port": 80, "targetPort": 9090}]}})]),
        Case("strategic-node-taints-and-labels", [new_node(), strategic({"metadata": {"labels": {"zone": "two"}}, "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True}}), strategic({"spec": {"taints": None, "unschedulable": None}}, manager="other")]),
        Case("strategic-node-status", [new_node(), strategic({"status": {"conditions": [{"type": "Ready", "status": "True"}], "capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}}, subresource="status", only_owners=True), strategic({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Why"}, {"type": "DiskPressure", "status": "False"}]}}, subresource="status", only_owners=True)]),
        Case("strategic-pod-metadata", [create(pod(), *POD_ADMISSION), strategic({"metadata": {"labels": {"more": "1"}, "annotations": {"a": "b"}}})]),
        Case("strategic-pod-status", [create(pod(), *POD_ADMISSION), strategic({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "X"}], "nominatedNodeName": "n"}}, subresource="status", only_owners=True)]),
    ]  # fmt: skip


def _applies() -> list[Case]:
    replicas = made("Deployment", spec={"replicas": 3})
    env: Callable[..., Object] = lambda *pairs, **more: made(  # noqa: E731
        "Deployment",
        spec={"template": {"spec": {"containers": [{"name": "web", "env": [{"name": n, "value": v} for n, v in pairs]} | more]}}},
    )
    data: Callable[..., Object] = lambda **held: made("ConfigMap", data=held)  # noqa: E731
    web = create(deployment(container("web", ports=[port(80, "http")])))
    client_side = config(one="1", two="2")
    client_side["metadata"]["annotations"] = {
        LAST_APPLIED: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"one":"1","two":"2"}}\n'
    }
    foreign = {"name": "web", "args": ["x"], "ports": [{"containerPort": 80, "name": "www"}]}
    return [
        Case("apply-creates", [apply(data(a="1", b="2") | {"metadata": {"labels": {"x": "y"}}})]),
        Case("apply-creates-a-deployment", [apply(deployment(), only_owners=True)]),
        Case("apply-same-again", [apply(data(a="1")), apply(data(a="1"))]),
        Case("apply-change-of-ones-own", [apply(data(a="1")), apply(data(a="2"))]),
        Case("apply-give-up-a-field", [apply(data(a="1", b="2")), apply(data(a="1"))]),
        Case("apply-give-up-everything", [apply(data(a="1", b="2")), apply(made("ConfigMap"))]),
        Case("apply-by-two-apart", [apply(data(a="1")), apply(data(b="2"), "second")]),
        Case("apply-same-value-is-shared", [apply(data(a="1")), apply(data(a="1"), "second")]),
        Case("apply-give-up-what-is-shared", [apply(data(a="1")), apply(data(a="1"), "second"), apply(made("ConfigMap", metadata={"labels": {"l": "1"}}))]),
        Case("apply-conflict", [web, apply(replicas)]),
        Case("apply-conflict-forced", [web, apply(replicas, force=True), apply(made("Deployment"), only_owners=True)]),
        Case("apply-conflicts-with-one", [web, apply(made("Deployment", metadata={"labels": {"app": "x"}}, spec={"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": [foreign]}}}))]),
        Case("apply-conflicts-with-two", [web, merge({"spec": {"replicas": 2}}), apply(replicas, "second", force=True), apply(made("Deployment", metadata={"labels": {"app": "x"}}, spec={"replicas": 9}))]),
        Case("apply-conflict-through-a-subresource", [new_node(), strategic({"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}}, subresource="status", only_owners=True), apply(made("Node", status={"capacity": {"cpu": "8"}, "allocatable": {"cpu": "4"}}), subresource="status")]),
        Case("apply-status", [new_node(), apply(made("Node", status={"conditions": [{"type": "A", "status": "True"}]}), subresource="status", only_owners=True), apply(made("Node", status={"conditions": [{"type": "B", "status": "True"}]}), "second", subresource="status", only_owners=True), apply(made("Node", status={}), subresource="status", only_owners=True)]),
        Case("apply-status-through-the-object", [new_node(), apply(made("Node", spec={"unschedulable": True}, status={"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}), only_owners=True)]),
        Case("apply-spec-through-status", [new_node(), apply(made("Node", spec={"unschedulable": True}, status={"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}), subresource="status", only_owners=True)]),
        Case("apply-list-elements-by-key", [web, apply(env(("A", "1"), ("B", "2"))), apply(env(("C", "3"), ("B", "x")), "second", force=True), apply(env(("A", "1")))]),
        Case("apply-key-with-a-default", [web, apply(made("Deployment", spec={"template": {"spec": {"containers": [{"name": "web", "ports": [{"containerPort": 80, "name": "http"}]}]}}}))]),
        Case("apply-atomic-list", [web, apply(env(args=["a"])), apply(env(args=["b"]), "second")]),
        Case("apply-atomic-map", [create(service(), *SERVICE_ADDRESSES), apply(made("Service", spec={"selector": {"app": "web", "more": "1"}}))]),
        Case("apply-service-ports", [create(service(), *SERVICE_ADDRESSES), apply(made("Service", spec={"ports": [{"port": 8080, "name": "more", "targetPort": 1}]}), only_owners=True), apply(made("Service", spec={}), only_owners=True)]),
        Case("apply-set", [create(made("ConfigMap", metadata={"finalizers": ["example.com/a"]})), apply(made("ConfigMap", metadata={"finalizers": ["example.com/b", "example.com/a"]})), apply(made("ConfigMap", metadata={"finalizers": ["example.com/c"]}))]),
        Case("apply-empty-map", [create(config(one="1")), apply(made("ConfigMap", metadata={"annotations": {}}, data={}))]),
        Case("apply-null", [create(config(one="1")), apply(made("ConfigMap", metadata={"creationTimestamp": None}, data={"one": "1"}, binaryData=None))]),
        Case("apply-null-in-a-template", [web, apply(made("Deployment", spec={"template": {"metadata": {"creationTimestamp": None, "labels": {"more": "1"}}}, "strategy": {}}, status={}))]),
        Case("apply-unknown-field", [web, apply(made("Deployment", spec={"replicass": 3}))]),
        Case("apply-unknown-field-in-an-element", [web, apply(made("Deployment", spec={"template": {"spec": {"containers": [{"name": "web", "imag": "x"}]}}}))]),
        Case("apply-wrong-type", [web, apply(made("Deployment", spec={"replicas": "three"}))]),
        Case("apply-two-wrong-types", [web, apply(made("Deployment", metadata={"labels": {"a": 7}}, spec={"paused": "yes"}))]),
        Case("apply-list-for-a-map", [web, apply(made("Deployment", spec=["a"]))]),
        Case("apply-text-for-a-list", [web, apply(made("Deployment", spec={"template": {"spec": {"containers": "web"}}}))]),
        Case("apply-one-key-twice", [web, apply(made("Deployment", spec={"template": {"spec": {"containers": [{"name": "web"}, {"name": "web"}]}}}))]),
        Case("apply-null-element", [web, apply(made("Deployment", spec={"template": {"spec": {"containers": [None]}}}))]),
        Case("apply-with-owners", [create(config(one="1")), apply(made("ConfigMap", metadata={"managedFields": []}))]),
        Case("apply-another-kind", [create(config(one="1")), apply(made("Pod"))]),
        Case("apply-by-kubectl-over-client-side", [Step(how="create", body=client_side, manager="kubectl-client-side-apply"), apply(data(one="x", two="2"), "kubectl"), apply(data(one="x"), "kubectl")]),
        Case("apply-by-kubectl-over-somebodys-change", [Step(how="create", body=client_side, manager="kubectl-client-side-apply"), merge({"data": {"two": "changed"}}), apply(data(one="x", two="3"), "kubectl")]),
        Case("apply-by-another-over-client-side", [Step(how="create", body=client_side, manager="kubectl-client-side-apply"), apply(data(one="x", two="2"), "somebody")]),
        Case("apply-to-what-nobody-owns", [create(config(one="1", two="2")), json(op("replace", "/metadata/managedFields", [{}])), apply(data(one="1", three="3"))]),
        Case("apply-after-an-update-took-over", [apply(data(a="1", b="2")), merge({"data": {"a": "x"}}), apply(data(b="2"))]),
        Case("apply-then-somebody-deletes", [apply(data(a="1", b="2")), merge({"data": {"a": None}}), apply(data(a="1", b="2"))]),
        Case("apply-after-the-upgrade-of-owners", [Step(how="create", body=client_side, manager="kubectl-client-side-apply"), json(op("replace", "/metadata/managedFields/0/manager", "kubectl"), op("replace", "/metadata/managedFields/0/operation", "Apply")), apply(data(one="1"), "kubectl")]),
    ]  # fmt: skip


def _updates() -> list[Case]:
    def entry(number: int) -> Object:
        return {
            "manager": f"writer-{number}",
            "operation": "Update",
            "apiVersion": "v1",
            "time": f"2001-02-03T04:05:{number:02}Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:key-{number}": {}}},
        }

    many = config(**{f"key-{number}": "1" for number in range(12)})
    crowd = json(op("replace", "/metadata/managedFields", [entry(number) for number in range(10)]))
    update: Callable[..., Step] = lambda body, manager="editor": Step(how="update", body=body, manager=manager)  # noqa: E731
    return [
        Case("update-labels-and-data", [create(config(one="1", two="2")), update({"metadata": {"labels": {"new": "1"}}, "data": {"one": None, "two": "x"}})]),
        Case("update-that-sends-no-owners", [create(config(one="1")), update({"metadata": {"managedFields": None}, "data": {"one": "2"}})]),
        Case("update-takes-the-last-field-of-another", [create(made("ConfigMap", data={"one": "1"})), update({"data": None})]),
        Case("update-with-many-writers", [create(many), crowd, update({"data": {"key-11": "2"}}), update({"data": {"key-10": "2"}}, "other")]),
        Case("update-a-deployment", [create(deployment()), update({"spec": {"replicas": 2, "template": {"spec": {"containers": [container("web", image="example.com/web:2"), container("more")]}}}})]),
    ]  # fmt: skip


def _things() -> list[Case]:
    ports = [{"port": 80, "protocol": "TCP", "name": "a"}]
    full = thing(size=1, mode="slow", settings={"a": "1"}, whole={"x": "1"}, tags=["a", "b"], plain=["p"], ports=ports, free={"deep": {"er": [1, {"a": 2}]}, "n": 1}, either=1)  # fmt: skip
    start = create(full)
    plain = create(thing("Plain", size=1, mode="slow") | {"status": {"phase": "New"}})
    return [
        Case("thing-merge", [start, merge({"spec": {"size": 2, "settings": {"b": "2"}, "free": {"deep": {"er": None, "x": "y"}}}})]),
        Case("thing-json", [start, json(op("add", "/spec/tags/-", "c"), op("remove", "/spec/ports/0/name"), op("replace", "/spec/either", "25%"))]),
        Case("thing-status", [start, Step(how="merge", body={"status": {"phase": "Ready", "n": {"a": 1}}}, subresource="status")]),
        Case("thing-apply", [start, apply(thing(settings={"c": "3"}, tags=["c"], ports=[{"port": 81}], free={"new": [1], "n": 1}), only_owners=True), apply(thing(settings={"d": "4"}))]),
        Case("thing-apply-conflicts", [start, apply(thing(size=2, settings={"a": "2"}, whole={"y": "1"}, plain=["q"], ports=[{"port": 80, "name": "b"}], free={"deep": {"er": 1}, "n": 2}, either="x"))]),
        Case("thing-apply-creates", [apply(thing(size=1, mode="slow", tags=["b", "a"]))]),
        Case("thing-apply-twice", [apply(thing(size=1, mode="slow")), apply(thing(size=1, mode="slow"))]),
        Case("thing-apply-unknown-field", [start, apply(thing(sise=2))]),
        Case("thing-apply-element-without-its-key", [start, apply(thing(marks=[{"name": "x"}]))]),
        Case("thing-apply-elements-by-key", [start, apply(thing(marks=[{"id": "x", "name": "1"}, {"id": "y"}])), apply(thing(marks=[{"id": "z"}, {"id": "x", "name": "2"}]), "second", force=True), apply(thing(marks=[{"id": "y"}]))]),
        Case("thing-apply-number-in-a-set", [start, apply(thing(tags=[{"a": 1}]))]),
        Case("thing-apply-free-turns-into-a-map", [start, apply(thing(free={"n": {"now": "a map"}}), force=True)]),
        Case("thing-apply-an-empty-list", [apply(thing(size=1, mode="slow", ports=[], tags=[], settings={}, plain=[])), apply(thing(size=1, mode="slow"))]),
        Case("thing-apply-status", [start, apply(made("Thing", status={"phase": "Ready"}), subresource="status"), apply(made("Thing", status={"phase": "Gone"}, spec={"size": 9}), "second", subresource="status")]),
        Case("plain-status-is-a-field-like-others", [plain, merge({"status": {"phase": "Ready"}}), apply(made("Plain", status={"phase": "Gone"}))]),
    ]  # fmt: skip


def cases() -> list[Case]:
    """Every case, its objects named after it."""
    found = [*_json_patches(), *_merge_patches(), *_strategic_patches(), *_applies(), *_updates(), *_things()]
    return [Case(case.name, [_named(step, case.name) for step in case.steps]) for case in found]


def _named(step: Step, name: str) -> Step:
    if step.how not in ("create", "apply"):
        return step
    body = deepcopy(step.body)
    body["metadata"] = {"name": name} | body["metadata"]
    if body["kind"] != "Node":
        body["metadata"]["namespace"] = "default"
    return Step(
        how=step.how,
        body=body,
        manager=step.manager,
        force=step.force,
        subresource=step.subresource,
        only_owners=step.only_owners,
        unowned=step.unowned,
    )


def kind_of(case: Case) -> str:
    return case.steps[0].body["kind"]
