"""Who wrote what of an object, as the API server keeps it under `managedFields`.

Two writers of one field undo each other's work for ever, so whoever is about to write looks here first. Entries of
another form than `FieldsV1` name no field: nobody has ever written one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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


def _entries(thing: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    metadata = loose.members(thing.get("metadata"))
    for each in loose.elements(metadata.get("managedFields")):
        entry = loose.members(each)
        yield loose.text(entry.get("manager")), entry.get("fieldsV1")


def _below(fields: object, path: tuple[str, ...]) -> object:
    for part in path:
        fields = loose.members(fields).get(f"f:{part}")
    return fields
