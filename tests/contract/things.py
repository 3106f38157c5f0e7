"""Small objects for the cases, with no more in them than the server insists on."""

from __future__ import annotations

from collections.abc import Mapping

from contract.world import Json, Object, World


def thing(kind: str, name: str, version: str = "v1", **more: Json) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


def labelled(made: Object, **labels: str) -> Object:
    made["metadata"]["labels"] = labels
    return made


def config(name: str = "a", data: Mapping[str, str] | None = None, **labels: str) -> Object:
    made = thing("ConfigMap", name, data=dict(data if data is not None else {"key": "value"}))
    return labelled(made, **labels) if labels else made


def secret(name: str = "a", **labels: str) -> Object:
    made = thing("Secret", name, stringData={"key": "value"})
    return labelled(made, **labels) if labels else made


def pod(name: str = "a", spec: Object | None = None, **labels: str) -> Object:
    """A pod no scheduler looks at."""
    made = thing(
        "Pod",
        name,
        spec={"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}], **(spec or {})},
    )
    return labelled(made, **labels) if labels else made


def template(**labels: str) -> Object:
    """A pod template for controllers, whose pods no scheduler looks at."""
    return {
        "metadata": {"labels": labels or {"app": "a"}},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]},
    }


def deployment(name: str = "a", replicas: int | None = 0, **spec: Json) -> Object:
    inside: Object = {"selector": {"matchLabels": {"app": "a"}}, "template": template(), **spec}
    if replicas is not None:
        inside["replicas"] = replicas
    return thing("Deployment", name, "apps/v1", spec=inside)


def job(name: str = "a", **spec: Json) -> Object:
    """A job that stays suspended, unless said otherwise, so that no pod comes of it."""
    inside = template()
    inside["spec"]["restartPolicy"] = "Never"
    del inside["metadata"]
    return thing("Job", name, "batch/v1", spec={"suspend": True, "template": inside, **spec})


def node(world: World, name: str = "node", **labels: str) -> Object:
    return labelled(thing("Node", world.named(name)), **{"case": world.tag, **labels})


def budget(name: str = "a", **spec: Json) -> Object:
    return thing(
        "PodDisruptionBudget", name, "policy/v1", spec={"selector": {"matchLabels": {"app": "a"}}, **spec}
    )


def running(*, ready: bool = True) -> Object:
    """The status of a pod that runs, as a kubelet writes it."""
    return {
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        }
    }


def definition(world: World, kind: str = "Widget", *, scope: str = "Namespaced", **version: Json) -> Object:
    """A CustomResourceDefinition of the case's own group; `version` adds to its one version."""
    plural = f"{kind.lower()}s"
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 0, "maximum": 10},
                    "color": {"type": "string", "enum": ["red", "blue"]},
                    "replicas": {"type": "integer", "default": 1},
                    "parts": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                    "note": {"type": "string", "pattern": "^[a-z]*$", "maxLength": 5},
                },
                "required": ["size"],
            },
            "status": {
                "type": "object",
                "properties": {"state": {"type": "string"}, "replicas": {"type": "integer"}},
            },
        },
    }
    one: Object = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return thing(
        "CustomResourceDefinition",
        f"{plural}.{world.group}",
        "apiextensions.k8s.io/v1",
        spec={
            "group": world.group,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [one | version],
        },
    )


def widget(world: World, name: str = "a", spec: Object | None = None, **more: Json) -> Object:
    return thing("Widget", name, f"{world.group}/v1", spec={"size": 1} if spec is None else spec, **more)
