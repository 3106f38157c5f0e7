"""Which kinds there are at the moment: the built-in ones and those defined by people, each with its shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.schemas import built_in
from tangram.sandbox.apiserver.shape import ANYTHING, Shape

_Key = tuple[str, str, str]
"""Group, version, plural."""


class Registry:
    def __init__(self) -> None:
        self._kinds: dict[_Key, Kind] = {_key(kind): kind for kind in BUILT_IN}
        self._shapes: dict[_Key, Shape] = {}
        self.schemas: Final[dict[tuple[str, str, str], Object]] = {}
        """The schemas of defined kinds as they were written, for OpenAPI."""
        self.edition = 0
        """Grows whenever kinds come, change or go: what was made from them is then made anew."""

    @property
    def kinds(self) -> Sequence[Kind]:
        return tuple(self._kinds.values())

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def has_group_version(self, group: str, version: str) -> bool:
        return any(key[:2] == (group, version) for key in self._kinds)

    def shape(self, kind: Kind) -> Shape:
        key = _key(kind)
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = built_in(kind.definition) if kind.definition else ANYTHING
        return found

    def define(self, kind: Kind, shape: Shape, schema: Object) -> None:
        self._kinds[_key(kind)] = kind
        self._shapes[_key(kind)] = shape
        self.schemas[_key(kind)] = schema
        self.edition += 1

    def forget(self, kinds: Iterable[Kind]) -> None:
        for kind in kinds:
            key = _key(kind)
            self._kinds.pop(key, None)
            self._shapes.pop(key, None)
            self.schemas.pop(key, None)
        self.edition += 1

    def defined(self, group: str, plural: str) -> list[Kind]:
        """The versions of a kind that people defined."""
        return [
            kind for kind in self._kinds.values() if kind.resource == (group, plural) and not kind.definition
        ]


def _key(kind: Kind) -> _Key:
    return kind.group, kind.version, kind.plural
