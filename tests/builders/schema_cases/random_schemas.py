"""Structural schemas at random, and values that fit them now and then."""

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
INNER_NAMES = st.sampled_from(["a", "b", "c"])

_SCALARS: st.SearchStrategy[Schema] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "nullable": True},
        {"type": "string", "default": "d"},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "pattern": "^a", "maxLength": 3},
        {"type": "string", "format": "date-time"},
        {"type": "string", "not": {"enum": ["x"]}},
        {"type": "integer", "format": "int32", "minimum": 0},
        {"type": "integer", "default": 3, "nullable": True},
        {"type": "integer", "anyOf": [{"minimum": 3}, {"multipleOf": 2}]},
        {"type": "number", "multipleOf": 0.5, "maximum": 9},
        {"type": "boolean", "default": False},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
    ]
)


def _object(properties: dict[str, Schema], more: Schema) -> Schema:
    return {"type": "object", "properties": properties, **more}


def _list(items: Schema, more: Schema) -> Schema:
    return {"type": "array", "items": items, **more}


def _map(values: Schema | bool) -> Schema:  # noqa: FBT001 - what a schema says, not a switch
    return {"type": "object", "additionalProperties": values}


def _root(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties}


def _thing(fields: Schema, metadata: Schema) -> Schema:
    return {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": metadata, **fields}


_OF_OBJECTS: list[Schema] = [
    {},
    {"default": {}},
    {"nullable": True},
    {"required": ["a"]},
    {"x-kubernetes-preserve-unknown-fields": True},
    {"x-kubernetes-map-type": "atomic"},
    {"maxProperties": 2},
    {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
]
_OF_LISTS: list[Schema] = [{}, {"minItems": 1, "maxItems": 2}, {"x-kubernetes-list-type": "atomic"}]
_METADATA: list[Schema] = [
    {"name": "x"},
    {"name": "x", "labels": {"a": "b"}, "foo": 1},
    {"name": "x", "annotations": None},
]
_SET: Schema = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}


def _containers(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    objects = st.builds(
        _object, st.dictionaries(INNER_NAMES, inner, max_size=3), st.sampled_from(_OF_OBJECTS)
    )
    lists = st.builds(_list, inner, st.sampled_from(_OF_LISTS))
    maps = st.builds(_map, inner | st.just(value=True))
    return objects | lists | st.just(_SET) | maps


SCHEMAS: st.SearchStrategy[Schema] = st.builds(
    _root,
    st.dictionaries(
        st.sampled_from(["spec", "status", "data"]),
        st.recursive(_SCALARS, _containers, max_leaves=6),
        max_size=2,
    ),
)


def _inner_values(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(INNER_NAMES, inner, max_size=3)


_LEAVES: list[Any] = [None, True, 0, 3, 7, 2.5, -1, 2**40, "", "a", "abcd", "2024-01-01T00:00:00Z"]
VALUES: st.SearchStrategy[Any] = st.recursive(st.sampled_from(_LEAVES), _inner_values, max_leaves=8)
THINGS: st.SearchStrategy[Schema] = st.builds(
    _thing,
    st.dictionaries(st.sampled_from(["spec", "status", "data", "zoo"]), VALUES, max_size=3),
    st.sampled_from(_METADATA),
)
