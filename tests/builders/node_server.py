"""A small API server whose nodes take merge patches as a real one does: null removes, a stale version is a conflict."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from builders.api_server import Object, SmallApiServer, refusal, small_api_server
from tangram.kube.connection import Connection

NODES = "/api/v1/nodes"


class NodeServer:
    """Nodes with labels and annotations, the patches that came, and refusals on demand."""

    def __init__(self, small: SmallApiServer, connection: Connection) -> None:
        self.small = small
        self.connection = connection
        self.patches: list[Object] = []
        self.before_patch: Callable[[], web.Response | None] = lambda: None
        self.down = False
        small.answer_first = self._first

    def put(self, name: str, **parts: object) -> None:
        self.small.put(f"{NODES}/{name}", {"metadata": {}, **parts})

    def change(self, name: str, patch: Mapping[str, Any]) -> None:
        """As somebody else would."""
        path = f"{NODES}/{name}"
        self.small.put(path, merged(self.small.objects[path], patch))

    def labels(self, name: str) -> dict[str, str]:
        return self.small.objects[f"{NODES}/{name}"]["metadata"].get("labels", {})

    def annotations(self, name: str) -> dict[str, str]:
        return self.small.objects[f"{NODES}/{name}"]["metadata"].get("annotations", {})

    def kubeconfig(self, folder: Path) -> Path:
        file = folder / "kubeconfig"
        file.write_text(
            "current-context: it\n"
            "contexts: [{name: it, context: {cluster: it}}]\n"
            f"clusters: [{{name: it, cluster: {{server: {self.connection.server}}}}}]\n"
        )
        return file

    def _first(self, request: web.Request) -> web.Response | None:
        if self.down:
            return refusal(503, "ServiceUnavailable", "down")
        if request.method != "PATCH" or request.path not in self.small.objects:
            return None
        body: Object = self.small.requests[-1][3]
        told = self.before_patch()
        if told is not None:
            return told
        present = self.small.objects[request.path]
        version = body.get("metadata", {}).get("resourceVersion")
        if version is not None and version != present["metadata"]["resourceVersion"]:
            return refusal(409, "Conflict", "the object has been modified")
        self.patches.append(body)
        return web.json_response(self.small.put(request.path, merged(present, body)))


def merged(target: Mapping[str, Any], patch: Mapping[str, Any]) -> Object:
    """RFC 7396."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, dict) else {}, value)  # pyright: ignore[reportUnknownArgumentType] - JSON of a test
        else:
            result[key] = value
    return result


@asynccontextmanager
async def node_server() -> AsyncGenerator[NodeServer]:
    async with small_api_server() as (small, connection):
        yield NodeServer(small, connection)
