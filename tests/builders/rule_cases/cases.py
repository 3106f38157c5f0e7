"""What a case is, and the smallest objects that cases are variations of."""

import copy
from dataclasses import dataclass
from typing import Any, cast

from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import Kind

Object = dict[str, Any]

NAMESPACE = "rules"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    thing: Object
    change: Object | None = None
    """A merge patch; the result replaces the object."""
    on: str = ""
    """The subresource the replacement is sent to."""

    @property
    def kind(self) -> Kind:
        group, _, _ = self.thing["apiVersion"].rpartition("/")
        return next(kind for kind in BUILT_IN if (kind.group, kind.kind) == (group, self.thing["kind"]))

    def replacement(self, created: Object) -> Object:
        """What the second request sends."""
        return merged(created, self.change or {})


def merged(target: Any, change: Any) -> Any:  # noqa: ANN401 - any JSON, and what becomes of it
    """A merge patch, as RFC 7386 has it; besides, an object applied to a list changes elements by their position."""
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    if isinstance(target, list):
        elements: list[Any] = copy.deepcopy(cast("list[Any]", target))
        for position, value in cast("Object", change).items():
            elements[int(position)] = merged(elements[int(position)], value)
        return elements
    result: Object = copy.deepcopy(cast("Object", target)) if isinstance(target, dict) else {}
    for key, value in cast("Object", change).items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def thing(kind: str, change: Object | None = None, *, version: str = "v1", name: str = "x") -> Object:
    """An object of a kind with nothing but a name, and with a merge patch applied."""
    return merged({"apiVersion": version, "kind": kind, "metadata": {"name": name}}, change or {})


def box(**more: Any) -> Object:  # noqa: ANN401 - any JSON
    """A container."""
    return {"name": "main", "image": "registry.example/app:1", **more}


def pod(*containers: Object, **spec: Any) -> Object:  # noqa: ANN401 - any JSON
    """No scheduler acts on it, so that it stays as it was made."""
    return thing(
        "Pod", {"spec": {"schedulerName": "nobody", "containers": list(containers) or [box()], **spec}}
    )


def template(**spec: Any) -> Object:  # noqa: ANN401 - any JSON
    """Of a pod, with the label app=x."""
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [box()], **spec}}


def workload(kind: str, change: Object | None = None) -> Object:
    """A Deployment, ReplicaSet, DaemonSet or StatefulSet."""
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template()}
    return merged(thing(kind, {"spec": spec}, version="apps/v1"), change or {})


def job(change: Object | None = None) -> Object:
    """A Job that runs one pod once."""
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [box()]}}}
    return merged(thing("Job", {"spec": spec}, version="batch/v1"), change or {})
