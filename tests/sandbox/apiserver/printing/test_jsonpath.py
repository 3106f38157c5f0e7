"""Paths of columns: what they find, and which are none."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.apiserver.printing.jsonpath import PathError, parse

THING: dict[str, Any] = {
    "spec": {
        "name": "a",
        "count": 3,
        "share": 0.5,
        "none": None,
        "sides": ["n", "e", "s", "w"],
        "dotted.key": "d",
        "parts": [
            {"name": "one", "weight": 1, "on": True},
            {"name": "two", "weight": 2, "on": False, "twin": 2},
            {"name": "three", "weight": 3},
        ],
    }
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".spec.name", ["a"], id="field"),
        pytest.param("$.spec.name", ["a"], id="from the root"),
        pytest.param(".spec.missing.deeper", [], id="missing"),
        pytest.param(".spec.none", [None], id="null"),
        pytest.param(".spec.none.deeper", [], id="below null"),
        pytest.param(".spec.name.deeper", [], id="below a text"),
        pytest.param(".", [], id="a dot"),
        pytest.param(r".spec.dotted\.key", ["d"], id="escaped dot"),
        pytest.param(r".spec['dotted\.key']", ["d"], id="quoted key"),
        pytest.param(".spec['name']", ["a"], id="key in brackets"),
        pytest.param(".spec.sides[0]", ["n"], id="index"),
        pytest.param(".spec.sides[-1]", ["w"], id="from the end"),
        pytest.param(".spec.sides[-2]", ["s"], id="last but one"),
        pytest.param(".spec.sides[1:3]", ["e", "s"], id="range"),
        pytest.param(".spec.sides[2:]", ["s", "w"], id="to the end"),
        pytest.param(".spec.sides[:2]", ["n", "e"], id="from the start"),
        pytest.param(".spec.sides[:-1]", ["n", "e", "s"], id="without the last"),
        pytest.param(".spec.sides[::2]", ["n", "s"], id="every other"),
        pytest.param(".spec.sides[1:1]", [], id="no elements"),
        pytest.param(".spec.sides[*]", ["n", "e", "s", "w"], id="all elements"),
        pytest.param(".spec.sides[2,0]", ["s", "n"], id="union"),
        pytest.param(".spec.parts[*].name", ["one", "two", "three"], id="field of all"),
        pytest.param(".spec.parts[0].*", ["one", 1, True], id="all fields"),
        pytest.param("..weight", [1, 2, 3], id="descent"),
        pytest.param('.spec.parts[?(@.name=="two")].weight', [2], id="filter by text"),
        pytest.param(".spec.parts[?(@.name=='two')].weight", [2], id="filter by text in single quotes"),
        pytest.param('.spec.parts[?(@.name!="two")].weight', [1, 3], id="filter by another text"),
        pytest.param(".spec.parts[?(@.weight>1)].name", ["two", "three"], id="greater"),
        pytest.param(".spec.parts[?(@.weight>=2)].name", ["two", "three"], id="at least"),
        pytest.param(".spec.parts[?(@.weight<2)].name", ["one"], id="less"),
        pytest.param(".spec.parts[?(@.weight<=2)].name", ["one", "two"], id="at most"),
        pytest.param(".spec.parts[?(@.on==true)].name", ["one"], id="truth"),
        pytest.param(".spec.parts[?(@.on)].name", ["one", "two"], id="is there"),
        pytest.param(".spec.parts[?(@.weight==@.twin)].name", ["two"], id="two fields"),
        pytest.param('.spec.parts[?(@.name==")]")].name', [], id="brackets in quotes"),
        pytest.param(r'.spec.parts[?(@.name=="\"two")].name', [], id="escaped quote"),
    ],
)
def test_a_path_finds_what_it_names(path: str, found: list[object]) -> None:
    assert parse(path).find(THING) == found


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".spec.sides[9]", id="beyond the end"),
        pytest.param(".spec.sides[-9]", id="before the start"),
        pytest.param(".spec.sides[3:1]", id="backwards"),
        pytest.param(".spec.sides[0:2:0]", id="without moving"),
        pytest.param(".spec.name[0]", id="element of a text"),
        pytest.param(".spec[0]", id="element of an object"),
        pytest.param('.spec[?(@.name=="a")]', id="filter of an object"),
        pytest.param('.spec.parts[?(@.weight=="2")].name', id="number and text"),
        pytest.param(".spec.parts[?(@.weight==2.0)].name", id="whole number and fraction"),
        pytest.param(".spec.parts[?(@.on>false)].name", id="order of truths"),
        pytest.param(".spec.parts[?(@.weight=>1)].name", id="a sign nobody knows"),
        pytest.param(".spec.parts[?(@.*==1)].name", id="several values at once"),
    ],
)
def test_a_path_that_cannot_be_followed_says_so(path: str) -> None:
    read = parse(path)
    with pytest.raises(PathError):
        read.find(THING)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".spec.sides[", id="open bracket"),
        pytest.param(".spec.sides[a]", id="a word for an index"),
        pytest.param(".spec.sides[-]", id="a sign for an index"),
        pytest.param(f".spec.sides[{'9' * 5000}]", id="an index of five thousand digits"),
        pytest.param(".spec.sides[?(@.a", id="open filter"),
        pytest.param("{.spec}", id="template"),
        pytest.param("range .spec", id="word"),
        pytest.param("1.2.3", id="no number"),
    ],
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        parse(path)


@given(st.text(alphabet=".[]*?()@$'\"\\=!<>:,0123456789-abc ", max_size=30))
def test_no_text_is_too_odd_for_a_path(path: str) -> None:
    with suppress(PathError):
        parse(path).find(THING)
