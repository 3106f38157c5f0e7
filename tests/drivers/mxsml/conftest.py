"""A twin library per test, in a folder of its own, with every driver opened on it closed afterwards."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from builders.mxsml_twin import RULES, SYSFS, Machine, Twin, c500
from tangram.drivers.mxsml.driver import MxsmlDriver

Make = Callable[..., Twin]


@pytest.fixture
def twin_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv(RULES, "")
    monkeypatch.setenv(SYSFS, "")
    opened: list[MxsmlDriver] = []

    def make(machine: Machine, *, left_out: Sequence[str] = ()) -> Twin:
        return Twin(tmp_path, machine, left_out=left_out, opened=opened)

    yield make
    for driver in opened:
        driver.close()


@pytest.fixture
def eight(twin_of: Make) -> Twin:
    """Eight C500 in two bridged groups of four."""
    return twin_of(c500(8))


@pytest.fixture
def two(twin_of: Make) -> Twin:
    return twin_of(c500(2))
