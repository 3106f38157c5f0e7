"""Memory: the twin leaves nothing behind, and neither side writes past what the other one gave it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from builders.mtml_twin import (
    SOURCES,
    VARIABLE,
    Machine,
    Twin,
    eight_s4000,
    eight_s5000,
    full_mesh,
    twin_library,
)
from builders.native import SANITIZED, program, sanitizer_runtime
from tangram.drivers.mtml.calls import FUNCTIONS

CODES = (*range(13), 999)


def exercise(world: Path) -> subprocess.CompletedProcess[str]:
    sanitizer_runtime()
    return subprocess.run(
        [program(("mtml/exercise.c", *SOURCES), "exercise", flags=SANITIZED)],
        env={VARIABLE: str(world), "ASAN_OPTIONS": "detect_leaks=1"},
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(eight_s5000(), id="with error counters and links"),
        pytest.param(eight_s4000(), id="without either"),
        pytest.param(Machine(()), id="no card"),
        pytest.param(
            eight_s4000(full_mesh(range(8))).having("fault * 2 3", "level 0 1 0"), id="one card broken"
        ),
    ],
)
def test_the_twin_touches_no_memory_it_should_not_and_leaks_none(tmp_path: Path, machine: Machine) -> None:
    answer = exercise(Twin(tmp_path, machine).file)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_the_twin_survives_a_missing_world(tmp_path: Path) -> None:
    answer = exercise(tmp_path / "nothing")
    assert (answer.returncode, answer.stderr) == (0, "")


DRIVE = """
import os, sys
from pathlib import Path
from tangram.drivers.errors import DriverError
from tangram.drivers.mtml.driver import MtmlDriver
world, library, functions, codes = Path(os.environ["TANGRAM_MTML_WORLD"]), *sys.argv[1:]
healthy = world.read_text()
nowhere = Path(world.parent / "nowhere")
asked = 0
for function in functions.split(","):
    driver = MtmlDriver(library, sysfs=nowhere, sgpu_km=nowhere, clock=lambda: asked * 10.0, limit=60)
    for code in codes.split(","):
        asked += 1
        beside = world.with_suffix(".new")
        beside.write_text(f"{healthy}fault {function} {code}\\n")
        beside.replace(world)
        for ask in (driver.devices, driver.health, lambda: driver.links(driver.devices()),
                    lambda: [driver.figures(each.uuid) for each in driver.devices()]):
            try:
                ask()
            except DriverError:
                pass
    driver.close()
print(asked)
"""


def test_our_driver_and_the_vendors_package_pass_the_sanitizer_with_every_code_of_every_function(
    tmp_path: Path,
) -> None:
    """Python's own memory goes through the sanitizer too: a record smaller than what the library writes is caught."""
    twin = Twin(tmp_path, eight_s5000().without(*range(2, 8)))
    library = twin_library(flags=SANITIZED)
    answer = subprocess.run(
        [sys.executable, "-c", DRIVE, library, ",".join(FUNCTIONS), ",".join(map(str, CODES))],
        env={
            **os.environ,
            VARIABLE: str(twin.file),
            "LD_PRELOAD": str(sanitizer_runtime()),
            "PYTHONMALLOC": "malloc",
            # What the interpreter itself leaves at its end is not ours to judge: only frames of the twin are.
            "ASAN_OPTIONS": "detect_leaks=1:fast_unwind_on_malloc=1:exitcode=0",
        },
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    assert answer.stdout.strip() == str(len(FUNCTIONS) * len(CODES)), answer.stderr[-2000:]
    assert "ERROR: AddressSanitizer" not in answer.stderr
    assert "runtime error" not in answer.stderr
    ours = [line for line in answer.stderr.splitlines() if "libmtml" in line or "world.c" in line]
    assert ours == []
