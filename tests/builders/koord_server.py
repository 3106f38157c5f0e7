"""As much of an API server as Koordinator's scripted programs need, in this process: objects by path, and watches."""

import asyncio
import copy
from collections.abc import AsyncIterator, Iterable
from typing import cast

from testbed.api import ApiRefused, Object


class KoordServer:
    """Objects go by the paths the programs use. `writes` remembers every write, in order."""

    def __init__(self, things: Iterable[tuple[str, Object]] = ()) -> None:
        self.things: dict[str, Object] = dict(things)
        self.writes: list[tuple[str, str, Object]] = []
        self._events: list[tuple[str, str, Object]] = []
        self._more = asyncio.Event()

    # ---- what programs call

    async def get(self, path: str, **_query: str) -> Object:
        if path.rsplit("/", 1)[-1] in {"nodes", "pods", "devices"}:
            items = [thing for key, thing in self.things.items() if _belongs(key, path)]
            return {"items": copy.deepcopy(items), "metadata": {"resourceVersion": str(len(self._events))}}
        return copy.deepcopy(self._at(path))

    async def call(
        self, method: str, path: str, body: object = None, *, content: str = "", **_query: str
    ) -> Object:
        made = cast("Object", copy.deepcopy(body))
        assert made, content
        self.writes.append((method, path, made))
        await asyncio.sleep(0)
        if path.endswith("/binding"):
            pod = self._at(path.removesuffix("/binding"))
            if pod["spec"].get("nodeName"):
                raise ApiRefused(409, {"reason": "Conflict", "message": "pod is already assigned to a node"})
            self.put(
                path.removesuffix("/binding"),
                pod | {"spec": pod["spec"] | {"nodeName": made["target"]["name"]}},
            )
        elif method == "POST":
            self.put(f"{path}/{made['metadata']['name']}", made)
        else:
            self.put(path, made)
        return made

    async def patch(self, path: str, change: object, *, content: str = "", **_query: str) -> Object:
        assert change, content
        self.writes.append(("PATCH", path, cast("Object", change)))
        await asyncio.sleep(0)
        place = path.removesuffix("/status")
        self.put(place, merged(self._at(place), cast("Object", change)))
        return self.things[place]

    async def watch(self, path: str, **query: str) -> AsyncIterator[tuple[str, Object]]:
        position = int(query["resourceVersion"])
        while True:
            while position < len(self._events):
                kind, key, thing = self._events[position]
                position += 1
                if _belongs(key, path):
                    yield kind, copy.deepcopy(thing)
            more = self._more
            await more.wait()

    # ---- what tests do

    def put(self, path: str, thing: Object) -> None:
        self._announce("MODIFIED" if path in self.things else "ADDED", path, thing)
        self.things[path] = thing

    def remove(self, path: str) -> None:
        self._announce("DELETED", path, self.things.pop(path))

    def _announce(self, kind: str, path: str, thing: Object) -> None:
        self._events.append((kind, path, copy.deepcopy(thing)))
        self._more.set()
        self._more = asyncio.Event()

    def _at(self, path: str) -> Object:
        if path not in self.things:
            raise ApiRefused(404, {"reason": "NotFound", "message": f"{path} not found"})
        return self.things[path]


def merged(thing: Object, change: Object) -> Object:
    """A merge patch: None takes away."""
    result = dict(thing)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merged(result.get(key, {}), cast("Object", value))
        else:
            result[key] = value
    return result


def _belongs(key: str, folder: str) -> bool:
    """`/api/v1/pods` has the pods of all namespaces."""
    kind = folder.rsplit("/", 1)[-1]
    return key.startswith(folder + "/") or (kind == "pods" and "/pods/" in key)
