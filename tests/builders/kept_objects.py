"""A few objects of an API server in memory: versions, conditional writes, and calls that fail as networks do.

Every call is a point at which whoever drives the caller may stop it, for good or for a while.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Generator, Mapping
from types import coroutine
from typing import Any, Literal

from tangram.kube.errors import ApiError, ApiUnreachable

Object = dict[str, Any]
Fate = Literal["done", "unheard", "not done"]
"""A call that succeeds; one that succeeds and whose answer is lost; one that never arrives."""


@coroutine
def _stop_here() -> Generator[None, None, None]:
    yield


class KeptObjects:
    """Has what the tests and the callers put into it, by path."""

    def __init__(self, **objects: Object) -> None:
        self.objects: dict[str, Object] = {}
        self.version = 0
        self.fates: list[Fate] = []
        """Of the next calls; those after them succeed."""
        self.steps = False
        """Whether calls stop before they begin, for somebody who drives them by hand."""
        self.calls: list[tuple[str, str]] = []
        for path, thing in objects.items():
            self.put(path, thing)

    def put(self, path: str, thing: Object) -> Object:
        self.version += 1
        metadata = {**thing.get("metadata", {}), "resourceVersion": str(self.version)}
        self.objects[path] = copy.deepcopy({**thing, "metadata": metadata})
        return copy.deepcopy(self.objects[path])

    async def get(self, path: str) -> Object:
        fate = await self._fate("get", path)
        found = self._found(path)
        return self._answer(found, fate)

    async def create(self, path: str, body: object) -> Object:
        fate = await self._fate("create", path)
        made: Object = copy.deepcopy(body)  # pyright: ignore[reportAssignmentType] - objects are what is made
        where = f"{path}/{made['metadata']['name']}"
        if where in self.objects:
            raise ApiError(409, "AlreadyExists", f"{where} already exists")
        return self._answer(self.put(where, made), fate)

    async def merge(self, path: str, change: object) -> Object:
        fate = await self._fate("merge", path)
        wanted: Object = copy.deepcopy(change)  # pyright: ignore[reportAssignmentType] - changes are objects
        found = self._found(path)
        version = wanted.get("metadata", {}).get("resourceVersion")
        if version and version != found["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", f"{path} has been modified")
        data = {**found.get("data", {}), **wanted.get("data", {})}
        merged = {**found, **wanted, "metadata": {**found["metadata"], **wanted.get("metadata", {})}}
        return self._answer(self.put(path, {**merged, **({"data": data} if data else {})}), fate)

    async def watch(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[tuple[str, Object]]:
        """Nothing is watched here: looking every now and then must do."""
        raise ApiUnreachable(f"{path} {query}: no watches here")
        yield "", {}

    async def _fate(self, verb: str, path: str) -> Fate:
        if self.steps:
            await _stop_here()
        self.calls.append((verb, path))
        fate = self.fates.pop(0) if self.fates else "done"
        if fate == "not done":
            raise ApiUnreachable(f"{verb} {path}: never arrived")
        return fate

    def _found(self, path: str) -> Object:
        if path not in self.objects:
            raise ApiError(404, "NotFound", f"{path} not found")
        return copy.deepcopy(self.objects[path])

    def _answer(self, thing: Object, fate: Fate) -> Object:
        if fate == "unheard":
            raise ApiUnreachable("the answer was lost")
        return thing
