"""A difference is enough to make the second of the first, and says nothing where nothing differs."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.charts.differences import SAME, applied, difference

WORDS = st.text("abc\n", max_size=12)
TREES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["name", "a", "b", "c", "d"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(TREES, TREES)
def test_a_difference_makes_the_second_of_the_first(was: object, now: object) -> None:
    differing = difference(was, now)
    assert json.dumps(applied(was, differing), sort_keys=True) == json.dumps(now, sort_keys=True)


@given(TREES)
def test_what_is_the_same_differs_in_nothing(tree: object) -> None:
    assert difference(tree, json.loads(json.dumps(tree))) is SAME


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": {"was": 2, "is": 3}}, id="a leaf"),
        pytest.param({"a": 1}, {"b": 1}, {"a": {"was": 1}, "b": {"is": 1}}, id="a key for another"),
        pytest.param(
            [{"name": "x", "v": 1}, {"name": "y", "v": 1}],
            [{"name": "y", "v": 2}],
            {"removed 0": {"name": "x", "v": 1}, "at 1": {"v": {"was": 1, "is": 2}}},
            id="an element is known by its name",
        ),
        pytest.param(
            "a\nb\nc\nd\ne\n",
            "a\nb\nx\nd\ne\n",
            {"lines": {"at 2": {"was": "c", "is": "x"}}},
            id="a line",
        ),
    ],
)
def test_a_difference_is_short(was: object, now: object, told: object) -> None:
    assert difference(was, now) == told


def test_a_difference_of_something_else_is_refused() -> None:
    differing = difference({"a": [1, 2]}, {"a": [1, 3]})
    with pytest.raises(AssertionError):
        applied({"a": [1, 4]}, differing)
