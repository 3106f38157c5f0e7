import json
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.schemas import read_json, read_yaml

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


def attempt(
    read: Callable[[bytes, str], tuple[Object, list[str]]], text: bytes
) -> tuple[Object, Refused | None]:
    try:
        return read(text, "Pod")[0], None
    except Refused as refused:
        return {}, refused


@given(OBJECTS)
def test_what_is_json_is_read_as_json(thing: dict[str, object]) -> None:
    assert read_json(json.dumps(thing).encode()) == (thing, [])


@given(OBJECTS)
def test_json_is_read_the_same_when_it_is_called_yaml(thing: dict[str, object]) -> None:
    assert read_yaml(json.dumps(thing).encode()) == (thing, [])


@given(st.binary(max_size=30) | st.text(alphabet='{}[]":,\\ ua01eE-.\n', max_size=20).map(str.encode))
@example(b'{"a":"\\')
@example(b'{"a":1,}')
@example(b'{"a":[1,]}')
@example(b"\xff\xfe")
@example(b"a: !!int")
@example(b"a: !!bool x")
@example(b"!!map [a]")
def test_any_bytes_are_an_object_or_refused_in_a_sentence(text: bytes) -> None:
    for read in (read_json, read_yaml):
        thing, refusal = attempt(read, text)
        if refusal is None:
            json.dumps(thing, ensure_ascii=False).encode()
        else:
            assert refusal.code == 400
            assert str(refusal).startswith("the object provided is unrecognized (must be of type Pod): ")


def test_half_a_letter_becomes_one_that_can_be_sent_on() -> None:
    thing, _ = read_json(b'{"a\\ud800":{"b":["\\udc00x","\\ud83d\\ude00"]}}')
    assert thing == {"a\ufffd": {"b": ["\ufffdx", "\U0001f600"]}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'{"a":' * 500 + b"1" + b"}" * 500, id="objects"),
        pytest.param(b'{"a":' + b"[" * 100_000, id="lists without an end"),
    ],
)
def test_nesting_has_an_end(text: bytes) -> None:
    for read in (read_json, read_yaml):
        with pytest.raises(Refused, match=r"max depth|nested more than 200 deep"):
            read(text)


def test_a_number_with_thousands_of_digits_is_refused() -> None:
    with pytest.raises(Refused, match="thousands of digits"):
        read_json(b'{"a":' + b"9" * 5000 + b"}")


def test_a_number_beyond_all_measure_is_refused() -> None:
    with pytest.raises(Refused, match="cannot unmarshal number 1e999"):
        read_json(b'{"a":1e999}')


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(Refused, match="document contains excessive aliasing"):
        read_yaml("\n".join(lines).encode())


def test_an_alias_is_a_copy() -> None:
    thing, _ = read_yaml(b"a: &x {b: 1}\nc: *x\n")
    thing["a"]["b"] = 2
    assert thing["c"] == {"b": 1}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("0644", 420), ("0o17", 15), ("0x1f", 31), ("0b101", 5), ("1_000", 1000), ("-5", -5), ("+5", 5),
        ("1e3", 1000.0),
        ("1.5", 1.5), (".5", 0.5), ("12:30", "12:30"), ("2024-01-31", "2024-01-31"), ("10.0.0.1", "10.0.0.1"),
        ("1.2.3", "1.2.3"), ("089", 89.0), ("yes", True), ("Off", False), ("~", None), ("null", None), ("'yes'", "yes"),
        ('"1"', "1"), ("nothing", "nothing"), ("18446744073709551615", 2**64 - 1),
    ],
)  # fmt: skip
def test_plain_words_mean_what_they_mean_to_kubernetes(word: str, value: object) -> None:
    thing, _ = read_yaml(f"a: {word}\n".encode())
    assert thing == {"a": value}
    assert type(thing["a"]) is type(value)


def test_several_documents_are_not_one() -> None:
    with pytest.raises(Refused, match="expected a single document"):
        read_yaml(b"---\na: 1\n---\nb: 2\n")


def test_python_is_not_built_from_yaml() -> None:
    with pytest.raises(Refused, match="could not determine a constructor"):
        read_yaml(b"a: !!python/object/apply:os.getcwd []\n")


def test_a_body_of_null_is_an_empty_object() -> None:
    assert read_json(b"null") == ({}, [])
