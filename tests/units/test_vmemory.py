import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.units.memory import GIB, MIB, Bytes, from_gib, from_mib
from tangram.units.quantity import Quantity
from tangram.units.vmemory import VmemoryError, vmemory_bytes

suffixes = st.sampled_from(["", "", "k", "M", "G", "T", "m", "e0", "e3", "E9", "Ki", "Mi", "Gi", "Ti"])
numbers = st.one_of(
    st.integers(-5, 10**7).map(str),
    st.integers(0, 2**26).map(lambda count: f"{count / 2**13}"),
)
asked_texts = st.tuples(numbers, suffixes).map("".join)


def answer(asked: str | Quantity) -> int | str:
    try:
        return vmemory_bytes(asked)
    except VmemoryError as error:
        return error.code


@pytest.mark.parametrize(
    ("text", "gib"), [("1", 1), ("16", 16), ("2048", 2048), ("1500", 1500), ("+8", 8), ("4.", 4)]
)
def test_a_bare_number_is_gib(text: str, gib: int) -> None:
    assert vmemory_bytes(text) == from_gib(gib)


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("16Gi", 16384),
        ("1024Mi", 1024),
        ("1Mi", 1),
        ("1.5Gi", 1536),
        ("2047Ki", 1),
        ("64M", 61),
        ("2G", 1907),
        ("64e6", 61),
    ],
)
def test_a_number_with_a_suffix_is_bytes_floored_to_mib(text: str, mib: int) -> None:
    assert vmemory_bytes(text) == from_mib(mib)


def test_a_bare_number_that_arrives_with_a_decimal_suffix_of_a_mib_or_more_is_bytes() -> None:
    assert vmemory_bytes("64000000") == vmemory_bytes("64M") == from_mib(61)


def test_two_thousand_is_refused_with_both_readings_rather_than_becoming_the_whole_card() -> None:
    with pytest.raises(VmemoryError) as refusal:
        vmemory_bytes("2k")
    assert refusal.value.code == "vmemory_ambiguous"
    assert (refusal.value.as_bytes, refusal.value.as_gib) == (2000, 2000 * GIB)
    assert str(refusal.value) == (
        "read '2k': as bytes that is below 1 MiB, as GiB it is 2000 GiB; write 2000Gi or 2Gi"
    )


def test_a_text_that_the_api_server_will_rewrite_is_refused_before_it_does() -> None:
    with pytest.raises(VmemoryError) as refusal:
        vmemory_bytes("2000")
    assert str(refusal.value) == (
        "read '2000': the API server stores it as 2k, as bytes that is below 1 MiB, "
        "as GiB it is 2000 GiB; write 2000Gi or 2Gi"
    )


@pytest.mark.parametrize(
    ("text", "instead"), [("16e0", "16Gi"), ("2e3", "2000Gi or 2Gi"), ("1048k", "1048000Gi or 1048Gi")]
)
def test_every_decimal_spelling_below_one_mib_is_ambiguous(text: str, instead: str) -> None:
    with pytest.raises(VmemoryError) as refusal:
        vmemory_bytes(text)
    assert (refusal.value.code, refusal.value.instead) == ("vmemory_ambiguous", instead)


@pytest.mark.parametrize("text", ["512Ki", "1023Ki", "1Ki", "0.5Ki"])
def test_a_binary_size_below_one_mib_is_refused_and_has_no_second_reading(text: str) -> None:
    with pytest.raises(VmemoryError, match="smallest vmemory is 1 MiB") as refusal:
        vmemory_bytes(text)
    assert refusal.value.code == "vmemory_below_one_mib"
    assert (refusal.value.as_bytes, refusal.value.as_gib) == (None, None)


@pytest.mark.parametrize("text", ["0", "0Gi", "-4", "-4Gi", "-1500m", "Ki"])
def test_zero_and_negative_are_refused(text: str) -> None:
    with pytest.raises(VmemoryError, match="positive number") as refusal:
        vmemory_bytes(text)
    assert refusal.value.code == "vmemory_not_positive"


@pytest.mark.parametrize(
    ("text", "instead"),
    [("1500m", "1536Mi"), ("1.5", "1536Mi"), ("1.1Gi", "1126Mi"), ("1n", "1Mi"), ("0.5", "512Mi")],
)
def test_a_fraction_is_refused_with_the_whole_mib_it_probably_meant(text: str, instead: str) -> None:
    with pytest.raises(VmemoryError) as refusal:
        vmemory_bytes(text)
    assert (refusal.value.code, refusal.value.instead) == ("vmemory_fraction", instead)


def test_a_text_that_is_no_quantity_is_refused_as_vmemory() -> None:
    with pytest.raises(VmemoryError, match=r"; write 16Gi$") as refusal:
        vmemory_bytes("16 GiB")
    assert refusal.value.code == "vmemory_malformed"


def test_a_refusal_survives_being_copied_or_sent_to_another_process() -> None:
    with pytest.raises(VmemoryError) as refusal:
        vmemory_bytes("2k")
    # Copying and pickling rebuild an exception the same way: from its arguments.
    rebuilt = copy.copy(refusal.value)
    assert str(rebuilt) == str(refusal.value)
    assert rebuilt.as_gib == Bytes(2000 * GIB)


@given(asked_texts)
def test_a_text_never_means_one_size_before_the_api_server_rewrote_it_and_another_after(text: str) -> None:
    quantity = Quantity.parse(text)
    before, after = answer(text), answer(str(quantity))
    assert answer(quantity) == before
    if before in {"vmemory_below_one_mib", "vmemory_suffix_lost"}:
        return  # refused before, so there is no promise that the stored text could break
    assert after == before


@pytest.mark.parametrize(("text", "instead"), [("1.00048828125Mi", "1Mi"), ("8388608Ti", "8796093022207Mi")])
def test_a_binary_size_that_would_be_stored_without_its_suffix_is_refused(text: str, instead: str) -> None:
    with pytest.raises(VmemoryError, match="without a suffix, which means GiB") as refusal:
        vmemory_bytes(text)
    assert (refusal.value.code, refusal.value.instead) == ("vmemory_suffix_lost", instead)


@given(asked_texts)
def test_an_answer_is_always_at_least_one_whole_mib(text: str) -> None:
    got = answer(text)
    assert isinstance(got, str) or (got >= MIB and got % MIB == 0)
