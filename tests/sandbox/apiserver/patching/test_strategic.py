import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.sandbox.apiserver.patching import apply_strategic
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.shape import Shape

TEXT = Shape(type="string")
LABELS = Shape(type="object", values=TEXT)
ITEM = Shape(type="object", properties={"name": TEXT, "value": TEXT, "labels": LABELS}, definition="x.Item")
BY_NAME = Shape(type="array", items=ITEM, merge_key="name", strategies=frozenset({"merge"}))
SHAPE = Shape(
    type="object",
    definition="x.Thing",
    properties={
        "items": BY_NAME,
        "names": Shape(type="array", items=TEXT, strategies=frozenset({"merge"})),
        "whole": Shape(type="array", items=TEXT),
        "labels": LABELS,
        "fixed": Shape(type="object", properties={"a": TEXT, "b": TEXT}, strategies=frozenset({"replace"})),
        "nested": Shape(type="object", values=Shape(type="object", values=TEXT)),
        "keyless": Shape(type="array", items=ITEM, strategies=frozenset({"merge"})),
    },
)
EMPTY: dict[str, Any] = {}
NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


def named(*names: str, **fields: str) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in names]


def order(thing: dict[str, Any]) -> str:
    return "".join(item["name"] for item in thing["items"])


@given(NAMES, NAMES)
def test_elements_of_the_patch_keep_its_order_and_the_others_keep_theirs(
    old: list[str], new: list[str]
) -> None:
    start = {"items": named(*old, value="old")}
    kept = copy.deepcopy(start)
    made = order(apply_strategic(start, {"items": named(*new)}, SHAPE))
    assert sorted(made) == sorted({*old, *new})
    assert [name for name in made if name in new] == new
    assert [name for name in made if name not in new] == [name for name in old if name not in new]
    assert start == kept, "what is given is not changed"


@given(NAMES, NAMES)
def test_sets_are_joined_in_the_order_of_the_patch_and_once_each(old: list[str], new: list[str]) -> None:
    made = apply_strategic({"names": old}, {"names": new}, SHAPE)["names"]
    assert sorted(made) == sorted({*old, *new})
    assert [name for name in made if name in new] == new


@given(NAMES.filter(bool), st.permutations("abcdef"))
def test_an_order_alone_moves_elements_and_changes_none(old: list[str], wanted: list[str]) -> None:
    start = {"items": named(*old, value="old")}
    asked = [name for name in wanted if name in old]
    made = apply_strategic(start, {"$setElementOrder/items": named(*asked)}, SHAPE)
    assert [item["name"] for item in made["items"]] == asked
    assert sorted(made["items"], key=lambda item: item["name"]) == sorted(
        start["items"], key=lambda item: item["name"]
    )


@given(NAMES, NAMES)
def test_deleting_from_a_set_leaves_the_others_where_they_are(old: list[str], gone: list[str]) -> None:
    made = apply_strategic({"names": old}, {"$deleteFromPrimitiveList/names": gone}, SHAPE)
    assert made["names"] == [name for name in old if name not in gone]


