"""YAML that is not what it says it is: a sentence with a place, never an error of the library's own."""

import pytest

from tangram.daemon.yaml_text import MOST_DEPTH, UnreadableYaml, line_too_deep, line_too_many, parse_document


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("a: !!int", "line 1, column 4: '' is no int", id="an empty number"),
        pytest.param("a: !!int '_'", "line 1, column 4: '_' is no int", id="a number of nothing but gaps"),
        pytest.param("\n!!float ''", "line 2, column 1: '' is no float", id="an empty fraction"),
        pytest.param("!!bool perhaps", "line 1, column 1: 'perhaps' is no bool", id="neither yes nor no"),
        pytest.param("!!map [a]", "line 1, column 1: a sequence stands for a map", id="a list called a map"),
        pytest.param("!!map a", "line 1, column 1: a scalar stands for a map", id="a word called a map"),
    ],
)
def test_a_value_that_belies_its_tag_is_refused_where_it_stands(text: str, told: str) -> None:
    with pytest.raises(UnreadableYaml) as refused:
        parse_document(text)
    assert str(refused.value) == told


def test_numbers_and_truth_values_are_read_as_before() -> None:
    assert parse_document("a: 1\nb: -0x1f\nc: 2.5\nd: yes\ne: !!int '7'") == {
        "a": 1,
        "b": -31,
        "c": 2.5,
        "d": True,
        "e": 7,
    }


def test_nothing_is_counted_by_sixties() -> None:
    """Kubernetes reads such a word as text; made a number, one of a mebibyte would take minutes."""
    assert parse_document("a: 22:22\nb: !!int '1:00'\nc: -1:30.5\n7:30: d") == {
        "a": "22:22",
        "b": "1:00",
        "c": "-1:30.5",
        "7:30": "d",
    }


def test_values_are_counted_before_they_are_made() -> None:
    text = "a: 1\nb: [2, *x, {c: d}]\n"
    assert line_too_many(text, 10) is None
    assert line_too_many(text, 9) == 2
    assert line_too_many(text, 0) == 1


def test_what_is_too_deep_is_not_looked_at_to_its_end() -> None:
    """At its end there is an error, which would be raised."""
    text = "[" * (MOST_DEPTH + 1) + "}"
    assert line_too_many(text, 10 * MOST_DEPTH) is None
    assert line_too_deep(text) == 1


def test_what_is_merged_and_overridden_is_no_key_that_stands_twice() -> None:
    """The innermost map is merged elsewhere before it is itself made."""
    text = "b: &b {x: 1, y: 3}\na: {z: {inner: &d {<<: *b, x: 2}}}\nc: {<<: *d, y: 4}\n"
    assert parse_document(text) == {
        "b": {"x": 1, "y": 3},
        "a": {"z": {"inner": {"x": 2, "y": 3}}},
        "c": {"x": 2, "y": 4},
    }


def test_a_key_that_stands_twice_is_told_where_its_map_is_merged_too() -> None:
    with pytest.raises(UnreadableYaml, match="line 1, column 26: key 'x' stands twice in one map"):
        parse_document("a: {z: {inner: &d {x: 1, x: 2}}}\nc: {<<: *d}\n")


def test_maps_that_merge_each_other_many_times_stay_small() -> None:
    lines = ["m0: &m0 {x: 1}"]
    for step in range(1, 30):
        before = ", ".join([f"*m{step - 1}"] * 10)
        lines.append(f"m{step}: &m{step} {{<<: [{before}]}}")
    document = parse_document("\n".join(lines))
    assert isinstance(document, dict)
    assert document["m29"] == {"x": 1}
