"""Drivers over the C twin, closed when the test ends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.hanging import LONG
from builders.mtml_twin import VARIABLE, Clock, Machine, MakeDriver, Show, Twin
from tangram.drivers.mtml.driver import MtmlDriver


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Show:
    def shown(machine: Machine) -> Twin:
        twin = Twin(tmp_path, machine)
        monkeypatch.setenv(VARIABLE, str(twin.file))
        return twin

    return shown


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_driver(tmp_path: Path, clock: Clock) -> Iterator[MakeDriver]:
    made: list[MtmlDriver] = []

    def make(library: str | Path | None, *, limit: float = LONG) -> MtmlDriver:
        driver = MtmlDriver(
            None if library is None else str(library),
            limit=limit,
            sysfs=tmp_path / "sys",
            sgpu_km=tmp_path / "sgpu_km",
            # As gpu-device runs; the tests of processes have the other cases.
            all_seen=True,
            clock=clock,
        )
        made.append(driver)
        return driver

    yield make
    for driver in made:
        driver.close()
