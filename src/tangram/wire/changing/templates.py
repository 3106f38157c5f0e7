"""Where a manifest says what its pods are, in a copy that may be written to.

A manifest may have any shape: where something else stands than an object that is needed, one is put in its place. The
original stays as it was.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from tangram.wire import loose
from tangram.wire.workloads import TEMPLATES

Json = dict[str, Any]


class Template(NamedTuple):
    """A copy of a manifest, and what it says of its pods."""

    manifest: Json
    described: Json
    """What holds the other two: the manifest of a pod itself."""
    metadata: Json
    spec: Json

    def containers(self) -> list[Json]:
        """Init containers, then the rest; what is no object is passed over."""
        return [
            cast("Json", entry)
            for field in ("initContainers", "containers")
            for entry in loose.elements(self.spec.get(field))
            if isinstance(entry, dict)
        ]

    def annotations(self) -> Json:
        """Made where there are none; `without_empty` takes them away again."""
        return inside(self.metadata, "annotations")


def template_of(manifest: Mapping[str, object]) -> Template | None:
    """A copy that is free to be changed; None for a kind that makes no pods."""
    steps = TEMPLATES.get(loose.text(manifest.get("kind")))
    if steps is None:
        return None
    copied = copy.deepcopy(dict(manifest))
    described = copied
    for step in steps:
        described = inside(described, step)
    return Template(copied, described, inside(described, "metadata"), inside(described, "spec"))


def inside(around: Json, name: str) -> Json:
    """A member that is an object, made where it is none."""
    found = around.get(name)
    if not isinstance(found, dict):
        found = around[name] = {}
    return cast("Json", found)


def without_empty(around: Json, *names: str) -> None:
    """Take members away that say nothing."""
    for name in names:
        if name in around and not around[name]:
            del around[name]
