"""A private `/sys` for each test, and the table of answers at the end."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders.metax_tree import MetaxTree
from builders.mxsml_twin import SOURCES
from builders.native import shared_object
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.settings import Settings

REAL = "TANGRAM_REAL_MXSML"
SYSFS = Path("/sys")
TABLE = pytest.StashKey[dict[str, Counter[str]]]()

Grow = Callable[[MetaxTree], None]


@pytest.fixture(scope="session")
def twin() -> Path:
    return shared_object(SOURCES, "libmxsml.so", flags=("-Wl,-z,nodelete",))


@pytest.fixture(scope="session")
def real() -> Path:
    return Path(os.environ[REAL])


@pytest.fixture(params=["real", "twin"])
def library(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


@pytest.fixture
def grow(tmp_path: Path) -> Grow:
    """Show another machine."""

    def grown(tree: MetaxTree) -> None:
        for folder in ("bus", "class", "devices"):
            shutil.rmtree(SYSFS / folder, ignore_errors=True)
        tree.grow(SYSFS, tmp_path / "dev")

    return grown


@pytest.fixture
def opened(library: Path, tmp_path: Path) -> Iterator[Callable[[], MxsmlDriver]]:
    """Drivers over the library, closed at the end."""
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
    config.stash[TABLE] = {}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash[TABLE]
    if not rows:
        return
    terminalreporter.section("the vendor's library beside its twin")
    for name, words in sorted(rows.items()):
        said = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
        terminalreporter.line(f"  mxSml{name:<34} {said}")
