import copy
from typing import Any, TypeGuard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.apiserver.patching import apply_json_patch
from tangram.sandbox.apiserver.patching.json_patch import MOST_OPERATIONS
from tangram.sandbox.apiserver.refusals import Refused

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/~-", max_size=3)
KEYS = st.text("ab/~0-", max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


def escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def is_map(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def patch_between(one: dict[str, Any], other: dict[str, Any], path: str = "") -> list[dict[str, Any]]:
    """A patch that makes one document of the other, made by somebody who has never seen our code."""
    operations = [{"op": "remove", "path": f"{path}/{escaped(key)}"} for key in one if key not in other]
    for key, value in other.items():
        place = f"{path}/{escaped(key)}"
        held = one.get(key)
        if is_map(held) and is_map(value):
            operations += patch_between(held, value, place)
        else:
            operations.append({"op": "add", "path": place, "value": value})
    return operations


@given(DOCUMENTS, DOCUMENTS)
def test_a_patch_between_two_documents_makes_one_of_the_other(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    kept = copy.deepcopy(one)
    assert apply_json_patch(one, patch_between(one, other)) == other
    assert one == kept, "what is given is not changed"


@given(DOCUMENTS, KEYS, VALUES)
def test_what_was_added_tests_true_moves_there_and_back_and_can_be_removed(
    document: dict[str, Any], key: str, value: object
) -> None:
    place, elsewhere = f"/{escaped(key)}", "/somewhere else"
    there_and_back = [
        {"op": "add", "path": place, "value": value},
        {"op": "test", "path": place, "value": value},
        {"op": "copy", "from": place, "path": elsewhere},
        {"op": "test", "path": elsewhere, "value": value},
        {"op": "remove", "path": place},
        {"op": "move", "from": elsewhere, "path": place},
    ]
    assert apply_json_patch(document, there_and_back) == {**document, key: value}


@given(
    DOCUMENTS,
    st.lists(
        st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "remove", "replace", "test", "move", "copy"]),
                "path": st.text("/ab01-~", max_size=5),
                "from": st.text("/ab01-~", max_size=5),
                "value": VALUES,
            }
        ),
        max_size=4,
    ),
)
def test_any_patch_is_applied_or_refused_in_words(document: dict[str, Any], operations: list[Any]) -> None:
    code = 0
    try:
        patched: object = apply_json_patch(document, operations)
    except Refused as refused:
        patched, code = {}, refused.code
    assert isinstance(patched, dict)
    assert code in (0, 422)


def test_a_copy_is_no_second_name_for_the_same_thing() -> None:
    patched = apply_json_patch(
        {"a": {"list": [1]}},
        [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/b/list/-", "value": 2}],
    )
    assert patched == {"a": {"list": [1]}, "b": {"list": [1, 2]}}


def test_a_value_of_the_patch_is_not_changed_by_later_operations() -> None:
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/a", "value": []},
        {"op": "add", "path": "/a/-", "value": 1},
    ]
    assert apply_json_patch({}, operations) == {"a": [1]}
    assert operations[0]["value"] == []


@pytest.mark.parametrize(
    ("operation", "end"),
    [
        pytest.param({"op": "replace", "path": "", "value": {"b": 1}}, {"b": 1}, id="the whole document"),
        pytest.param(
            {"op": "test", "path": "", "value": {"list": [1, 2]}}, {"list": [1, 2]}, id="test of the whole"
        ),
        pytest.param({"op": "add", "path": "/list/-1", "value": 0}, {"list": [1, 2, 0]}, id="negative index"),
        pytest.param(
            {"op": "add", "path": "/list/+1", "value": 0}, {"list": [1, 0, 2]}, id="index with a sign"
        ),
        pytest.param(
            {"op": "replace", "path": "/list/-1", "value": 0}, {"list": [1, 0]}, id="replace the last"
        ),
        pytest.param(
            {"op": "copy", "from": "/none", "path": "/a"}, {"list": [1, 2], "a": None}, id="copy nothing"
        ),
        pytest.param({"op": "add", "path": "/a"}, {"list": [1, 2], "a": None}, id="no value is null"),
    ],
)
def test_the_liberties_of_the_real_server_are_taken(operation: object, end: object) -> None:
    assert apply_json_patch({"list": [1, 2]}, [operation]) == end


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "replace", "path": "", "value": [1]}, id="a list for an object"),
        pytest.param({"op": "add", "path": "/list/3", "value": 0}, id="behind the end"),
        pytest.param({"op": "add", "path": "/list/-4", "value": 0}, id="before the beginning"),
        pytest.param({"op": "add", "path": "/list/one", "value": 0}, id="an index that is no number"),
        pytest.param({"op": "replace", "path": "/list/-", "value": 0}, id="replace behind the end"),
        pytest.param({"op": "add", "path": "list", "value": 0}, id="a path without a slash"),
        pytest.param({"op": "add", "path": "", "value": {}}, id="add to nothing"),
        pytest.param({"op": "add", "path": "/list/0/x", "value": {}}, id="below a number"),
        pytest.param({"op": "test", "path": "/list", "value": [1, True]}, id="true is not one"),
        pytest.param({"op": "move", "path": "/a"}, id="from nowhere"),
        pytest.param({"path": "/a"}, id="no operation"),
    ],
)
def test_what_does_not_apply_is_refused_without_detail(operation: object) -> None:
    with pytest.raises(Refused) as refused:
        apply_json_patch({"list": [1, 2]}, [operation])
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server rejected our request due to an error in our request",
        "reason": "Invalid",
        "details": {},
        "code": 422,
    }


def test_ten_thousand_operations_are_enough_for_everybody() -> None:
    operation = {"op": "add", "path": "/a", "value": 1}
    assert apply_json_patch({}, [operation] * MOST_OPERATIONS) == {"a": 1}
    with pytest.raises(
        Refused, match="The allowed maximum operations in a JSON patch is 10000, got 10001"
    ) as refused:
        apply_json_patch({}, [operation] * (MOST_OPERATIONS + 1))
    assert (refused.value.code, refused.value.reason) == (413, "RequestEntityTooLarge")
