"""Who owns which fields of an object: `metadata.managedFields`, read and written.

An owner is a manager with the kind of operation it did, through which subresource, and for updates in which version:
somebody who applies keeps one entry however often the version changes. Entries are written in a fixed order, and the
oldest updates are put together when there are too many of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.go_writing import go_json
from tangram.sandbox.apiserver.patching.copying import Json
from tangram.sandbox.apiserver.patching.facets import fields_of
from tangram.sandbox.apiserver.patching.fields import Fields, fields_v1, read_fields_v1

APPLY: Final = "Apply"
UPDATE: Final = "Update"
MOST_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"
_FIELDS: Final = "FieldsV1"


class Owner(NamedTuple):
    manager: str
    operation: str
    api_version: str
    """Empty for those who apply."""
    subresource: str

    @property
    def identity(self) -> str:
        """What the real server tells owners apart and sorts them by."""
        said = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return f"{{{','.join(f'{go_json(name)}:{go_json(value)}' for name, value in said.items() if value)}}}"

    def __str__(self) -> str:
        """As conflicts name it."""
        through = f" with subresource {go_json(self.subresource)}" if self.subresource else ""
        using = f" using {self.api_version}" if self.operation == UPDATE else ""
        return f"{go_json(self.manager)}{through}{using}"


class Holding(NamedTuple):
    fields: Fields
    api_version: str
    time: str = ""
    """Empty: nobody wrote down when."""


Managed = Mapping[Owner, Holding]


def owner(manager: str, operation: str, api_version: str, subresource: str) -> Owner:
    """Somebody who writes now."""
    version = "" if operation == APPLY else api_version
    return Owner(manager or "unknown", operation, version, subresource)


def entries_of(thing: Object) -> Json:
    """What the object says under `metadata.managedFields`; None if nothing."""
    return fields_of(thing.get("metadata")).get("managedFields")


def without_entries(thing: Object) -> Object:
    """The object as its owners see it."""
    metadata = fields_of(thing.get("metadata"))
    if "managedFields" not in metadata:
        return thing
    kept = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**thing, "metadata": kept}


def with_entries(thing: Object, managed: Managed) -> Object:
    """The object with these owners, and no others."""
    bare = without_entries(thing)
    if not managed:
        return bare
    return {**bare, "metadata": {**bare.get("metadata", {}), "managedFields": written(managed)}}


def read(entries: object) -> dict[Owner, Holding]:
    """Raises `ValueError` for entries that nobody could have written."""
    if entries is None:
        return {}
    if not isinstance(entries, list):
        raise ValueError("managedFields is no list")  # noqa: TRY004 - one kind of error for all that is malformed
    found: dict[Owner, Holding] = {}
    for position, each in enumerate(cast("list[object]", entries)):
        entry = cast("Object", each) if isinstance(each, dict) else {}
        operation, version = entry.get("operation"), entry.get("apiVersion")
        if operation not in (APPLY, UPDATE):
            raise ValueError("operation must be `Apply` or `Update`")
        if not isinstance(version, str) or not version:
            raise ValueError("apiVersion must not be empty")
        if entry.get("fieldsType") != _FIELDS:
            raise ValueError(f"missing or unknown fieldsType in managed fields entry {position}")
        known = Owner(
            str(entry.get("manager") or ""),
            operation,
            "" if operation == APPLY else version,
            str(entry.get("subresource") or ""),
        )
        owned = read_fields_v1(entry.get("fieldsV1") or {})
        found[known] = Holding(owned, version, str(entry.get("time") or ""))
    return found


def written(managed: Managed) -> list[Object]:
    """As entries: appliers first, then by age."""
    return [_entry(one, managed[one]) for one in sorted(managed, key=lambda one: _place(one, managed[one]))]


def _place(one: Owner, held: Holding) -> tuple[str, ...]:
    return (one.operation, held.time, one.manager, held.api_version, one.subresource)


def _entry(one: Owner, held: Holding) -> Object:
    said: Object = {
        "manager": one.manager,
        "operation": one.operation,
        "apiVersion": held.api_version,
        "time": held.time,
        "fieldsType": _FIELDS,
        "fieldsV1": fields_v1(held.fields),
        "subresource": one.subresource,
    }
    return {name: value for name, value in said.items() if value or name == "fieldsV1"}


def capped(managed: Managed) -> dict[Owner, Holding]:
    """With the oldest updates of one version put together until there are few enough."""
    left = dict(managed)
    updaters = sorted(
        (one for one in left if one.operation == UPDATE), key=lambda one: (left[one].time, one.identity)
    )
    many = len(updaters)
    first: dict[str, Owner] = {}
    for one in updaters:
        if many <= MOST_UPDATERS:
            break
        held = left[one]
        oldest = first.setdefault(held.api_version, one)
        if oldest == one:
            continue
        bucket = Owner(_ANCIENT, UPDATE, held.api_version, "")
        if bucket not in left:
            left[bucket] = left.pop(oldest)
        joined = held.fields | left[bucket].fields
        del left[one]
        left[bucket] = Holding(joined, held.api_version, held.time)
        many -= 1
    return left


def same_but_for_times(before: Object, after: Object) -> bool:
    """Whether nothing changed but when somebody last said so. Such a write is no change at all."""
    return _timeless(before) == _timeless(after) and without_entries(before) == without_entries(after)


def _timeless(thing: Object) -> list[Object]:
    entries = cast("list[Object]", entries_of(thing) or [])
    return [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
