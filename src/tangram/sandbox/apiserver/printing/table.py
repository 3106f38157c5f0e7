"""Objects as a Table, which is how `kubectl get` asks for them: the server decides on columns, the client prints.

Every column is always sent, the wide ones too, and the client chooses. A list of one kind gives one table; an event of
a watch gives a table with one row, and only the first of them carries the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.printing.ages import moment
from tangram.sandbox.apiserver.printing.columns import NAME, Cells, Heading, Printer, Printers
from tangram.sandbox.apiserver.printing.custom import printer_of
from tangram.sandbox.apiserver.printing.events import PRINTERS as EVENTS
from tangram.sandbox.apiserver.printing.jobs import PRINTERS as JOBS
from tangram.sandbox.apiserver.printing.nodes import PRINTERS as NODES
from tangram.sandbox.apiserver.printing.pods import PRINTERS as PODS
from tangram.sandbox.apiserver.printing.reading import at, name_of, text
from tangram.sandbox.apiserver.printing.services import PRINTERS as SERVICES
from tangram.sandbox.apiserver.printing.settings import PRINTERS as SETTINGS
from tangram.sandbox.apiserver.printing.storage import PRINTERS as STORAGE
from tangram.sandbox.apiserver.printing.workloads import PRINTERS as WORKLOADS
from tangram.sandbox.apiserver.refusals import bad_request

META: Final = "meta.k8s.io/v1"
INCLUDED: Final = ("Metadata", "None", "Object")
_YEAR_ONE: Final = datetime(1, 1, 1, tzinfo=UTC)


def _created(thing: Object, _now: datetime) -> Cells:
    created = moment(at(thing, "metadata", "creationTimestamp")) or _YEAR_ONE
    return [name_of(thing), f"{created:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")]


_PLAIN: Final = Printer((NAME, Heading("Created At", "date")), _created)
"""For kinds that nobody wrote columns for, such as roles, limit ranges and definitions of kinds."""

_PRINTERS: Final[Printers] = {
    **PODS,
    **NODES,
    **WORKLOADS,
    **JOBS,
    **SERVICES,
    **EVENTS,
    **STORAGE,
    **SETTINGS,
}


def as_table(
    kind: Kind,
    things: Sequence[Object],
    *,
    now: datetime,
    include: str = "Metadata",
    headers: bool = True,
    version: str = "",
    more: Object | None = None,
) -> Object:
    """The table of one object or of a list.

    `include` is the query's `includeObject`, empty meaning `Metadata`. `version` is the resourceVersion of a list;
    without one it is that of the only object. `more` are further fields of the list: `continue`, `remainingItemCount`.
    Raises `Refused` for an `include` nobody knows.
    """
    if include and include not in INCLUDED:
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    if not version and len(things) == 1:
        version = text(things[0], "metadata", "resourceVersion")
    printer = _printer(kind)
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": ({"resourceVersion": version} if version else {}) | (more or {}),
        "columnDefinitions": [heading.definition() for heading in printer.headings] if headers else None,
        "rows": [_row(kind, printer, thing, now, include) for thing in things],
    }


def _printer(kind: Kind) -> Printer:
    if not kind.definition and kind.columns is not None:
        return printer_of(kind.columns)
    found = _PRINTERS.get((kind.group, kind.kind))
    if found is not None:
        return found
    return _PLAIN if kind.definition else printer_of(())


def _row(kind: Kind, printer: Printer, thing: Object, now: datetime, include: str) -> Object:
    row: Object = {"cells": printer.cells(thing, now)}
    if conditions := printer.conditions(thing):
        row["conditions"] = conditions
    return row | {"object": _object(kind, thing, include)}


def _object(kind: Kind, thing: Object, include: str) -> dict[str, Any] | None:
    match include:
        case "None":
            return None
        case "Object":
            return thing | {"kind": kind.kind, "apiVersion": kind.api_version}
        case _:
            return {
                "kind": "PartialObjectMetadata",
                "apiVersion": META,
                "metadata": thing.get("metadata", {}),
            }
