"""Who wrote what of an object, as the API server keeps it under `managedFields`.

Two writers of one field undo each other's work for ever, so whoever is about to write looks here first. Entries of
another form than `FieldsV1` name no field: nobody has ever written one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tangram.wire import loose


def managers_of(thing: Mapping[str, object], *path: str) -> frozenset[str]:
    """The managers that own a field, or anything below it: `managers_of(device, "spec")`."""
    return frozenset(manager for manager, fields in _entries(thing) if _below(fields, path) is not None)


def fields_of(thing: Mapping[str, object], manager: str, *path: str) -> frozenset[str]:
    """The names of the fields right below the path that a manager owns: those of `status`, `capacity`, say."""
    found: set[str] = set()
    for name, fields in _entries(thing):
        if name == manager:
            keys = loose.members(_below(fields, path))
            found |= {key.removeprefix("f:") for key in keys if key.startswith("f:")}
    return frozenset(found)


def owners_below(thing: Mapping[str, object], *path: str) -> dict[str, frozenset[str]]:
    """Whoever owns each field right below the path, or anything in it, by the field's name.

    An element of a list is named by its key where that is a single one: a condition by its type.
    """
    found: dict[str, frozenset[str]] = {}
    for manager, fields in _entries(thing):
        for key in loose.members(_below(fields, path)):
            name = _field_name(key)
            if name:
                found[name] = found.get(name, frozenset()) | {manager}
    return found


def _field_name(key: str) -> str:
    """The name in `f:name` or `k:{"type":"name"}`; empty for all else, such as the map itself."""
    if key.startswith("f:"):
        return key.removeprefix("f:")
    if not key.startswith("k:"):
        return ""
    try:
        keys = list(loose.members(msgspec.json.decode(key.removeprefix("k:"))).values())
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    return loose.text(keys[0]) if len(keys) == 1 else ""


def _entries(thing: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    metadata = loose.members(thing.get("metadata"))
    for each in loose.elements(metadata.get("managedFields")):
        entry = loose.members(each)
        yield loose.text(entry.get("manager")), entry.get("fieldsV1")


def _below(fields: object, path: tuple[str, ...]) -> object:
    for part in path:
        fields = loose.members(fields).get(f"f:{part}")
    return fields
