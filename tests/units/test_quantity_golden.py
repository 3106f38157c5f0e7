"""Every answer of apimachinery's own quantities, row by row.

Where apimachinery returns a number that is not the quantity's own, ours stays exact on purpose.
Those rows are not skipped: each must be one of the few kinds of departure named here.
"""

import json
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from tangram.units.quantity import Quantity, QuantityError

GOLDEN = Path(__file__).parent / "data" / "quantities.json"
SMALLEST_INT64, LARGEST_INT64 = -(2**63), 2**63 - 1


class Row(NamedTuple):
    text: str
    format: str
    handed_out: str
    canonical: str
    value: str
    milli_value: str
    left_the_64_bit_path: str


class Pair(NamedTuple):
    left: str
    right: str
    sum: str
    sum_format: str
    difference: str
    difference_format: str
    comparison: str


@pytest.fixture(scope="module")
def golden() -> dict[str, list[list[str | int]]]:
    return cast("dict[str, list[list[str | int]]]", json.loads(GOLDEN.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def legal(golden: dict[str, list[list[str | int]]]) -> list[Row]:
    return [Row(*(str(cell) for cell in row)) for row in golden["texts"] if len(row) > 1]


@pytest.fixture(scope="module")
def refused(golden: dict[str, list[list[str | int]]]) -> list[str]:
    return [str(row[0]) for row in golden["texts"] if len(row) == 1]


@pytest.fixture(scope="module")
def pairs(golden: dict[str, list[list[str | int]]]) -> list[Pair]:
    return [Pair(*(str(cell) for cell in row)) for row in golden["pairs"]]


def test_the_golden_file_is_large_enough_to_mean_something(
    legal: list[Row], refused: list[str], pairs: list[Pair]
) -> None:
    assert len(legal) > 3500
    assert len(refused) > 400
    assert len(pairs) >= 500


def test_texts_that_the_api_server_refuses_are_refused(refused: list[str]) -> None:
    accepted = [text for text in refused if _is_read(text)]
    assert accepted == []


def test_texts_that_the_api_server_reads_are_read_with_the_same_format(legal: list[Row]) -> None:
    differing = [row for row in legal if not _is_read(row.text) or _format(row.text) != row.format]
    assert differing == []


def test_the_text_handed_out_is_the_same_unless_the_suffix_would_be_lost(legal: list[Row]) -> None:
    differing = [row for row in legal if str(Quantity.parse(row.text)) != row.handed_out]
    assert [row for row in differing if not _is_past_the_last_decimal_suffix(row)] == []


def test_the_canonical_text_is_the_same_unless_the_suffix_would_be_lost(legal: list[Row]) -> None:
    differing = [row for row in legal if Quantity.parse(row.text).canonical() != row.canonical]
    assert [row for row in differing if not _is_past_the_last_decimal_suffix(row)] == []


def test_a_lost_suffix_is_the_only_reason_why_the_api_servers_text_reads_as_another_number(
    legal: list[Row],
) -> None:
    unfaithful = [row for row in legal if Quantity.parse(row.handed_out) != Quantity.parse(row.text)]
    assert unfaithful
    assert all(_is_past_the_last_decimal_suffix(row) for row in unfaithful)


def test_values_are_the_same_wherever_64_bits_can_hold_them(legal: list[Row]) -> None:
    differing = [row for row in legal if Quantity.parse(row.text).value() != int(row.value)]
    assert [row for row in differing if not _go_is_off(row, Quantity.parse(row.text).value())] == []


def test_milli_values_are_the_same_wherever_64_bits_can_hold_them(legal: list[Row]) -> None:
    differing = [row for row in legal if Quantity.parse(row.text).milli_value() != int(row.milli_value)]
    assert [row for row in differing if not _go_is_off(row, Quantity.parse(row.text).milli_value())] == []


def test_sums_and_differences_have_the_same_text_and_format(pairs: list[Pair]) -> None:
    for pair in pairs:
        left, right = Quantity.parse(pair.left), Quantity.parse(pair.right)
        total, difference = left + right, left - right
        assert (str(total), total.format.value) == (pair.sum, pair.sum_format), pair
        assert (str(difference), difference.format.value) == (pair.difference, pair.difference_format), pair


def test_comparisons_agree(pairs: list[Pair]) -> None:
    for pair in pairs:
        left, right = Quantity.parse(pair.left), Quantity.parse(pair.right)
        assert (left > right) - (left < right) == int(pair.comparison), pair
        assert (left == right) is (int(pair.comparison) == 0), pair
        assert (left >= right) is (int(pair.comparison) >= 0), pair
        assert (left <= right) is (int(pair.comparison) <= 0), pair


def _is_read(text: str) -> bool:
    try:
        Quantity.parse(text)
    except QuantityError:
        return False
    return True


def _format(text: str) -> str:
    return Quantity.parse(text).format.value


def _is_past_the_last_decimal_suffix(row: Row) -> bool:
    return row.format == "DecimalSI" and abs(Quantity.parse(row.text).value()) >= 10**21


def _go_is_off(row: Row, exact: int) -> bool:
    """Go wraps or zeroes what 64 bits cannot hold, and rounds big negatives towards or past zero."""
    overflows = not SMALLEST_INT64 <= exact <= LARGEST_INT64
    return overflows or (exact < 0 and row.left_the_64_bit_path == "1")
