"""What is written is read back as the same, and by other readers too."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tangram.web.reporting.yaml_writing import yaml_text

_CHARACTERS = st.characters(exclude_categories=["Cs"])
_WORDS = st.one_of(
    st.text(_CHARACTERS, max_size=20),
    st.text("abc :#-'\"\n\t|>[]{}&*!%@`,?=~0123456789.eE_xo", max_size=20),
    st.sampled_from(["yes", "y", "1e3", "0x1F", "012", "1_000", "~", "null", "16Gi", "12:30", "-", "---"]),
)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), _WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_WORDS, inner, max_size=4)),
    max_leaves=15,
)


@given(st.dictionaries(_WORDS, _VALUES, max_size=5))
def test_whatever_is_written_comes_back(value: dict[str, object]) -> None:
    assert yaml.safe_load(yaml_text(value)) == value


@given(st.lists(st.text(max_size=3), max_size=3))
def test_nothing_is_an_alias(shared: list[str]) -> None:
    assert "&" not in yaml_text({"a": [shared], "b": [shared]}).replace("'&", "") or "&" in "".join(shared)


@pytest.mark.parametrize(
    "text", ["1e3", "0o17", "y", "No", "off", "1:30", "0b1", "+1", ".5", ".inf", "2026-11-17", ""]
)
def test_what_other_readers_take_for_something_else_is_quoted(text: str) -> None:
    assert yaml_text({"a": text}) == f"a: '{text}'\n"


@pytest.mark.parametrize("text", ["main", "16Gi", "registry.example.com/train:1", "sleep 3600", "/data"])
def test_what_everybody_reads_alike_stays_plain(text: str) -> None:
    assert yaml_text({"a": text}) == f"a: {text}\n"


def test_scripts_stay_readable() -> None:
    assert yaml_text({"args": ["echo a\n  b"]}) == "args:\n  - |-\n    echo a\n      b\n"
