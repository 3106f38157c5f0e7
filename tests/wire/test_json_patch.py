"""A change and its JSON patch are the same change."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.reviews import patched
from tangram.wire.errors import WireError
from tangram.wire.json_patch import pointer, put, remove

Object = dict[str, Any]
KEYS = st.sampled_from(["a", "b", "x.com/y", "til~de", "~1", "/", ""])
PATHS = st.lists(KEYS, min_size=1, max_size=4)
DOCUMENTS = st.recursive(
    st.none() | st.text(max_size=3),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
).map(lambda drawn: drawn if isinstance(drawn, dict) else {})


def test_slashes_and_tildes_in_a_key_are_escaped() -> None:
    assert pointer(("metadata", "annotations", "a/b~c")) == "/metadata/annotations/a~1b~0c"


@given(DOCUMENTS, PATHS, st.text(max_size=3))
def test_a_value_is_put_by_the_patch_as_it_is_put_here(document: Object, path: list[str], value: str) -> None:
    before = copy.deepcopy(document)
    try:
        operations = put(document, path, value)
    except WireError:
        return
    assert patched(before, operations) == document
    place: Any = document
    for step in path:
        place = place[step]
    assert place == value
    assert put(document, path, value) == [], "done twice it changes nothing"


@given(DOCUMENTS, PATHS)
def test_a_value_is_removed_by_the_patch_as_it_is_removed_here(document: Object, path: list[str]) -> None:
    before = copy.deepcopy(document)
    try:
        operations = remove(document, path)
    except WireError:
        return
    assert patched(before, operations) == document
    assert remove(document, path) == []


def test_missing_maps_are_made_one_after_the_other() -> None:
    document: Object = {"spec": {"containers": [{"name": "main"}]}}
    operations = put(document, ("spec", "containers", 0, "resources", "limits", "x.com/y"), "1")
    assert [each["path"] for each in operations] == [
        "/spec/containers/0/resources",
        "/spec/containers/0/resources/limits",
        "/spec/containers/0/resources/limits/x.com~1y",
    ]
    assert document["spec"]["containers"][0]["resources"] == {"limits": {"x.com/y": "1"}}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        pytest.param({"metadata": ["a"]}, ("metadata", "annotations", "k"), id="a list for a map"),
        pytest.param({"metadata": {"annotations": "text"}}, ("metadata", "annotations", "k"), id="a text"),
        pytest.param({"spec": {"containers": []}}, ("spec", "containers", 0, "k"), id="no such element"),
        pytest.param({"spec": {"containers": {}}}, ("spec", "containers", 0, "k"), id="a map for a list"),
    ],
)
def test_what_stands_in_the_way_is_told(document: Object, path: tuple[str | int, ...]) -> None:
    for change in (lambda: put(document, path, "v"), lambda: remove(document, path)):
        with pytest.raises(WireError, match="stands in its way"):
            change()
