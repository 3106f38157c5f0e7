"""Label and field selectors: which objects a request is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.asking import Ask
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import bad_request
from tangram.wire import loose
from tangram.wire.label_selectors import read_selector

Test = Callable[[Object], bool]

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?|"
_EQUAL = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})$")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)$")
_THERE = re.compile(rf"(!?)\s*({_KEY})$")
_COMPARED = re.compile(rf"({_KEY})\s*(>|<)\s*(-?\d+)$")
_COMMA_OUTSIDE = re.compile(r",(?![^()]*\))")

_USUAL_FIELDS: Final = frozenset({"metadata.name", "metadata.namespace"})
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "Pod": frozenset(
        {
            "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
            "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName",
        }
    ),
    "Node": frozenset({"spec.unschedulable"}),
    "Namespace": frozenset({"status.phase"}),
    "Event": frozenset(
        {
            "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
            "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
            "reportingComponent", "source", "type",
        }
    ),
    "Secret": frozenset({"type"}),
    "ReplicaSet": frozenset({"status.replicas"}),
    "ReplicationController": frozenset({"status.replicas"}),
    "Job": frozenset({"status.successful"}),
    "Service": frozenset({"spec.clusterIP", "spec.type"}),
}  # fmt: skip


class Selection(Struct, frozen=True):
    """What a list or watch is narrowed to. Empty texts mean everything."""

    labels: str = ""
    fields: str = ""
    tests: tuple[Test, ...] = ()

    def takes(self, thing: Object) -> bool:
        return all(test(thing) for test in self.tests)


EVERYTHING: Final = Selection()


def read_selection(kind: Kind, labels: str, fields: str) -> Selection:
    """Raises `Refused`."""
    if not labels and not fields:
        return EVERYTHING
    return Selection(labels, fields, (*_label_tests(labels), *_field_tests(kind, fields)))


def selection_of(ask: Ask) -> Selection:
    """What a request is narrowed to. Raises `Refused`."""
    query = ask.query
    return read_selection(ask.target.kind, query.get("labelSelector", ""), query.get("fieldSelector", ""))


def labels_test(selector: object) -> Test:
    """A LabelSelector as it stands in objects; none takes everything, as webhooks mean it."""
    wanted = read_selector(selector or {})
    return lambda thing: wanted.matches(loose.text_map(loose.members(thing.get("metadata")).get("labels")))


def _labels(thing: Object) -> Mapping[str, str]:
    return thing["metadata"].get("labels") or {}


def _label_tests(text: str) -> list[Test]:
    return [_label_test(text, part.strip()) for part in _COMMA_OUTSIDE.split(text) if part.strip()]


def _label_test(text: str, part: str) -> Test:
    if found := _EQUAL.match(part):
        key, operator, value = found.groups()
        if operator == "!=":
            return lambda thing: _labels(thing).get(key) != value
        return lambda thing: _labels(thing).get(key) == value
    if found := _SET.match(part):
        key, operator, listed = found.groups()
        values = frozenset(each.strip() for each in listed.split(","))
        if operator == "in":
            return lambda thing: key in _labels(thing) and _labels(thing)[key] in values
        return lambda thing: _labels(thing).get(key) not in values
    if found := _COMPARED.match(part):
        key, operator, number = found.groups()
        return lambda thing: _compared(_labels(thing).get(key), operator, int(number))
    if found := _THERE.match(part):
        absent, key = bool(found.group(1)), found.group(2)
        return lambda thing: (key in _labels(thing)) != absent
    raise bad_request(f"unable to parse requirement: {part!r:.80} in {text!r:.200} is no label selector")


def _compared(value: str | None, operator: str, number: int) -> bool:
    have = loose.integer(value)
    return have is not None and (have > number if operator == ">" else have < number)


def _field_tests(kind: Kind, text: str) -> list[Test]:
    return [_field_test(kind, text, part.strip()) for part in text.split(",") if part.strip()]


def _field_test(kind: Kind, text: str, part: str) -> Test:
    found = re.match(r"([^=!]+?)\s*(!=|==|=)\s*(.*)$", part)
    if found is None:
        raise bad_request(f"invalid selector: {text!r:.200}; can't understand {part!r:.80}")
    field, operator, value = found.groups()
    if field not in _USUAL_FIELDS and field not in _FIELDS.get(kind.kind, frozenset()):
        raise bad_request(_unsupported_field(kind, field))
    differs = operator == "!="
    return lambda thing: (_field(thing, field) == value) != differs


def _unsupported_field(kind: Kind, field: str) -> str:
    """Kinds with a list of their own say it one way, the others another."""
    if kind.kind in _FIELDS and kind.group in ("", "batch"):
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _field(thing: Object, field: str) -> str:
    if field == "status.successful":
        field = "status.succeeded"
    if field == "source":
        return loose.text(loose.members(thing.get("source")).get("component")) or loose.text(
            thing.get("reportingComponent")
        )
    at: object = thing
    for step in field.split("."):
        at = loose.members(at).get(step)
    if isinstance(at, bool):
        return "true" if at else "false"
    if at is None:
        return _EMPTY.get(field, "")
    return str(at)


_EMPTY: Final[Mapping[str, str]] = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.succeeded": "0",
    "status.replicas": "0",
}
