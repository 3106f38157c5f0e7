"""How far apart two cards are on PCIe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.drivers.pcie import LEVEL_OF_WORD, WORD_OF_LEVEL, addresses_in, level_between, root_complex
from tangram.model.topology import PcieLevel
from tangram.units.na import NA, Maybe

SWITCH = ("0000:00:01.0", "0000:01:00.0")
ONE = (*SWITCH, "0000:02:00.0", "0000:03:00.0")


@pytest.mark.parametrize(
    ("other", "numa", "level"),
    [
        pytest.param(ONE, 0, PcieLevel.INTERNAL, id="itself"),
        pytest.param((*ONE[:-1], "0000:03:00.1"), 0, PcieLevel.INTERNAL, id="other-function"),
        pytest.param((*SWITCH, "0000:02:01.0", "0000:04:00.0"), 0, PcieLevel.SINGLE_SWITCH, id="one-switch"),
        pytest.param(
            (*SWITCH, "0000:02:01.0", "0000:04:00.0", "0000:05:00.0", "0000:06:00.0"),
            0,
            PcieLevel.MULTIPLE_SWITCHES,
            id="two-switches",
        ),
        pytest.param(("0000:00:02.0", "0000:09:00.0"), 0, PcieLevel.HOST_BRIDGE, id="other-root-port"),
        pytest.param(("0000:80:01.0", "0000:81:00.0"), 0, PcieLevel.NUMA_NODE, id="other-bridge"),
        pytest.param(("0001:00:01.0", "0001:81:00.0"), 1, PcieLevel.SYSTEM, id="other-socket"),
        pytest.param(("0000:80:01.0", "0000:81:00.0"), NA, PcieLevel.UNKNOWN, id="unknown-numa"),
        pytest.param(("0000:80:01.0", "0000:81:00.0"), -1, PcieLevel.UNKNOWN, id="numa-not-said"),
        pytest.param((), 0, PcieLevel.UNKNOWN, id="unknown-path"),
    ],
)
def test_where_two_cards_meet(other: tuple[str, ...], numa: Maybe[int], level: PcieLevel) -> None:
    assert level_between(ONE, other, 0, numa) is level
    assert level_between(other, ONE, numa, 0) is level


def test_addresses_are_read_from_the_kernels_path() -> None:
    path = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0"
    assert addresses_in(path) == ("0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0")
    assert addresses_in("") == ()


_PATHS = st.lists(
    st.sampled_from(["0000:00:01.0", "0000:80:01.0", "0000:01:00.0", "0000:02:03.0"]), max_size=4
)


@given(_PATHS, _PATHS, st.integers(-1, 2), st.integers(-1, 2))
def test_distance_is_the_same_both_ways(one: list[str], other: list[str], a: int, b: int) -> None:
    assert level_between(one, other, a, b) is level_between(other, one, b, a)


def test_words_and_levels_are_one_to_one() -> None:
    assert {WORD_OF_LEVEL[level] for level in LEVEL_OF_WORD.values()} == set(LEVEL_OF_WORD)


@pytest.mark.parametrize(
    ("path", "root"),
    [
        pytest.param(
            "/sys/devices/pci0000:0a/0000:0a:01.0/0000:0b:00.0", "pci0000:0a", id="below a root port"
        ),
        pytest.param("/sys/devices/pci10000:e0/10000:e0:1d.0", "pci10000:e0", id="a long domain"),
        pytest.param("/sys/devices/pci00fa:3a/00fa:3a:00.0/00fa:3b:00.0", "pci00fa:3a", id="letters"),
        pytest.param("", "", id="nothing known"),
    ],
)
def test_the_root_complex_is_the_one_in_the_kernels_path(path: str, root: str) -> None:
    assert root_complex(addresses_in(path)) == root
