"""Label values that Kubernetes takes, whatever a library says, and patches that touch nothing of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.units.ids import is_label_value
from tangram.units.memory import GIB, MIB, Bytes
from tangram.units.na import NA
from tangram.wire.node_labels import commonest, label_changes, legal_value, memory_value, version_labels

WORDS = st.sampled_from(["ours/a", "ours/b", "theirs/a", "theirs/b"])
LABELS = st.dictionaries(WORDS, st.sampled_from(["", "1", "2"]))


@given(st.text())
def test_every_text_becomes_a_legal_value(text: str) -> None:
    assert is_label_value(legal_value(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("MXC500", "MXC500"),
        ("MTT S4000", "MTT-S4000"),
        ("MXC500 VF", "MXC500-VF"),
        ("  ", ""),
        ("沐曦", ""),
        ("-C500_", "C500"),
        ("x" * 62 + ".y", "x" * 62),
    ],
)
def test_a_value_is_changed_as_little_as_possible(text: str, value: str) -> None:
    assert legal_value(text) == value


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("2.0.0", ("2", "0", "0")),
        ("3.8.30", ("3", "8", "30")),
        ("3.3.5-server", ("3", "3", "5")),
        ("v2.33.0.6", ("2", "33", "0")),
        ("2.08.1", ("2", "8", "1")),
        ("3.1", ("3", "1")),
        ("7", ("7",)),
        ("", ()),
        ("unknown", ()),
        ("1" * 40, ()),
        (None, ()),
    ],
)
def test_a_version_gives_the_numbers_it_has(version: str | None, parts: tuple[str, ...]) -> None:
    names = ("d.major", "d.minor", "d.patch")
    assert version_labels("d", version) == dict(zip(names, parts, strict=False))


@given(st.text())
def test_no_version_is_too_strange(version: str) -> None:
    assert all(is_label_value(value) for value in version_labels("d", version).values())


@pytest.mark.parametrize(
    ("memory", "value"),
    [
        (64 * GIB, "64GB"),
        (72 * GIB, "72GB"),
        (64 * GIB - 300 * MIB, "64GB"),
        (0, ""),
        (100 * MIB, ""),
        (None, ""),
    ],
)
def test_memory_is_written_as_the_vendor_writes_it(memory: int | None, value: str) -> None:
    assert memory_value(None if memory is None else Bytes(memory)) == value


def test_most_voices_win_and_the_first_of_equally_many() -> None:
    assert commonest(["a", "b", "b"]) == "b"
    assert commonest(["b", "a", NA, NA, NA]) == "b"
    assert commonest([0, 0, 4]) == 0
    assert commonest([NA]) is None


@given(LABELS, LABELS)
def test_a_patch_leads_from_the_present_to_the_wanted_labels_and_leaves_others_alone(
    present: dict[str, str], wanted_all: dict[str, str]
) -> None:
    def ours(key: str) -> bool:
        return key.startswith("ours/")

    wanted = {key: value for key, value in wanted_all.items() if ours(key)}
    changes = label_changes(present, wanted, ours)
    assert all(ours(key) for key in changes)
    after = {**present, **changes}
    kept = {key: value for key, value in after.items() if value is not None}
    assert {key: value for key, value in kept.items() if ours(key)} == wanted
    assert {key: value for key, value in kept.items() if not ours(key)} == {
        key: value for key, value in present.items() if not ours(key)
    }
    assert label_changes({k: v for k, v in kept.items() if v is not None}, wanted, ours) == {}
