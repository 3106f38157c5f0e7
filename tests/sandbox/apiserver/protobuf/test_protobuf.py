"""Bodies in protobuf are read as the objects they stand for, and whatever else is sent is refused in a clause."""

from __future__ import annotations

import base64
import datetime as dt
import json
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.protobuf_bodies import (
    LISTS,
    META,
    NUMBER_OR_TEXT,
    QUANTITY,
    RAW,
    Field,
    body_of,
    fields_of,
    message,
    numeral,
    piece,
    reachable,
    table,
    varint,
)
from tangram.kube.objects import Object
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.protobuf import Unreadable, read_protobuf
from tangram.sandbox.apiserver.schemas import built_in

POD = "io.k8s.api.core.v1.Pod"
DEEP = 3
NEVER_SENT = "io.k8s.apiextensions-apiserver."
DEFINITIONS = sorted({kind.definition for kind in BUILT_IN if not kind.definition.startswith(NEVER_SENT)})

WORKLOADS: list[tuple[str, Object]] = [
    (
        POD,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "träger",
                "labels": {"a": "b", "empty": ""},
                "creationTimestamp": "2026-03-01T09:08:07Z",
                "generation": -1,
            },
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "resources": {"limits": {"metax-tech.com/sgpu": "1", "memory": "1500M"}},
                        "livenessProbe": {"httpGet": {"port": "web"}, "periodSeconds": 3},
                        "readinessProbe": {"tcpSocket": {"port": 8080}},
                        "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                    }
                ],
                "securityContext": {"supplementalGroups": [1, -2, 2**40], "runAsNonRoot": False},
                "volumes": [{"name": "v", "configMap": {"name": "c", "defaultMode": 420}}],
                "terminationGracePeriodSeconds": 0,
            },
            "status": {"phase": "Running", "startTime": "0001-02-03T00:00:00Z"},
        },
    ),
    (
        "io.k8s.api.apps.v1.Deployment",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "creationTimestamp": None},
            "spec": {
                "replicas": 2**31 - 1,
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
                "template": {"spec": {"containers": [{"name": "m"}], "hostNetwork": True}},
            },
        },
    ),
    (
        "io.k8s.api.batch.v1.Job",
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j", "managedFields": [{"manager": "k", "fieldsV1": {"f:spec": {".": {}}}}]},
            "spec": {"completions": 3, "completionMode": "Indexed"},
        },
    ),
    (
        "io.k8s.api.core.v1.Secret",
        {"apiVersion": "v1", "kind": "Secret", "data": {"bytes": "AP8=", "none": ""}, "immutable": True},
    ),
    (
        "io.k8s.api.coordination.v1.Lease",
        {"apiVersion": "coordination.k8s.io/v1", "spec": {"renewTime": "2026-03-01T09:08:07.000123Z"}},
    ),
]


@pytest.mark.parametrize(("definition", "thing"), [pytest.param(*each, id=each[0]) for each in WORKLOADS])
def test_a_body_is_read_as_the_json_it_stands_for(definition: str, thing: Object) -> None:
    assert read_protobuf(body_of(thing, definition), definition) == thing


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_every_kind_that_is_served_has_its_fields(definition: str) -> None:
    assert reachable(definition)
    assert {each.what for each in reachable(definition) if "." in each.what} <= table().keys()


ALL_FIELDS = [field for definition in table() for field in fields_of(definition)]


def test_fields_are_called_as_json_calls_them() -> None:
    unlike: dict[str, set[str]] = {}
    for definition in table():
        inside_others = any(field.form == "&" and field.what == definition for field in ALL_FIELDS)
        if definition.startswith(NEVER_SENT) or definition in SCALARS or inside_others:
            continue
        json_names = built_in(definition).properties.keys() | {"apiVersion", "kind"}
        names = {each.name for each in reachable(definition)} | {"apiVersion", "kind"}
        if found := names ^ json_names:
            unlike[definition] = found
    assert unlike == {}


# ---- objects of every shape

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
MOMENTS = st.datetimes(timezones=st.just(dt.UTC))
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "s": TEXTS,
    "i": st.integers(-(2**63), 2**63 - 1),
    "b": st.booleans(),
    "d": st.floats(allow_nan=False),
    "y": st.binary(max_size=8).map(lambda data: base64.b64encode(data).decode()),
    QUANTITY: TEXTS,
    NUMBER_OR_TEXT: st.integers(-(2**31), 2**31 - 1) | TEXTS,
    RAW: st.none() | st.dictionaries(TEXTS, TEXTS | st.integers(0, 9), max_size=2),
    f"{META}.FieldsV1": st.dictionaries(TEXTS, TEXTS, max_size=2),
    f"{META}.Time": st.none() | MOMENTS.map(lambda at: f"{at.replace(microsecond=0):%Y-%m-%dT%H:%M:%SZ}".zfill(20)),
    f"{META}.MicroTime": st.none() | MOMENTS.map(lambda at: f"{at:%Y-%m-%dT%H:%M:%S.%fZ}".zfill(27)),
} | dict.fromkeys(LISTS, st.lists(TEXTS, max_size=2))  # fmt: skip


@cache
def values(what: str, depth: int) -> st.SearchStrategy[Any]:
    return SCALARS[what] if what in SCALARS else objects(what, depth)


