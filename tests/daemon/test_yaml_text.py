"""YAML that is not what it says it is: a sentence with a place, never an error of the library's own."""

import pytest

from tangram.daemon.yaml_text import UnreadableYaml, parse_document


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
