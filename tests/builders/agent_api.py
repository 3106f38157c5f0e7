"""The API server as a node agent meets it: its node, its node's pods, events, and merge patches that mean something."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from builders.api_server import Object, SmallApiServer, refusal
from builders.node_server import merged
from tangram.kube.connection import Connection

NODE = "gpu-1"
NODE_PATH = f"/api/v1/nodes/{NODE}"
PODS = "/api/v1/pods"


class AgentApi(SmallApiServer):
    """One node. `writes` are the patches and posts that came, in order, as method, path and body."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False
        self.connection = Connection("", None)
        self.writes: list[tuple[str, str, Object]] = []
        self.answer_first = self._first
        self.put(
            NODE_PATH,
            {
                "metadata": {"annotations": {}, "labels": {}},
                "spec": {},
                "status": {
                    "nodeInfo": {"kubeletVersion": "v1.34.1", "containerRuntimeVersion": "containerd://2.1.0"}
                },
            },
        )
        self._made = 0

    def belongs(self, path: str, collection: str) -> bool:
        if collection == PODS:
            return path.startswith("/api/v1/namespaces/") and "/pods/" in path
        return super().belongs(path, collection)

    # ---- what others do

    def go_down(self) -> None:
        self.down = True
        self.cut_watches()

    def bind(self, pod: Object, annotations: Mapping[str, str] | None = None) -> Object:
        """Put a pod on the node with what a scheduler writes. Later ones were bound later."""
        self._made += 1
        metadata = pod["metadata"]
        moment = f"2026-01-01T00:{self._made // 60 % 60:02d}:{self._made % 60:02d}Z"
        status = {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": moment}],
        }
        thing = {
            "metadata": {
                "uid": f"uid-{metadata['name']}-{self._made}",
                "creationTimestamp": moment,
                **metadata,
                "annotations": {**metadata.get("annotations", {}), **(annotations or {})},
            },
            "spec": {**pod["spec"], "nodeName": NODE},
            "status": status,
        }
        return self.put(pod_path(metadata["name"]), thing)

    def set_pod(self, name: str, patch: Mapping[str, Any]) -> Object:
        return self.put(pod_path(name), merged(self.objects[pod_path(name)], patch))

    def set_node(self, patch: Mapping[str, Any]) -> None:
        self.put(NODE_PATH, merged(self.objects[NODE_PATH], patch))

    def delete_pod(self, name: str) -> None:
        self.remove(pod_path(name))

    # ---- what the agent did

    @property
    def node(self) -> Object:
        return self.objects[NODE_PATH]

    @property
    def node_annotations(self) -> dict[str, str]:
        return self.node["metadata"].get("annotations", {})

    def pod(self, name: str) -> Object:
        return self.objects[pod_path(name)]

    def events(self, about: str) -> list[Object]:
        """Events on a pod or the node of that name."""
        return [
            thing
            for path, thing in self.objects.items()
            if "/events/" in path and thing["involvedObject"]["name"] == about
        ]

    def _first(self, request: web.Request) -> web.Response | None:
        if self.down:
            return refusal(503, "ServiceUnavailable", "the API server is away")
        body: Object = self.requests[-1][3]
        if request.method in ("PATCH", "POST"):
            self.writes.append((request.method, request.path, body))
        if request.method == "PATCH" and request.path == f"{NODE_PATH}/status":
            return web.json_response(self.put(NODE_PATH, _with_status(self.node, body)))
        if request.method != "PATCH" or request.path not in self.objects:
            return None
        present = self.objects[request.path]
        asked, known = body.get("metadata", {}), present["metadata"]
        for field in ("resourceVersion", "uid"):
            if asked.get(field) not in (None, known.get(field)):
                return refusal(409, "Conflict", f"{field} is another one")
        return web.json_response(self.put(request.path, merged(present, body)))


def _with_status(node: Object, patch: Object) -> Object:
    """A patch of the node's status: conditions are merged by their types, the rest key by key."""
    conditions = {each["type"]: each for each in node["status"].get("conditions", ())}
    for each in patch["status"].get("conditions", ()):
        conditions[each["type"]] = {**conditions.get(each["type"], {}), **each}
    changed = merged(node, patch)
    return {**changed, "status": {**changed["status"], "conditions": list(conditions.values())}}


def pod_path(name: str) -> str:
    return f"/api/v1/namespaces/default/pods/{name}"


def pod(
    name: str,
    *containers: Mapping[str, object],
    init: Sequence[Mapping[str, object]] = (),
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """A pod with containers that ask for those limits, called c0, c1 and so on; init ones i0, i1."""
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": dict(annotations or {})},
        "spec": {
            "containers": [_container(f"c{at}", limits) for at, limits in enumerate(containers)],
            "initContainers": [_container(f"i{at}", limits) for at, limits in enumerate(init)],
        },
    }


def _container(name: str, limits: Mapping[str, object]) -> Object:
    amounts = {key: str(value) for key, value in limits.items()}
    return {"name": name, "image": "none", "resources": {"limits": amounts, "requests": amounts}}


@asynccontextmanager
async def agent_api() -> AsyncGenerator[AgentApi]:
    server = AgentApi()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        server.connection = Connection(f"http://{host}:{port}", None)
        yield server
    finally:
        await runner.cleanup()