@pytest.mark.parametrize(
    ("start", "change", "end"),
    [
        pytest.param(
            {"items": named("a", value="1")},
            {"items": [{"name": "a", "labels": {"x": "1"}}]},
            {"items": [{"name": "a", "value": "1", "labels": {"x": "1"}}]},
            id="merged by key",
        ),
        pytest.param(
            {"items": named("a", "b")},
            {"items": [{"name": "a", "$patch": "replace", "value": "2"}]},
            {"items": []},
            id="a replacing element is no element",
        ),
        pytest.param(
            {"items": named("a", "b", "a")},
            {"items": [{"name": "a", "$patch": "delete"}]},
            {"items": named("b")},
            id="every match is deleted",
        ),
        pytest.param(
            {"items": named("a", value="1")},
            {"items": [{"name": "a", "value": None}]},
            {"items": named("a")},
            id="null in an element",
        ),
        pytest.param(
            {"whole": ["a", "b"]}, {"whole": ["c"]}, {"whole": ["c"]}, id="a list without a strategy"
        ),
        pytest.param(
            {"fixed": {"a": "1"}}, {"fixed": {"b": "2"}}, {"fixed": {"b": "2"}}, id="a map that is replaced"
        ),
        pytest.param(
            {}, {"labels": {"a": "1", "b": None}}, {"labels": {"a": "1"}}, id="nulls in what is new"
        ),
        pytest.param(
            {},
            {"items": [{"name": "a", "$patch": "delete"}, {"name": "b"}]},
            {"items": named("b")},
            id="directives in what is new",
        ),
        pytest.param(
            {},
            {"$setElementOrder/items": named("b", "a"), "items": named("b", "a")},
            {"items": named("b", "a")},
            id="order of what is new",
        ),
        pytest.param({}, {"$setElementOrder/items": named("b")}, {}, id="order of nothing"),
        pytest.param(
            {"names": ["a"]}, {"$deleteFromPrimitiveList/names": None}, {}, id="delete from with null"
        ),
        pytest.param({}, {"$deleteFromPrimitiveList/names": ["a"]}, {}, id="delete from what is not there"),
        pytest.param(
            {"labels": {"a": "1"}},
            {"$retainKeys": ["names"], "names": ["x"]},
            {"names": ["x"]},
            id="retain keys",
        ),
        pytest.param({"labels": {"a": "1"}}, {"labels": ["a"]}, {"labels": ["a"]}, id="another type"),
        pytest.param({"a": 1}, {"$patch": "delete"}, {}, id="delete everything"),
    ],
)
def test_a_patch_does_what_it_says(start: dict[str, Any], change: object, end: object) -> None:
    assert apply_strategic(start, change, SHAPE) == end


@pytest.mark.parametrize(
    ("start", "change", "code", "words"),
    [
        pytest.param({}, [], 400, "cannot unmarshal array", id="no object"),
        pytest.param(
            {"keyless": named("a")},
            {"keyless": named("a")},
            500,
            "cannot merge lists without merge key",
            id="no merge key known",
        ),
        pytest.param(
            {"items": named("a")},
            {"items": [EMPTY]},
            500,
            "does not contain declared merge key: name",
            id="no key",
        ),
        pytest.param(
            {"items": named("a")}, {"items": ["a"]}, 500, "list element types are not identical", id="mixed"
        ),
        pytest.param(
            {"names": ["a"]},
            {"names": [None]},
            500,
            "list element types are not identical",
            id="null element",
        ),
        pytest.param(
            {"items": named("a")},
            {"$setElementOrder/items": ["a"]},
            400,
            "setElementOrder",
            id="order of texts",
        ),
        pytest.param(
            {"items": "a"},
            {"$setElementOrder/items": named("a")},
            500,
            "but received a string",
            id="order of a text",
        ),
        pytest.param(
            {"items": []},
            {"$setElementOrder/items": named("a")},
            500,
            "no elements",
            id="order of no elements",
        ),
        pytest.param(
            {"items": named("a")},
            {"$setElementOrder/items": named("a"), "items": ["a"]},
            500,
            "expected a map",
            id="order of other things",
        ),
        pytest.param(
            {"nested": {"a": {"b": "1"}}},
            {"nested": {"a": {"b": "2"}}},
            500,
            "data type is not struct",
            id="a map of maps",
        ),
        pytest.param(
            {"typo": {"a": {}}},
            {"typo": {"a": {}}},
            500,
            'struct Thing for the json field "typo"',
            id="unknown field",
        ),
    ],
)
def test_what_is_no_patch_of_this_object_is_refused(
    start: dict[str, Any], change: object, code: int, words: str
) -> None:
    with pytest.raises(Refused) as refused:
        apply_strategic(start, change, SHAPE)
    assert refused.value.code == code
    assert words in str(refused.value)
