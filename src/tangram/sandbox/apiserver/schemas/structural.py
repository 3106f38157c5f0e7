"""The rules for the schemas in a CustomResourceDefinition: what may be said where, so that objects can be pruned, given
defaults and merged by it.

A schema is *structural* when the type of every field is said outright and what stands below allOf, anyOf, oneOf and not
only narrows values. The words are the real server's. Rules in CEL are looked at from outside (is there a rule, does the
message fit one line); whether they mean anything is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.schemas.crds import CHOICES, shape_of_crd
from tangram.sandbox.apiserver.schemas.defaults import default_faults
from tangram.sandbox.apiserver.schemas.extensions import extension_faults
from tangram.sandbox.apiserver.schemas.faults import forbidden, invalid, not_supported, required
from tangram.sandbox.apiserver.schemas.regexes import translated

Schema = Mapping[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_META: Final = frozenset({"metadata", "kind", "apiVersion"})
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]
_BELOW_CHOICES: Final = (
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_AT_ROOT: Final = {
    "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items", "properties",
    "externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
}  # fmt: skip
_AT_ROOT_TOLD: Final = (
    "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations] fields are allowed at the root of the schema if the status subresource is enabled"
)


def schema_faults(schema: Schema, path: str, *, with_status: bool) -> Iterator[Fault]:
    """What is wrong with the openAPIV3Schema of a version. `with_status`: status is written apart."""
    if with_status:
        if schema.get("type", "object") != "object":
            told = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            yield invalid(f"{path}.type", schema["type"], told)
        elif any(value and name not in _AT_ROOT for name, value in schema.items()):
            yield invalid(path, schema, _AT_ROOT_TOLD)
    if schema.get("nullable") is True:
        yield forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    wording = list(_wording(schema, path, root=True, defaults="", meta=False))
    # A schema with words that are not supported is not looked at as a whole.
    if not any(
        fault.field.rpartition(".")[2] in (*_UNSUPPORTED, "items") for fault in wording if _forbids(fault)
    ):
        structure = sorted(
            [*_structure(schema, path, "root"), *_completeness(schema, schema, path, path)],
            key=lambda fault: f"{fault.field}: {fault.message}",
        )
        yield from structure or default_faults(shape_of_crd(dict(schema)), path)
    yield from wording


def _forbids(fault: Fault) -> bool:
    return fault.reason == "FieldValueForbidden"


def _structure(schema: Schema, path: str, level: str) -> Iterator[Fault]:
    said_type = schema.get("type") or ""
    yield from _inside(schema, path, level)
    properties = _mapping(schema.get("properties"))
    either = schema.get("x-kubernetes-int-or-string") is True
    preserve = schema.get("x-kubernetes-preserve-unknown-fields") is True
    embedded = schema.get("x-kubernetes-embedded-resource") is True
    for clash, there in (("preserve-unknown-fields", preserve), ("embedded-resource", embedded)):
        if either and there:
            told = "must be false if x-kubernetes-int-or-string is true"
            yield invalid(f"{path}.x-kubernetes-{clash}", value=True, detail=told)
    yield from _narrowing(schema, path, either=_says_either(schema))
    yield from _types(schema, path, level, said_type, known=either or preserve, embedded=embedded)
    if level == "root" or embedded:
        for name in ("kind", "apiVersion"):
            if name in properties and properties[name].get("type") != "string":
                found = properties[name].get("type") or ""
                yield invalid(f"{path}.properties[{name}].type", found, "must be string")
    if "metadata" in properties:
        yield from _metadata(properties["metadata"], f"{path}.properties[metadata]", level, embedded=embedded)
    if embedded and not preserve and not properties:
        yield required(
            f"{path}.properties",
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        )


def _inside(schema: Schema, path: str, level: str) -> Iterator[Fault]:
    """The same of everything that a schema holds."""
    if schema.get("type") == "array" and schema.get("items") is None:
        yield required(f"{path}.items", "must be specified")
    if isinstance(schema.get("items"), Mapping):
        yield from _structure(schema["items"], f"{path}.items", "item")
    for name, inner in _mapping(schema.get("properties")).items():
        yield from _structure(_mapping(inner), f"{path}.properties[{name}]", "field")
    free = schema.get("additionalProperties")
    if free is not None and level == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(free, Mapping):
        yield from _structure(cast("Schema", free), f"{path}.additionalProperties", "field")


def _types(
    schema: Schema, path: str, level: str, said_type: str, *, known: bool, embedded: bool
) -> Iterator[Fault]:
    where = f"{path}.type"
    if embedded and said_type != "object":
        told = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(where, said_type, told) if said_type else required(where, told)
    elif not said_type and not known:
        place = {
            "root": "at the root",
            "item": "for specified array items",
            "field": "for specified object fields",
        }
        yield required(where, f"must not be empty {place[level]}")
    if embedded and schema.get("additionalProperties") is not None:
        told = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", told)
    if level == "root" and said_type and said_type != "object":
        yield invalid(where, said_type, "must be object at the root")


def _metadata(schema: Schema, path: str, level: str, *, embedded: bool) -> Iterator[Fault]:
    if (level == "root" or embedded) and schema.get("type") != "object":
        yield invalid(f"{path}.type", schema.get("type") or "", "must be object")
    if level != "root":
        return
    said = {name for name, value in schema.items() if value} - {"type", "default", "properties"}
    if said - {"required"} or set(_mapping(schema.get("properties"))) - {"name", "generateName"}:
        told = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        yield forbidden(path, told)


def _says_either(schema: Schema) -> str:
    """Where a schema spells out that a value is a number or a text, which it may although these are types."""
    if schema.get("anyOf") == _EITHER:
        return "anyOf"
    every: list[object] = schema.get("allOf") or []
    return "allOf" if every and _mapping(every[0]).get("anyOf") == _EITHER else ""


def _narrowing(schema: Schema, path: str, *, either: str = "") -> Iterator[Fault]:
    for choice in CHOICES:
        if choice == "anyOf" and either == "anyOf":
            continue
        for number, each in enumerate(schema.get(choice) or ()):
            first = choice == "allOf" and either == "allOf" and number == 0
            yield from _below(_mapping(each), f"{path}.{choice}[{number}]", either="anyOf" if first else "")
    if isinstance(schema.get("not"), Mapping):
        yield from _below(schema["not"], f"{path}.not")
    pattern = schema.get("pattern")
    if pattern:
        try:
            re.compile(translated(pattern))
        except (re.error, OverflowError, RecursionError) as error:
            told = f"must be a valid regular expression, but isn't: error parsing regexp: {_why(error)}"
            yield invalid(f"{path}.pattern", pattern, told)


def _why(error: Exception) -> str:
    return error.msg if isinstance(error, re.error) else "expression nests or repeats too deeply"


def _below(schema: Schema, path: str, *, either: str = "") -> Iterator[Fault]:
    """What stands below allOf, anyOf, oneOf or not."""
    yield from _narrowing(schema, path, either=either)
    if isinstance(schema.get("items"), Mapping):
        yield from _below(schema["items"], f"{path}.items")
    for name, inner in _mapping(schema.get("properties")).items():
        yield from _below(_mapping(inner), f"{path}.properties[{name}]")
    if schema.get("type"):
        yield forbidden(f"{path}.type", "must be empty to be structural")
    if schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", "must be undefined to be structural")
    for word, told in _BELOW_CHOICES:
        if schema.get(word):
            yield forbidden(f"{path}.{word}", told)
    if "metadata" in _mapping(schema.get("properties")):
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(narrowing: Schema, schema: Schema, path: str, where: str) -> Iterator[Fault]:
    """Nothing is narrowed that is not there."""
    below = [
        (f"{where}.{choice}[{number}]", _mapping(each))
        for choice in ("allOf", "anyOf", "oneOf")
        for number, each in enumerate(narrowing.get(choice) or ())
    ]
    if isinstance(narrowing.get("not"), Mapping):
        below.insert(0, (f"{where}.not", narrowing["not"]))
    for place, each in below:
        yield from _completeness(each, schema, path, place)
        for name, inner in _mapping(each.get("properties")).items():
            known = _mapping(schema.get("properties")).get(name)
            there = f"{place}.properties[{name}]"
            if known is None:
                yield required(f"{path}.properties[{name}]", f"because it is defined in {there}")
            else:
                yield from _completeness(_mapping(inner), known, f"{path}.properties[{name}]", there)


def _wording(schema: Schema, path: str, *, root: bool, defaults: str, meta: bool) -> Iterator[Fault]:
    """Words that may not be used at all, or not here. `defaults`: why there may be none; empty where they may."""
    yield from _words(schema, path, defaults=defaults, meta=meta)
    properties = _mapping(schema.get("properties"))
    free = schema.get("additionalProperties")
    if free is not None and properties and free is not True:
        told = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", told)
    if isinstance(free, Mapping):
        why = "inside additionalProperties applying to object metadata" if meta else defaults
        yield from _wording(
            cast("Schema", free), f"{path}.additionalProperties", root=False, defaults=why, meta=meta
        )
    whole = root or schema.get("x-kubernetes-embedded-resource") is True
    for name, inner in properties.items():
        inside = whole and name in _META
        why = f"in top-level {name}" if root and inside else defaults
        place = f"{path}.properties[{name}]"
        yield from _wording(_mapping(inner), place, root=False, defaults=why, meta=meta or inside)
    for place, inner in _others(schema, path):
        yield from _wording(inner, place, root=False, defaults=defaults, meta=meta)
    yield from extension_faults(schema, path)


def _words(schema: Schema, path: str, *, defaults: str, meta: bool) -> Iterator[Fault]:
    said_type = schema.get("type") or ""
    if said_type and said_type not in _TYPES:
        yield not_supported(f"{path}.type", said_type, _TYPES)
    if schema.get("default") is not None and defaults:
        yield forbidden(f"{path}.default", f"must not be set {defaults}")
    for word in _UNSUPPORTED:
        if schema.get(word):
            yield forbidden(f"{path}.{word}", f"{word} is not supported")
    if said_type == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if meta and schema.get("x-kubernetes-embedded-resource") is True:
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if schema.get("uniqueItems") is True:
        told = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", told)


def _others(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    if isinstance(schema.get("not"), Mapping):
        yield f"{path}.not", schema["not"]
    for choice in ("allOf", "oneOf", "anyOf"):
        for number, each in enumerate(schema.get(choice) or ()):
            yield f"{path}.{choice}[{number}]", _mapping(each)
    if isinstance(schema.get("items"), Mapping):
        yield f"{path}.items", schema["items"]


def _mapping(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, Mapping) else {}
