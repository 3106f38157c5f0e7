import dataclasses
import decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lightkube.utils.quantity import parse_quantity as lightkube_quantity

from tangram.units.quantity import ZERO, Format, Quantity, QuantityError, parse_quantity
from tangram.units.quantity_grammar import LARGEST_BINARY, LARGEST_EXPONENT, LONGEST_TEXT

FACTORS: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}

signs = st.sampled_from(["", "", "-", "+"])
digits = st.text("0123456789", min_size=1, max_size=14)
numbers = st.one_of(
    digits,
    st.tuples(digits, digits).map(".".join),
    digits.map(lambda text: f".{text}"),
    digits.map(lambda text: f"{text}."),
)
exponents = st.tuples(st.sampled_from("eE"), st.integers(-24, 24).map(str)).map("".join)
suffixes = st.one_of(st.sampled_from(sorted(FACTORS)), exponents)
quantities = st.builds(Quantity, st.integers(-(10**30), 10**30), st.sampled_from(Format))


def oracle(sign: str, number: str, suffix: str) -> Fraction:
    """The documented meaning, in fractions and by no code of ours."""
    whole, _, fraction = number.partition(".")
    factor = FACTORS[suffix] if suffix in FACTORS else Fraction(10) ** int(suffix[1:])
    exact = (Fraction(int(whole or "0")) + Fraction(int(fraction or "0"), 10 ** len(fraction))) * factor
    nanos = -((-exact * 10**9).numerator // (exact * 10**9).denominator)
    rounded = Fraction(nanos, 10**9)
    if suffix.endswith("i"):
        rounded = min(rounded, Fraction(2**63 - 1))
    return -rounded if sign == "-" else rounded


@given(signs, numbers, suffixes)
@example("", ".0000000001", "")
@example("-", "1.3", "Ki")
def test_every_legal_text_means_what_the_documentation_says(sign: str, number: str, suffix: str) -> None:
    assert Quantity.parse(sign + number + suffix).as_fraction() == oracle(sign, number, suffix)


@given(
    signs,
    st.one_of(digits, st.tuples(digits, st.text("0123456789", min_size=1, max_size=3)).map(".".join)),
    st.sampled_from(["", "k", "M", "G", "Ki", "Mi", "Gi"]),
)
def test_an_independent_decimal_implementation_agrees(sign: str, number: str, suffix: str) -> None:
    text = sign + number + suffix
    ours = Quantity.parse(text)
    # Enough digits for both; the other side cuts at a thousandth where Kubernetes cuts at a nano.
    with decimal.localcontext() as context:
        context.prec = 60
        theirs = lightkube_quantity(text)
    assert theirs is not None
    in_thousandths = Fraction(ours.milli_value(), 1000)
    largest = Fraction(LARGEST_BINARY)
    if ours.format is Format.BINARY_SI and abs(ours.as_fraction()) == largest:
        assert abs(Fraction(theirs)) >= largest
    else:
        assert Fraction(theirs) == in_thousandths


@given(quantities)
def test_writing_and_reading_back_loses_nothing(quantity: Quantity) -> None:
    if quantity.format is Format.BINARY_SI and abs(quantity.as_fraction()) > LARGEST_BINARY:
        return  # beyond the cap there is nothing that could be read back
    assert Quantity.parse(str(quantity)) == quantity


@given(signs, numbers, suffixes)
def test_canonical_text_is_a_fixed_point(sign: str, number: str, suffix: str) -> None:
    canonical = Quantity.parse(sign + number + suffix).canonical()
    assert Quantity.parse(canonical).canonical() == canonical
    assert str(Quantity.parse(canonical)) == canonical


@given(quantities, quantities)
def test_arithmetic_is_exact(left: Quantity, right: Quantity) -> None:
    assert (left + right).as_fraction() == left.as_fraction() + right.as_fraction()
    assert (left - right).as_fraction() == left.as_fraction() - right.as_fraction()
    assert (left + right) - right == left
    assert -left + left == ZERO


@given(quantities, quantities)
def test_order_is_the_order_of_the_values(left: Quantity, right: Quantity) -> None:
    assert (left < right) is (left.as_fraction() < right.as_fraction())
    assert (left == right) is (left.as_fraction() == right.as_fraction())


@given(quantities)
def test_integer_values_round_away_from_zero(quantity: Quantity) -> None:
    exact = quantity.as_fraction()
    assert abs(quantity.value()) >= abs(exact)
    assert abs(quantity.value()) - abs(exact) < 1
    assert abs(quantity.milli_value()) - abs(exact * 1000) < 1
    assert quantity.is_integer is (quantity.value() == exact)


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        said = str(Quantity.parse(text))
    except QuantityError as error:
        said = str(error)
    assert said.isprintable()
    assert said.startswith("read ") is ("; write " in said)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1000", "1k"),
        ("0.5", "500m"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1.1Gi", "1181116006400m"),
        ("1000e3", "1e6"),
        ("0", "0"),
        ("0Gi", "0"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("9Ei", "9223372036854775807"),
        ("1000E", "1000E"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize("text", ["+5", "007", "5.", "1.500", "16E0"])
def test_a_nearly_canonical_spelling_is_handed_out_unchanged_as_the_api_server_does(text: str) -> None:
    assert str(Quantity.parse(text)) == text


def test_a_sum_is_always_canonical() -> None:
    assert str(Quantity.parse("1.500") + ZERO) == "1500m"


def test_a_sum_that_starts_at_zero_looks_like_its_first_summand() -> None:
    assert str(ZERO + Quantity.parse("1Gi")) == "1Gi"
    assert str(Quantity.parse("1G") + Quantity.parse("24Mi")) == "1025165824"


def test_sums_of_binary_sizes_stay_exact_beyond_the_last_suffix() -> None:
    total = Quantity.whole(2**70, Format.BINARY_SI)
    assert str(total) == "1024Ei"


def test_equal_values_are_one_dictionary_key_however_they_are_written() -> None:
    assert {Quantity.parse(text) for text in ("1Gi", "1024Mi", "1073741824")} == {Quantity.parse("1Gi")}
    assert Quantity.parse("1") != 1


def test_quantities_are_built_from_whole_numbers() -> None:
    assert Quantity.whole(2000) == Quantity.parse("2k")
    assert repr(Quantity.whole(2**20, Format.BINARY_SI)) == "Quantity('1Mi')"
    assert [Quantity.whole(number).sign for number in (-3, 0, 3)] == [-1, 0, 1]


def test_a_quantity_cannot_be_changed() -> None:
    unchecked: Any = Quantity.parse("1")
    with pytest.raises(dataclasses.FrozenInstanceError):
        unchecked.nanos = 2


def test_repeated_texts_cost_only_a_lookup() -> None:
    assert parse_quantity("123456Mi") is parse_quantity("123456Mi")


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("16 Gi", "16Gi"),
        ("16GiB", "16Gi"),
        ("16gb", "16G"),
        ("1K", "1k"),
        ("8 m", "8m"),
        ("4KI", "4Ki"),
        ("12B", "12"),
        ("", "a number such as 500m, 2 or 16Gi"),
        ("1,5", "a number such as 500m, 2 or 16Gi"),
        ("1e", "a number such as 500m, 2 or 16Gi"),
        ("many", "a number such as 500m, 2 or 16Gi"),
    ],
)
def test_a_refusal_offers_what_was_probably_meant(text: str, instead: str) -> None:
    with pytest.raises(QuantityError) as refusal:
        Quantity.parse(text)
    assert refusal.value.code == "quantity_malformed"
    assert refusal.value.instead == instead


def test_a_refusal_is_one_sentence_with_what_was_read_what_is_legal_and_what_to_write() -> None:
    with pytest.raises(ValueError, match="quantity") as refusal:
        Quantity.parse("16 GiB")
    assert str(refusal.value) == (
        "read '16 GiB': a quantity is a number and at most one suffix of n u m k M G T P E, "
        "Ki Mi Gi Ti Pi Ei, or an exponent such as e3; write 16Gi"
    )


def test_texts_that_would_fill_memory_are_refused() -> None:
    with pytest.raises(QuantityError, match="exponent lies between"):
        Quantity.parse("1e2147483647")
    with pytest.raises(QuantityError, match="at most 512 characters") as refusal:
        Quantity.parse("9" * 100_000)
    assert len(str(refusal.value)) < 250


def test_the_largest_readable_texts_are_still_exact() -> None:
    assert Quantity.parse(f"1e{LARGEST_EXPONENT}").value() == 10**LARGEST_EXPONENT
    assert Quantity.parse(f"1e-{LARGEST_EXPONENT}") == Quantity.parse("1n")
    assert Quantity.parse("9" * LONGEST_TEXT).value() == int("9" * LONGEST_TEXT)
