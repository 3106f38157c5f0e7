"""Events, which one server keeps under two groups: what one calls `involvedObject`, the other calls `regarding`."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.event_names import with_core_names
from tangram.sandbox.apiserver.printing.ages import UNKNOWN, since
from tangram.sandbox.apiserver.printing.columns import Cells, Heading, Printer, Printers, wide
from tangram.sandbox.apiserver.printing.reading import Members, at, name_of, number, text
from tangram.wire import loose


def _core(event: Object, now: datetime) -> Cells:
    return _cells(event, event, now)


def _newer(event: Object, now: datetime) -> Cells:
    return _cells(event, with_core_names(event), now)


def _cells(event: Object, fields: Members, now: datetime) -> Cells:
    first = since(fields.get("firstTimestamp"), now)
    if first == UNKNOWN:
        first = since(fields.get("eventTime"), now)
    last = since(fields.get("lastTimestamp"), now)
    times = number(fields, "count") or 1
    if loose.is_object(fields.get("series")):
        last, times = since(at(fields, "series", "lastObservedTime"), now), number(fields, "series", "count")
    elif last == UNKNOWN:
        last = first
    return [
        last,
        text(fields, "type"),
        text(fields, "reason"),
        _target(fields),
        text(fields, "involvedObject", "fieldPath"),
        _source(fields),
        text(fields, "message").strip(),
        first,
        times,
        name_of(event),
    ]


def _target(fields: Members) -> str:
    kind, name = text(fields, "involvedObject", "kind").lower(), text(fields, "involvedObject", "name")
    return f"{kind}/{name}" if name else kind


def _source(fields: Members) -> str:
    part = text(fields, "source", "component") or text(fields, "reportingComponent")
    where = text(fields, "source", "host") or text(fields, "reportingInstance")
    return f"{part}, {where}" if where else part


_HEADINGS: Final = (
    Heading("Last Seen"),
    Heading("Type"),
    Heading("Reason"),
    Heading("Object"),
    wide("Subobject"),
    wide("Source"),
    Heading("Message"),
    wide("First Seen"),
    wide("Count"),
    Heading("Name", format="name", priority=1),
)

PRINTERS: Final[Printers] = {
    ("", "Event"): Printer(_HEADINGS, _core),
    ("events.k8s.io", "Event"): Printer(_HEADINGS, _newer),
}
