"""Shapes said in OpenAPI, the second and the third edition of it, as kubectl reads them.

The two differ in where definitions stand, and in that the second has no choices: there a quantity is a text, and of a
defined kind everything that would make an old kubectl refuse a good object (nulls, fields that are kept unknown, allOf
and its like) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.schemas.data import OBJECT_META, built_in
from tangram.sandbox.apiserver.shape import MISSING, Shape

Schema = Mapping[str, Any]

REFERENCES: Final = {2: "#/definitions/", 3: "#/components/schemas/"}
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_THIRD_ONLY: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "nullable", "default", "x-kubernetes-validations"}
)
_OF_ONE_TYPE: Final = frozenset({"type", "items", "properties", "required", "additionalProperties", "enum"})
_FREE: Final = frozenset({"default", "example", "additionalProperties"})
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"


def definition(shape: Shape, edition: int) -> Object:
    """What stands under the name of a built-in definition."""
    if shape.definition == _QUANTITY:
        return {"type": "string"} if edition == 2 else {"oneOf": [{"type": "string"}, {"type": "number"}]}
    return _described(shape, edition)


def used(shape: Shape) -> Iterator[Shape]:
    """The shapes one level below."""
    yield from shape.properties.values()
    if shape.items is not None:
        yield shape.items
    if shape.values is not None:
        yield shape.values


def name_of_kind(kind: Kind) -> str:
    """What the definition of a kind is called: io.k8s.api.core.v1.Pod, com.example.v1.Widget."""
    return kind.definition or f"{'.'.join(reversed(kind.group.split('.')))}.{kind.version}.{kind.kind}"


def reference(name: str, edition: int) -> Object:
    """The place of a definition."""
    return {"$ref": f"{REFERENCES[edition]}{name}"}


def defined(schema: Schema, kind: Kind, edition: int) -> Object:
    """The definition of a kind that people defined, from the schema they wrote."""
    said = _copied(schema) if edition == 3 else _for_second(schema)
    said["type"] = "object"
    said["properties"] = {**said.get("properties", {}), **_head(edition)}
    said["x-kubernetes-group-version-kind"] = [group_version_kind(kind)]
    return said


def group_version_kind(kind: Kind) -> Object:
    """How a kind is told apart from all others."""
    return {"group": kind.group, "kind": kind.kind, "version": kind.version}


def _head(edition: int) -> Object:
    metadata = reference(OBJECT_META, edition)
    text = {"type": "string"}
    return {"apiVersion": text, "kind": text, "metadata": metadata if edition == 2 else {"allOf": [metadata]}}


def _described(shape: Shape, edition: int) -> Object:
    """A shape in full."""
    said: Object = {}
    if shape.int_or_string:
        said["format"] = "int-or-string"
        said |= {"type": "string"} if edition == 2 else {"oneOf": [{"type": "integer"}, {"type": "string"}]}
    elif shape.type != "any":
        said["type"] = shape.type
    if "format" in shape.limits:
        said["format"] = shape.limits["format"]
    if shape.properties:
        said["properties"] = {name: _field(inner, edition) for name, inner in shape.properties.items()}
    if shape.items is not None:
        said["items"] = _field(shape.items, edition)
    if shape.values is not None:
        said["additionalProperties"] = _field(shape.values, edition)
    if shape.required:
        said["required"] = list(shape.required)
    return said | _extras(shape, edition)


def _field(shape: Shape, edition: int) -> Object:
    """A shape where it is used: the name of its definition, and what is said of this field alone."""
    if not shape.definition:
        return _described(shape, edition)
    pointed = reference(shape.definition, edition)
    own = _extras(shape, edition)
    if built_in(shape.definition).atomic:
        # Said of the definition; what is said of this field can only be the contrary.
        own.pop("x-kubernetes-map-type", None)
        own |= {} if shape.atomic else {"x-kubernetes-map-type": "granular"}
    if not own:
        return pointed
    return pointed | own if edition == 2 else {"allOf": [pointed], **own}


def _extras(shape: Shape, edition: int) -> Object:
    said: Object = {}
    if shape.default is not MISSING and edition == 3:
        said["default"] = shape.default
    if "enum" in shape.limits:
        said["enum"] = shape.limits["enum"]
    if shape.atomic:
        said["x-kubernetes-map-type"] = "atomic"
    if shape.list_type:
        said["x-kubernetes-list-type"] = shape.list_type
    if shape.list_keys:
        said["x-kubernetes-list-map-keys"] = list(shape.list_keys)
    if shape.merge_key:
        said["x-kubernetes-patch-merge-key"] = shape.merge_key
    if shape.strategies:
        said["x-kubernetes-patch-strategy"] = ",".join(sorted(shape.strategies))
    return said


def _copied(schema: Schema) -> Object:
    said = _without_empty(schema)
    if schema.get("x-kubernetes-int-or-string") is True and "allOf" not in said:
        said.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    if schema.get(_EMBEDDED) is True:
        said["properties"] = {**_mapping(schema.get("properties")), **_head(3)}
        said["required"] = [*schema.get("required", ()), "kind", "apiVersion"]
    if "properties" in said:
        said["properties"] = {
            key: _copied(_mapping(inner)) for key, inner in _mapping(said["properties"]).items()
        }
    for name in ("items", "additionalProperties"):
        if isinstance(said.get(name), Mapping):
            said[name] = _copied(said[name])
    return said


def _without_empty(schema: Schema) -> Object:
    """Without words that say nothing."""
    return {
        name: value
        for name, value in schema.items()
        if name in _FREE or not (value is None or value is False or value in ("", []))
    }


def _for_second(schema: Schema) -> Object:
    said = {name: value for name, value in _without_empty(schema).items() if name not in _THIRD_ONLY}
    if schema.get(_PRESERVE) is True or schema.get("nullable") is True:
        return {name: value for name, value in said.items() if name not in _OF_ONE_TYPE}
    if "properties" in said:
        said["properties"] = {
            key: _for_second(_mapping(inner)) for key, inner in _mapping(said["properties"]).items()
        }
    if isinstance(said.get("items"), Mapping):
        said["items"] = _for_second(said["items"])
    if isinstance(said.get("additionalProperties"), Mapping):
        said["additionalProperties"] = _for_second(said["additionalProperties"])
    return said


def _mapping(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}
