"""A cluster for the operator in this process: nodes, pods and DaemonSets behind an API client that needs no wire.

Merge patches, versions, conflicts, finalizers and evictions are as a real API server has them; nothing else is. Hooks
let a test do something between any two requests, which is where programs break.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from builders.node_server import merged
from tangram.kube.api import JSON, Api
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError
from tangram.services.operator.node_views import GpuPod, NodeView, gpu_pod, is_ours, node_view
from tangram.wire.operator import names
from tangram.wire.operator.node_states import DriverState, Phase, Upgrade, UpgradePhase, state_text

Object = dict[str, Any]
NODES = "/api/v1/nodes"
START = dt.datetime(2026, 5, 4, 12, 0, tzinfo=dt.UTC)


class Crash(BaseException):
    """The operator is killed. Nothing of ours may catch this."""


class OperatedCluster(Api):
    def __init__(self) -> None:
        super().__init__(Connection("http://nowhere.invalid", None))
        self.objects: dict[str, Object] = {}
        self.version = 0
        self.now = START
        self.before: Callable[[str, str, Any], None] = lambda _method, _path, _body: None
        """Called before every request is answered."""
        self.after_write: Callable[[str, Object, Object], None] = lambda _path, _old, _new: None
        """Called with the object before and after every patch that the operator made."""
        self.written: Callable[[], None] = lambda: None
        self.budgets: dict[str, str] = {}
        """Pods that may not be evicted, each with what the API server says."""
        self.writes: list[tuple[str, str, Any]] = []

    # ---- what others do

    def put(self, path: str, thing: Object) -> Object:
        self.version += 1
        metadata = {"name": path.rsplit("/", 1)[1], "uid": f"uid-{path}"} | thing.get("metadata", {})
        kept = {**copy.deepcopy(thing), "metadata": metadata | {"resourceVersion": str(self.version)}}
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self.objects.pop(path, None)
        else:
            self.objects[path] = kept
        return kept

    def patch(self, path: str, change: Mapping[str, Any]) -> Object:
        return self.put(path, merged(self.objects[path], change))

    def add_node(
        self, name: str, driver: DriverState | None = None, *, ready: bool = True, managed: bool = True
    ) -> None:
        labels = {names.MANAGED: "true"} if managed else {}
        self.put(
            f"{NODES}/{name}",
            {
                "metadata": {"labels": labels, "annotations": {}},
                "spec": {},
                "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
            },
        )
        if driver is not None:
            self.say(name, driver)

    def add_pod(
        self, name: str, node: str, *, kind: str = "Job", resource: str = "metax-tech.com/gpu"
    ) -> None:
        path = f"/api/v1/namespaces/a/pods/{name}"
        owner = [{"kind": kind, "name": f"{name}-owner", "controller": True}] if kind else []
        self.put(
            path,
            {
                "metadata": {"namespace": "a", "ownerReferences": owner, "uid": f"uid-{name}-{self.version}"},
                "spec": {
                    "nodeName": node,
                    "containers": [{"name": "c", "resources": {"limits": {resource: "1"}}}],
                },
                "status": {"phase": "Running"},
            },
        )

    def node(self, name: str) -> Object:
        return self.objects[f"{NODES}/{name}"]

    def say(self, name: str, state: DriverState) -> None:
        """As driver-manager would."""
        ready = "false" if state.phase is Phase.WORKING or not state.running else "true"
        self.patch(
            f"{NODES}/{name}",
            {
                "metadata": {
                    "annotations": {names.DRIVER_STATE: state_text(state)},
                    "labels": {names.DRIVER_READY: ready},
                }
            },
        )

    def set_ready(self, name: str, *, ready: bool) -> None:
        condition = {"type": "Ready", "status": "True" if ready else "Unknown"}
        self.patch(f"{NODES}/{name}", {"status": {"conditions": [condition]}})

    def cordon(self, name: str, *, on: bool = True) -> None:
        """As kubectl does."""
        self.patch(f"{NODES}/{name}", {"spec": {"unschedulable": True if on else None}})

    # ---- what can be seen

    def node_names(self) -> list[str]:
        return sorted(path.rsplit("/", 1)[1] for path in self.objects if path.startswith(f"{NODES}/"))

    def pods(self) -> list[Object]:
        return [thing for path, thing in self.objects.items() if "/pods/" in path]

    def gpu_pods(self, name: str) -> list[GpuPod]:
        found = (gpu_pod(pod) for pod in self.pods())
        return [pod for pod in found if pod is not None and pod.node == name]

    def view(self, name: str) -> NodeView:
        return node_view(self.node(name), self.gpu_pods(name))

    def views(self) -> tuple[NodeView, ...]:
        return node_views(map(self.node, self.node_names()), map(gpu_pod, self.pods()))

    # ---- the API

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,  # noqa: ANN401 - JSON
        *,
        content: str = JSON,  # noqa: ARG002 - of the interface
        query: Mapping[str, str] | None = None,
        limit: float | None = None,  # noqa: ARG002 - of the interface
    ) -> Object:
        self.before(method, path, body)
        if method == "GET":
            return self._read(path, query or {})
        self.writes.append((method, path, body))
        answer = self._write(method, path, body)
        self.written()
        return answer

    def _read(self, path: str, query: Mapping[str, str]) -> Object:
        if path in self.objects:
            return copy.deepcopy(self.objects[path])
        if not path.endswith("s"):
            raise ApiError(404, "NotFound", f"{path} not found")
        items = [thing for place, thing in sorted(self.objects.items()) if _belongs(place, path)]
        key, _, value = query.get("labelSelector", "").partition("=")
        if key:
            items = [each for each in items if each["metadata"].get("labels", {}).get(key) == value]
        key, _, value = query.get("fieldSelector", "").partition("=")
        if key:
            items = [each for each in items if each["spec"].get("nodeName") == value]
        return {"metadata": {"resourceVersion": str(self.version)}, "items": copy.deepcopy(items)}

    def _write(self, method: str, path: str, body: Any) -> Object:  # noqa: ANN401 - JSON
        if path.endswith("/eviction"):
            return self._evict(path.removesuffix("/eviction"), body)
        if path not in self.objects:
            raise ApiError(404, "NotFound", f"{path} not found")
        old = self.objects[path]
        if method == "DELETE":
            return self._delete(path, old, body or {})
        version = body.get("metadata", {}).get("resourceVersion")
        if version is not None and version != old["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", "the object has been modified")
        new = self.patch(path, body)
        self.after_write(path, old, new)
        return copy.deepcopy(new)

    def _delete(self, path: str, old: Object, body: Mapping[str, Any]) -> Object:
        finalizers = list(old["metadata"].get("finalizers", []))
        if body.get("propagationPolicy") == "Foreground":
            finalizers.append("foregroundDeletion")
        if not finalizers:
            return self.objects.pop(path)
        stamp = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        gone = {"deletionTimestamp": old["metadata"].get("deletionTimestamp", stamp)}
        return self.patch(path, {"metadata": gone | {"finalizers": sorted(set(finalizers))}})

    def _evict(self, path: str, body: Any) -> Object:  # noqa: ANN401 - JSON
        pod = self.objects.get(path)
        if pod is None:
            raise ApiError(404, "NotFound", "no such pod")
        if pod["metadata"]["uid"] != body["deleteOptions"]["preconditions"]["uid"]:
            raise ApiError(409, "Conflict", "the UID in the precondition does not match")
        if pod["metadata"]["name"] in self.budgets:
            said = self.budgets[pod["metadata"]["name"]]
            raise ApiError(429, "TooManyRequests", "Cannot evict pod.", causes=(said,))
        stamp = (self.now + dt.timedelta(seconds=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.patch(path, {"metadata": {"deletionTimestamp": stamp, "finalizers": ["kubelet"]}})
        return {}


def _belongs(place: str, collection: str) -> bool:
    if collection == "/api/v1/pods":
        return "/pods/" in place
    return place.startswith(f"{collection}/")


def wishing(running: str = "1.0", wanted: str = "2.0", **parts: Any) -> DriverState:  # noqa: ANN401 - passed on
    """A node that wants another driver."""
    phase = parts.pop("phase", Phase.WAITING)
    return DriverState(phase=phase, wanted=wanted, running=running, needs_turn=wanted != running, **parts)


def held(to: str = "2.0", phase: UpgradePhase = UpgradePhase.CORDONED, **parts: str) -> Upgrade:
    """Our note."""
    return Upgrade(to=to, phase=phase, **{"began": "2026-05-04T12:00:00Z", **parts})


def node_views(nodes: Iterable[Object], pods: Iterable[GpuPod | None]) -> tuple[NodeView, ...]:
    """What the operator's copies make of a cluster: its nodes that are managed or carry anything of ours."""
    held_by = [pod for pod in pods if pod is not None]
    views = (node_view(node, held_by) for node in nodes)
    return tuple(sorted((view for view in views if is_ours(view)), key=lambda view: view.name))
