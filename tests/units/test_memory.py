import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.units.memory import (
    GIB,
    KIB,
    MIB,
    Bytes,
    MemorySizeError,
    ceil_mib,
    floor_mib,
    from_512mib_units,
    from_gib,
    from_mib,
    memory_text,
    parse_memory,
    rough_memory_text,
)

sizes = st.integers(0, 2**50).map(Bytes)
counts = st.integers(0, 10**9)


@given(counts)
def test_whole_counts_of_a_unit_come_back_unchanged(count: int) -> None:
    assert floor_mib(from_mib(count)) == ceil_mib(from_mib(count)) == count
    assert from_gib(count) == from_mib(count * 1024)


@given(sizes)
def test_floor_never_offers_more_and_ceil_never_needs_less(size: Bytes) -> None:
    assert from_mib(floor_mib(size)) <= size <= from_mib(ceil_mib(size))
    assert ceil_mib(size) - floor_mib(size) in {0, 1}


def test_thirty_two_sgpu_memory_units_are_sixteen_gib() -> None:
    assert from_512mib_units(32) == from_gib(16)


def test_a_negative_count_is_refused() -> None:
    for build in (from_mib, from_gib, from_512mib_units):
        with pytest.raises(MemorySizeError, match="never negative"):
            build(-1)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (16 * GIB, "16 GiB"),
        (1536 * MIB, "1.5 GiB"),
        (1280 * MIB, "1.25 GiB"),
        (512 * MIB, "512 MiB"),
        (1126 * MIB, "1126 MiB"),
        (2048 * GIB, "2048 GiB"),
        (100 * GIB, "100 GiB"),
        (64_000_000, "62500 KiB"),
        (KIB, "1 KiB"),
        (1000, "1000 bytes"),
        (0, "0 bytes"),
        (-GIB, "-1 GiB"),
    ],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert memory_text(Bytes(size)) == text


@given(sizes)
def test_the_text_for_people_is_exact(size: Bytes) -> None:
    assert parse_memory(memory_text(size)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (16 * GIB, "16 GiB"),
        (1536 * MIB, "1.5 GiB"),
        (1126 * MIB, "about 1.1 GiB"),
        (16 * GIB - 1, "about 16 GiB"),
        (-1126 * MIB, "about -1.1 GiB"),
        (500 * MIB + 1, "about 500 MiB"),
        (3 * KIB, "3 KiB"),
        (7, "7 bytes"),
    ],
)
def test_a_rough_size_says_about_when_it_is_not_exact(size: int, text: str) -> None:
    assert rough_memory_text(Bytes(size)) == text


@given(sizes)
def test_a_rough_size_without_about_is_exact(size: Bytes) -> None:
    text = rough_memory_text(size)
    assert text.startswith("about ") or parse_memory(text) == size


@pytest.mark.parametrize(
    "text", ["64Gi", "64 GiB", "64GiB", "65536MiB", "65536 Mi", " 64 GiB ", "64.0Gi", "0.0625TiB"]
)
def test_one_size_has_many_spellings(text: str) -> None:
    assert parse_memory(text) == from_gib(64)


@pytest.mark.parametrize(
    ("text", "code", "instead"),
    [
        ("64", "memory_unit", "64 MiB or 64 GiB"),
        ("64GB", "memory_unit", "64 GiB"),
        ("64 gib", "memory_unit", "64 GiB"),
        ("1.5m", "memory_unit", "1.5 MiB"),
        ("64 parsecs", "memory_unit", "64 MiB or 64 GiB"),
        ("0.3KiB", "memory_fraction", "307 bytes"),
        ("-1Gi", "memory_malformed", "a size such as 64 GiB"),
        ("", "memory_malformed", "a size such as 64 GiB"),
        ("about 16 GiB", "memory_malformed", "a size such as 64 GiB"),
        ("1e3Gi", "memory_malformed", "a size such as 64 GiB"),
    ],
)
def test_sizes_that_could_be_misread_are_refused(text: str, code: str, instead: str) -> None:
    with pytest.raises(MemorySizeError) as refusal:
        parse_memory(text)
    assert (refusal.value.code, refusal.value.instead) == (code, instead)
