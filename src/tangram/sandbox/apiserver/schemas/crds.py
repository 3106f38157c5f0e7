"""The schema of a CustomResourceDefinition as a shape: kinds people define are read, merged and checked like any.

Takes schemas that `crd_schema_faults` has let pass, and never raises for those: what is missing or odd in one is as
loose as it can be. Rules in CEL (x-kubernetes-validations) are kept, so that clients see them, and are not evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.schemas.data import OBJECT_META, built_in
from tangram.sandbox.apiserver.shape import MISSING, Shape, Type

_TYPES: Final[Mapping[str, Type]] = {
    "object": "object",
    "array": "array",
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
PLAIN_LIMITS: Final = (
    "description", "title", "example", "externalDocs", "format", "enum", "pattern", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
    "uniqueItems", "minProperties", "maxProperties", "x-kubernetes-validations",
)  # fmt: skip
"""What is kept as it was written."""
CHOICES: Final = ("allOf", "anyOf", "oneOf")
_NAMED: Final = ("name", "generateName")
"""All of the metadata that a schema may restrict."""


def shape_of_crd(schema: Object) -> Shape:
    """The shape of a whole object whose openAPIV3Schema this is."""
    shape = _shape(schema)
    restricted = shape.properties.get("metadata")
    _join_metadata(shape)
    if restricted is not None:
        shape.properties["metadata"] = _restricted_metadata(restricted)
    return shape


def _shape(schema: Mapping[str, Any]) -> Shape:
    said_type = schema.get("type", "")
    either = schema.get("x-kubernetes-int-or-string") is True
    shape = Shape(
        type="any" if either else _TYPES.get(said_type, "any"),
        int_or_string=either,
        nullable=schema.get("nullable") is True,
        preserve=schema.get("x-kubernetes-preserve-unknown-fields") is True,
        embedded=schema.get("x-kubernetes-embedded-resource") is True,
        required=tuple(_texts(schema.get("required"))),
        list_keys=tuple(_texts(schema.get("x-kubernetes-list-map-keys"))),
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
    )
    if schema.get("default") is not None:
        shape.default = schema["default"]
    list_type = schema.get("x-kubernetes-list-type")
    if list_type in ("atomic", "set", "map"):
        shape.list_type = list_type
    for name, inner in _mapping(schema.get("properties")).items():
        shape.properties[name] = _shape(_mapping(inner))
    if isinstance(schema.get("items"), Mapping):
        shape.items = _shape(schema["items"])
    free = schema.get("additionalProperties")
    if isinstance(free, Mapping):
        shape.values = _shape(cast("Mapping[str, Any]", free))
    elif free is True:
        # Any scalar may stand there, but of an object nothing is known, so nothing is kept.
        shape.values = Shape()
    shape.limits = _limits(schema)
    if shape.embedded:
        _join_metadata(shape)
    return shape


def _limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    limits = {name: schema[name] for name in PLAIN_LIMITS if schema.get(name) is not None}
    for choice in CHOICES:
        if isinstance(schema.get(choice), list) and schema[choice]:
            limits[choice] = [_shape(_mapping(each)) for each in schema[choice]]
    if isinstance(schema.get("not"), Mapping):
        limits["not"] = _shape(schema["not"])
    return limits


def _join_metadata(shape: Shape) -> None:
    """What every object has, whatever its schema says of it."""
    shape.properties.setdefault("apiVersion", Shape(type="string"))
    shape.properties.setdefault("kind", Shape(type="string"))
    shape.properties["metadata"] = built_in(OBJECT_META)


def _restricted_metadata(said: Shape) -> Shape:
    joined = copy(built_in(OBJECT_META))
    joined.properties = dict(joined.properties)
    joined.limits = said.limits
    joined.required = said.required
    for name in _NAMED:
        if name in said.properties:
            # Not of the built-in type any more: values of built-in types are checked elsewhere, these here.
            joined.properties[name] = said.properties[name]
            joined.properties[name].default = MISSING
    return joined


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    return (
        [each for each in cast("list[object]", value) if isinstance(each, str)]
        if isinstance(value, list)
        else []
    )
