import math

import pytest

from tangram.wire import loose


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7),
        (7.0, 7),
        ("7", 7),
        (" -7\n", -7),
        ("7\x1f", 7),
        ("+7", 7),
        (True, None),
        (7.5, None),
        (math.nan, None),
        (math.inf, None),
        ("7.0", None),
        ("1_000", None),
        ("٣", None),
        ("", None),
        ("9" * 20, None),
        ([7], None),
        (None, None),
    ],
)
def test_whole_numbers_are_read_in_every_spelling_json_and_yaml_give_them(
    value: object, number: int | None
) -> None:
    assert loose.integer(value) == number


@pytest.mark.parametrize(
    ("value", "truth"),
    [(True, True), ("true", True), (" False ", False), (1, None), ("yes", None), (None, None)],
)
def test_truth_is_only_what_says_so(value: object, *, truth: bool | None) -> None:
    assert loose.flag(value) is truth


@pytest.mark.parametrize("value", [None, [], "x", 7, {1: "a"}, {"a": None}, {"a": {}}])
def test_what_is_no_map_of_scalars_is_an_empty_one(value: object) -> None:
    assert loose.text_map(value) == {}


def test_scalars_in_maps_become_text() -> None:
    assert loose.text_map({"a": 1, "b": True, "c": 2.50, "d": "x"}) == {
        "a": "1",
        "b": "true",
        "c": "2.5",
        "d": "x",
    }


def test_shapes_that_are_not_there_are_empty() -> None:
    assert loose.members("x") == {}
    assert loose.elements({"a": 1}) == []
    assert loose.elements((1, 2)) == [1, 2]
    assert loose.text(7, "otherwise") == "otherwise"
    assert loose.scalar_text([]) is None
