"""The rules for Kubernetes' own words in a schema: lists that are sets or maps, maps that are one, rules in CEL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.schemas.faults import forbidden, invalid, not_supported, required

Schema = Mapping[str, Any]

_LISTS: Final = ("atomic", "set", "map")
_MAPS: Final = ("atomic", "granular")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_TYPE_OF_KEY: Final = "must be a scalar type if parent array's x-kubernetes-list-type is map"


def extension_faults(schema: Schema, path: str) -> Iterator[Fault]:
    """What is wrong with those words in one schema, not looking deeper than a list's items."""
    said_type = schema.get("type") or ""
    preserve = schema.get("x-kubernetes-preserve-unknown-fields")
    if preserve is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield invalid(where, preserve, "must be true or undefined")
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    keys: Sequence[str] = schema.get("x-kubernetes-list-map-keys") or ()
    if map_type is not None:
        yield from _of_type(said_type, "object", "x-kubernetes-map-type", path)
        if map_type not in _MAPS:
            yield not_supported(f"{path}.x-kubernetes-map-type", map_type, _MAPS)
    items = schema.get("items")
    of_items = cast("Schema", items) if isinstance(items, Mapping) else None
    if list_type is not None:
        yield from _of_type(said_type, "array", "x-kubernetes-list-type", path)
        if said_type == "array" and list_type == "set" and of_items is not None:
            yield from _set_faults(of_items, path)
        if list_type not in _LISTS:
            yield not_supported(f"{path}.x-kubernetes-list-type", list_type, _LISTS)
    if keys and list_type != "map":
        where, told = (
            f"{path}.x-kubernetes-list-type",
            "must be map if x-kubernetes-list-map-keys is non-empty",
        )
        yield required(where, told) if list_type is None else invalid(where, list_type, told)
    if list_type == "map":
        yield from _map_faults(of_items, keys, path)
    if list_type in ("set", "map") and of_items is not None:
        yield from _null_faults(of_items, list_type, keys, path)
    yield from _rule_faults(schema.get("x-kubernetes-validations") or (), f"{path}.x-kubernetes-validations")


def _of_type(said_type: str, wanted: str, word: str, path: str) -> Iterator[Fault]:
    if said_type != wanted:
        where, told = f"{path}.type", f"must be {wanted} if {word} is specified"
        yield invalid(where, said_type, told) if said_type else required(where, told)


def _set_faults(items: Schema, path: str) -> Iterator[Fault]:
    """Elements of a set are compared as wholes, so they must be owned as wholes."""
    told = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        yield invalid(f"{path}.items.x-kubernetes-list-type", items["x-kubernetes-list-type"], told)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(f"{path}.items.x-kubernetes-map-type", items.get("x-kubernetes-list-type"), told)


def _map_faults(items: Schema | None, keys: Sequence[str], path: str) -> Iterator[Fault]:
    if not keys:
        where = f"{path}.x-kubernetes-list-map-keys"
        yield required(where, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    if items.get("type") != "object":
        told = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type") or "", told)
        return
    properties: Mapping[str, Schema] = items.get("properties") or {}
    seen: set[str] = set()
    for key in keys:
        known = properties.get(key)
        if known is None:
            told = "entries must all be names of item properties"
            yield invalid(f"{path}.x-kubernetes-list-map-keys", list(keys), told)
        elif known.get("type") in ("array", "object"):
            yield invalid(f"{path}.items.properties[{key}].type", items["type"], _TYPE_OF_KEY)
        if key in seen:
            told = "must not contain duplicate entries"
            yield invalid(f"{path}.x-kubernetes-list-map-keys", list(keys), told)
        seen.add(key)


def _null_faults(items: Schema, list_type: str, keys: Sequence[str], path: str) -> Iterator[Fault]:
    """What tells elements apart must be there."""
    if items.get("nullable") is True:
        told = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        yield forbidden(f"{path}.items.nullable", told)
    properties: Mapping[str, Schema] = items.get("properties") or {}
    for key in keys if list_type == "map" else ():
        known = properties.get(key)
        if known is None:
            continue
        where, why = (
            f"{path}.items.properties[{key}]",
            "this property is in x-kubernetes-list-map-keys, so it",
        )
        if key not in (items.get("required") or ()) and known.get("default") is None:
            yield required(f"{where}.default", f"{why} must have a default or be a required property")
        if known.get("nullable") is True:
            yield forbidden(f"{where}.nullable", f"{why} cannot be nullable")


def _rule_faults(rules: Sequence[Schema], path: str) -> Iterator[Fault]:
    for number, each in enumerate(rules):
        rule, message, reason = each.get("rule") or "", each.get("message") or "", each.get("reason")
        where = f"{path}[{number}]"
        if not rule.strip():
            yield required(f"{where}.rule", "rule is not specified")
        elif message and not message.strip():
            yield invalid(f"{where}.message", message, "must be non-empty if specified")
        elif _has_lines(message.strip()):
            yield invalid(f"{where}.message", message, "must not contain line breaks")
        elif _has_lines(rule.strip()) and not message.strip():
            yield required(f"{where}.message", "message must be specified if rule contains line breaks")
        if reason is not None and reason not in _REASONS:
            yield not_supported(f"{where}.reason", reason, _REASONS)


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
