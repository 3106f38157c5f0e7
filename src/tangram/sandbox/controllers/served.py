"""Which kinds an API server has, asked of the server itself: those it was built with and those people have defined."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from tangram.kube.api import Api
from tangram.kube.errors import ApiError
from tangram.kube.objects import Object
from tangram.sandbox.controllers.reading import items
from tangram.sandbox.controllers.resources import Resource

_log = logging.getLogger(__name__)


class ServedKind(NamedTuple):
    resource: Resource
    verbs: frozenset[str]


class Served:
    """`kinds` as of the last `read`; `of` finds one by what an owner reference says."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.kinds: list[ServedKind] = []
        self._by_reference: dict[tuple[str, str], Resource] = {}

    def of(self, api_version: str, kind: str) -> Resource | None:
        return self._by_reference.get((api_version, kind))

    async def read(self) -> None:
        """Ask again. A group that does not answer keeps nobody from the others."""
        versions: Final = ["v1"]
        others: list[str] = []
        for group in items(await self._api.get("/apis"), "groups"):
            preferred = group["preferredVersion"]["groupVersion"]
            versions.append(preferred)
            others += [
                each["groupVersion"] for each in group["versions"] if each["groupVersion"] != preferred
            ]
        kinds: list[ServedKind] = []
        references: dict[tuple[str, str], Resource] = {}
        for version in [*versions, *others]:
            for found in await self._kinds_of(version):
                references[found.resource.api_version, found.resource.kind] = found.resource
                if version in versions:
                    kinds.append(found)
        self.kinds, self._by_reference = kinds, references

    async def _kinds_of(self, version: str) -> list[ServedKind]:
        try:
            answer = await self._api.get(f"/apis/{version}" if "/" in version else f"/api/{version}")
        except ApiError as error:
            _log.warning("the kinds of %s are not known: %s", version, error)
            return []
        return [_kind(version, each) for each in items(answer, "resources") if "/" not in each["name"]]


def _kind(version: str, entry: Object) -> ServedKind:
    resource = Resource(version, entry["kind"], entry["name"], bool(entry.get("namespaced")))
    return ServedKind(resource, frozenset(entry.get("verbs") or []))