def of_field(field: Field, depth: int) -> st.SearchStrategy[Any]:
    inside = values(field.what, depth)
    if field.form == "*":
        return st.lists(inside, min_size=1, max_size=2)
    return st.dictionaries(TEXTS, inside, min_size=1, max_size=2) if field.form == "%" else inside


@cache
def objects(definition: str, depth: int) -> st.SearchStrategy[Object]:
    fields = [field for field in reachable(definition) if depth or field.what in SCALARS]
    by_name = {field.name: field for field in fields}

    @st.composite
    def some(draw: st.DrawFn) -> Object:
        names = draw(st.lists(st.sampled_from(sorted(by_name)), max_size=3, unique=True)) if by_name else []
        return {name: draw(of_field(by_name[name], max(0, depth - 1))) for name in names}

    return some()


@given(st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_written_is_read_again(data: st.DataObject) -> None:
    definition = data.draw(st.sampled_from(DEFINITIONS))
    thing = {"apiVersion": "g/v1", "kind": "K"} | data.draw(objects(definition, DEEP))
    assert read_protobuf(body_of(thing, definition), definition) == thing


# ---- what else may come


def is_understood_or_refused(body: bytes, definition: str) -> bool:
    try:
        return bool(json.dumps(read_protobuf(body, definition)))
    except Unreadable as error:
        return bool(str(error))


@given(st.binary(max_size=200), st.sampled_from(DEFINITIONS))
def test_any_bytes_are_an_object_or_unreadable(junk: bytes, definition: str) -> None:
    for body in (junk, b"k8s\x00" + junk, b"k8s\x00" + piece(2, junk)):
        assert is_understood_or_refused(body, definition)


@given(st.data())
def test_a_body_that_was_cut_or_changed_is_an_object_or_unreadable(data: st.DataObject) -> None:
    definition, thing = data.draw(st.sampled_from(WORKLOADS))
    body = bytearray(body_of(thing, definition))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(4, len(body) - 1))] = data.draw(st.integers(0, 255))
    assert is_understood_or_refused(bytes(body[: data.draw(st.integers(0, len(body)))]), definition)


BAD = [
    pytest.param(b"", "does not begin as", id="nothing"),
    pytest.param(b'{"kind": "Pod"}', "does not begin as", id="json"),
    pytest.param(b"k8s\x00\x12\x05a", "longer than the body", id="cut off"),
    pytest.param(b"k8s\x00\x12", "in the middle of a number", id="cut in a number"),
    pytest.param(b"k8s\x00" + b"\xff" * 11, "more than ten bytes", id="endless number"),
    pytest.param(b"k8s\x00\x13", "form 3", id="a group"),
    pytest.param(b"k8s\x00\x0d\x00", "in the middle of a field", id="cut in a fixed number"),
    pytest.param(
        b"k8s\x00" + piece(2, piece(1, piece(1, b"\xff"))), "not UTF-8", id="a name that is no text"
    ),
    pytest.param(b"k8s\x00" + piece(2, piece(1, numeral(1, 5))), "written as a number", id="number for text"),
    pytest.param(b"k8s\x00" + piece(2, piece(1, piece(7, b"5"))), "written as a text", id="text for number"),
    pytest.param(
        b"k8s\x00" + piece(2, piece(1, piece(8, numeral(1, 2**62)))), "beyond all calendars", id="late"
    ),
    pytest.param(
        b"k8s\x00" + piece(2, piece(1, piece(17, piece(7, piece(1, b"["))))), "JSON inside", id="bad json"
    ),
    pytest.param(
        b"k8s\x00" + piece(2, piece(1, piece(17, piece(7, piece(1, b"[" * 100_000))))),
        "JSON inside",
        id="json without a ground",
    ),
]


@pytest.mark.parametrize(("body", "clause"), BAD)
def test_what_is_no_message_is_refused_in_a_clause(body: bytes, clause: str) -> None:
    with pytest.raises(Unreadable, match=clause):
        read_protobuf(body, POD)


def test_a_moment_between_two_calendars_is_refused() -> None:
    late = numeral(1, 253402300799) + numeral(2, 2**62)
    body = b"k8s\x00" + piece(2, piece(2, piece(4, late)))
    with pytest.raises(Unreadable, match="beyond all calendars"):
        read_protobuf(body, "io.k8s.api.coordination.v1.Lease")


def test_fields_of_a_newer_client_are_skipped() -> None:
    thing: Object = {"metadata": {"name": "p"}}
    newer = message(thing, POD) + piece(999, b"from the future") + numeral(998, 7)
    assert read_protobuf(b"k8s\x00" + piece(2, newer), POD) == thing


def test_numbers_in_one_piece_are_read_as_a_list() -> None:
    groups = next(
        each
        for each in reachable("io.k8s.api.core.v1.PodSecurityContext")
        if each.name == "supplementalGroups"
    )
    spec = next(each for each in reachable(POD) if each.name == "spec")
    context = next(each for each in reachable(spec.what) if each.name == "securityContext")
    packed = piece(groups.number, varint(7) + varint(300))
    body = b"k8s\x00" + piece(2, piece(spec.number, piece(context.number, packed)))
    assert read_protobuf(body, POD)["spec"]["securityContext"] == {"supplementalGroups": [7, 300]}


def test_definitions_of_kinds_are_read_in_other_forms_only() -> None:
    with pytest.raises(Unreadable, match="JSON or YAML"):
        read_protobuf(b"k8s\x00", f"{NEVER_SENT}pkg.apis.apiextensions.v1.CustomResourceDefinition")
