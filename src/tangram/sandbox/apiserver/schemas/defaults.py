"""Defaults in the schema of a CustomResourceDefinition must be values that the schema itself would accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.schemas.faults import NOWHERE, invalid
from tangram.sandbox.apiserver.schemas.pruning import prune
from tangram.sandbox.apiserver.schemas.values import value_faults
from tangram.sandbox.apiserver.shape import MISSING, Shape


def default_faults(shape: Shape, path: str) -> Iterator[Fault]:
    """The defaults that would not pass; `path` is where the schema stands."""
    if shape.default is not MISSING:
        yield from _faults(shape.default, shape, f"{path}.default")
    if shape.items is not None:
        yield from default_faults(shape.items, f"{path}.items")
    for name, inner in shape.properties.items():
        if not inner.definition:
            yield from default_faults(inner, f"{path}.properties[{name}]")


def _faults(value: Any, shape: Shape, path: str) -> Iterator[Fault]:  # noqa: ANN401 - any JSON value may be a default
    if prune(value, shape) != value:
        yield invalid(path, value, "must not have unknown fields")
    for fault in value_faults(value, shape):
        field = path if fault.field in ("", NOWHERE) else f"{path}.{fault.field}"
        yield structs.replace(fault, field=field)
