"""The variables that Moore Threads' runtime reads."""

from hypothesis import given
from hypothesis import strategies as st

from tangram.units.memory import SGPU_MEMORY_UNIT, Bytes, from_gib
from tangram.wire.mthreads_container import slice_environment, whole_environment


def test_whole_cards_are_their_physical_numbers_in_order() -> None:
    assert whole_environment([3, 0]) == {"MTHREADS_VISIBLE_DEVICES": "0,3"}


def test_a_slice_is_a_limit_in_bytes_a_weight_and_the_units_for_people() -> None:
    assert slice_environment([1], from_gib(16), 8) == {
        "MTHREADS_VISIBLE_DEVICES": "1",
        "MTHREADS_QOS_MEMORY_LIMIT": "17179869184",
        "MTHREADS_QOS_COMPUTING_POWER_WEIGHT": "8",
        "MTHREADS_ALLOCATED_SGPU_MEMORY_DEVICES": "32",
        "MTHREADS_ALLOCATED_SGPU_CORE_DEVICES": "8",
    }


@given(st.sets(st.integers(0, 63), min_size=1, max_size=8), st.integers(1, 200), st.integers(0, 16))
def test_limits_are_of_one_card_and_units_of_all(numbers: set[int], units: int, cores: int) -> None:
    found = slice_environment(sorted(numbers), Bytes(units * SGPU_MEMORY_UNIT), cores)
    assert int(found["MTHREADS_QOS_MEMORY_LIMIT"]) == units * SGPU_MEMORY_UNIT
    assert int(found["MTHREADS_QOS_COMPUTING_POWER_WEIGHT"]) >= 1
    assert int(found["MTHREADS_ALLOCATED_SGPU_MEMORY_DEVICES"]) == units * len(numbers)
    assert int(found["MTHREADS_ALLOCATED_SGPU_CORE_DEVICES"]) == cores * len(numbers)
    assert len(found["MTHREADS_VISIBLE_DEVICES"].split(",")) == len(numbers)
