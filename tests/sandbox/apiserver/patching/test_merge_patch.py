import copy
from typing import Any, TypeGuard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.apiserver.patching import apply_merge_patch
from tangram.sandbox.apiserver.refusals import Refused

KEYS = st.text("abc", min_size=1, max_size=2)
VALUES = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


def is_map(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def difference(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The merge patch from one document to the other."""
    patch: dict[str, Any] = {key: None for key in one if key not in other}
    for key, value in other.items():
        held = one.get(key)
        if is_map(held) and is_map(value):
            patch[key] = difference(held, value)
        elif key not in one or held != value or type(held) is not type(value):
            patch[key] = value
    return patch


@given(DOCUMENTS, DOCUMENTS)
def test_the_difference_of_two_documents_makes_one_of_the_other(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    kept, patch = copy.deepcopy(one), difference(one, other)
    assert apply_merge_patch(one, patch) == other
    assert one == kept, "what is given is not changed"


@given(DOCUMENTS, DOCUMENTS)
def test_a_patch_applied_twice_changes_nothing_more(document: dict[str, Any], patch: dict[str, Any]) -> None:
    once = apply_merge_patch(document, patch)
    assert apply_merge_patch(once, patch) == once


EMPTY: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("change", "end"),
    [
        pytest.param({"a": None, "z": None}, {"l": [1]}, id="null deletes, also what is not there"),
        pytest.param(
            {"n": {"x": None, "y": {"z": None}}},
            {"a": {"b": 1}, "l": [1], "n": {"y": {}}},
            id="no nulls in new maps",
        ),
        pytest.param(
            {"l": [{"x": None}]}, {"a": {"b": 1}, "l": [EMPTY]}, id="nor in lists that replace a list"
        ),
        pytest.param(
            {"a": [{"x": None}]}, {"a": [{"x": None}], "l": [1]}, id="but in lists that replace a map"
        ),
        pytest.param({"l": {"x": 1}}, {"a": {"b": 1}, "l": {"x": 1}}, id="a map for a list"),
        pytest.param({}, {"a": {"b": 1}, "l": [1]}, id="nothing"),
    ],
)
def test_nulls_go_and_the_rest_is_merged(change: object, end: object) -> None:
    assert apply_merge_patch({"a": {"b": 1}, "l": [1]}, change) == end


@pytest.mark.parametrize("change", [None, [], "text", 1, True])
def test_what_is_no_object_is_a_bad_request(change: object) -> None:
    with pytest.raises(Refused) as refused:
        apply_merge_patch({}, change)
    assert refused.value.code == 400
