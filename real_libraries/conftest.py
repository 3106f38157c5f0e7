"""A private `/sys` and `/dev` for each test, and the tables of answers at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from builders import mthreads_tree, mtml_twin, mxsml_twin
from builders.metax_tree import MetaxTree
from builders.mtml_twin import Machine
from builders.native import shared_object
from real_libraries import mtml_calls, mxsml_calls
from real_libraries.tables import Rows, lines
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.settings import Settings

REAL = "TANGRAM_REAL_MXSML"
REAL_MTML = "TANGRAM_REAL_MTML"
SYSFS = Path("/sys")
DEV = Path("/dev")
STAYS_LOADED = "-Wl,-z,nodelete"
"""As both vendors' libraries do."""
TABLES = pytest.StashKey[dict[str, Rows]]()
DECLARED = {"mxSml": mxsml_calls.DECLARED, "mtml": mtml_calls.DECLARED}

Grow = Callable[[MetaxTree], None]
Show = Callable[[Machine], None]


@pytest.fixture(scope="session")
def twin() -> Path:
    return shared_object(mxsml_twin.SOURCES, "libmxsml.so", flags=(STAYS_LOADED,))


@pytest.fixture(scope="session")
def real() -> Path:
    return Path(os.environ[REAL])


@pytest.fixture(params=["real", "twin"])
def library(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def twin_mtml() -> Path:
    return mtml_twin.twin_library(flags=(STAYS_LOADED,))


@pytest.fixture(scope="session")
def real_mtml() -> Path:
    return Path(os.environ[REAL_MTML])


@pytest.fixture(params=["real_mtml", "twin_mtml"])
def mtml(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


@pytest.fixture
def grow(tmp_path: Path) -> Grow:
    """Show another machine with MetaX cards."""

    def grown(tree: MetaxTree) -> None:
        for folder in ("bus", "class", "devices"):
            shutil.rmtree(SYSFS / folder, ignore_errors=True)
        tree.grow(SYSFS, tmp_path / "dev")

    return grown


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Show]:
    """Show another machine with Moore Threads cards, to the library and to the twin."""
    numbers = count()

    def hide() -> None:
        for path in DEV.glob("mtgpu.*"):
            path.unlink()
        for folder in (DEV / "dri", *(SYSFS / name for name in ("bus", "class", "devices"))):
            shutil.rmtree(folder, ignore_errors=True)

    def shown(machine: Machine) -> None:
        hide()
        folder = tmp_path / f"machine-{next(numbers)}"
        folder.mkdir()
        tree = mthreads_tree.grow(machine, folder)
        shutil.copytree(tree.sys, SYSFS, symlinks=True, dirs_exist_ok=True)
        shutil.copytree(tree.dev, DEV, dirs_exist_ok=True)
        monkeypatch.setenv(mtml_twin.VARIABLE, str(mtml_twin.Twin(tmp_path, machine).file))

    yield shown
    hide()


@pytest.fixture
def opened(library: Path, tmp_path: Path) -> Iterator[Callable[[], MxsmlDriver]]:
    """Drivers over MetaX's library, closed at the end."""
    drivers: list[MxsmlDriver] = []

    def open_one() -> MxsmlDriver:
        settings = Settings(
            library=str(library), dev_root=str(tmp_path / "dev"), lock_directory=str(tmp_path / "locks")
        )
        drivers.append(MxsmlDriver(settings, environment={}))
        return drivers[-1]

    yield open_one
    for driver in drivers:
        driver.close()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TABLES] = {}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for prefix, rows in config.stash[TABLES].items():
        terminalreporter.section(f"lib{prefix.lower()} of the vendor beside its twin")
        for line in lines(prefix, rows, DECLARED[prefix]):
            terminalreporter.line(f"  {line}")
