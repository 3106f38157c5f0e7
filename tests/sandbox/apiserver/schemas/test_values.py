import re
from collections.abc import Mapping

import pytest

from tangram.sandbox.apiserver.schemas import shape_of_crd, value_faults
from tangram.sandbox.apiserver.schemas.faults import number_text
from tangram.sandbox.apiserver.schemas.formats import fits
from tangram.sandbox.apiserver.schemas.regexes import translated


def told(schema: Mapping[str, object], value: object) -> list[str]:
    shape = shape_of_crd({"type": "object", "properties": {"spec": schema}})
    return [f"{fault.field}: {fault.message}" for fault in value_faults({"spec": value}, shape)]


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        pytest.param("^a$", "a\n", False, id="the end is the end, not the last line break"),
        pytest.param(r"^a\z", "a", True, id="Go's sign for the end"),
        pytest.param(r"^(?<year>\d+)$", "2024", True, id="a named group without P"),
        pytest.param(r"^\d$", "٣", False, id="digits are ASCII"),
        pytest.param("^[[:alpha:]]+$", "abc", True, id="a class by name"),
        pytest.param("^[[:alpha:]]+$", "ab1", False, id="a class by name, and something else"),
        pytest.param("(?i)^abc$", "ABC", True, id="a flag"),
        pytest.param("[$]", "a$", True, id="a dollar in brackets"),
        pytest.param(r"\$$", "a$", True, id="a dollar behind a backslash"),
        pytest.param("b", "abc", True, id="anywhere"),
    ],
)
def test_patterns_mean_what_they_mean_to_go(pattern: str, text: str, matches: bool) -> None:  # noqa: FBT001 - a case
    assert (re.search(translated(pattern), text) is not None) == matches


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        ("date-time", "2024-01-01T00:00:00+01:00", "2024-13-01T00:00:00Z"),
        ("date", "2024-01-01", "20240101"),
        ("ipv4", "10.0.0.1", "::1"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("mac", "00:11:22:33:44:55", "00:11:22:33:44"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("byte", "aGk=", "aGk"),
        ("uri", "https://example.com", "example"),
        ("hostname", "a.example.com", "a b"),
        ("email", "a@example.com", "a@b@c"),
        ("duration", "1h30m", "1x"),
        ("hexcolor", "#fff", "#ffff"),
        ("k8s-short-name", "abc-1", "Abc"),
        ("k8s-long-name", "abc.d", "abc..d"),
    ],
)
def test_a_format_tells_right_from_wrong(form: str, right: str, wrong: str) -> None:
    assert fits(right, form)
    assert not fits(wrong, form)


def test_a_format_nobody_knows_fits_every_text() -> None:
    assert fits("anything", "something")


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (3.0, "3"), (0.5, "0.5"), (1e21, "1e+21"), (1.5e-7, "1.5e-07"), (-2.25, "-2.25")],
)
def test_numbers_are_printed_as_go_prints_them(value: float, text: str) -> None:
    assert number_text(value) == text


def test_true_is_not_one_of_the_numbers() -> None:
    assert told({"type": "integer", "enum": [1]}, value=True)
    assert told({"type": "boolean", "enum": [True]}, value=True) == []


def test_lists_in_lists_name_both_places() -> None:
    schema = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    assert told(schema, [["a"], ["b", 3]]) == [
        'spec[1][1]: Invalid value: "integer": spec[1][1] in body must be of type string: "integer"'
    ]


def test_rules_in_cel_are_not_evaluated() -> None:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": "false", "message": "never"}]}
    assert told(schema, {}) == []


def test_every_fault_is_told_at_once() -> None:
    schema = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer", "minimum": 3},
            "c": {"type": "boolean"},
        },
    }
    assert told(schema, {"b": 1, "c": "x"}) == [
        "spec.b: Invalid value: 1: spec.b in body should be greater than or equal to 3",
        'spec.c: Invalid value: "string": spec.c in body must be of type boolean: "string"',
        "spec.a: Required value",
    ]
