"""Every function as the vendor's package calls it, with poison where a further argument would be."""

import subprocess
import sys
from pathlib import Path

import pytest

from builders.mtml_twin import Show, eight_s5000, twin_library
from real_libraries.mtml_calls import DECLARED, LIBRARY, questions
from tangram.drivers.mtml.calls import FUNCTIONS
from tangram.drivers.mtml.processes import COUNT, LIST

ROOT = Path(__file__).resolve().parents[3]


def called(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "real_libraries.mtml_poison", *words],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )


def test_no_function_takes_more_than_the_package_passes(show: Show) -> None:
    # Only what a code means that the package does not know is asked of the library.
    show(eight_s5000().having("fault mtmlDeviceGetPowerUsage 77", "process 0 4711 4096"))
    answer = called(str(twin_library()))
    assert answer.returncode == 0, answer.stderr
    *functions, last = answer.stdout.splitlines()
    assert last == "all"
    assert set(functions) == {*FUNCTIONS, COUNT, LIST}


def test_every_function_that_is_used_is_compared_with_the_vendors_library() -> None:
    assert {call.name for call in (LIBRARY.begin, *questions())} >= set(DECLARED)
    assert {f"mtml{name}" for name in DECLARED} == {*FUNCTIONS, COUNT, LIST}


@pytest.mark.parametrize(
    "function", ["mtmlDeviceGetSerialNumber", "mtmlMemoryGetEccErrorCounter", COUNT, LIST]
)
def test_a_function_that_gets_too_few_arguments_is_found(show: Show, function: str) -> None:
    show(eight_s5000().having("process 0 4711 4096"))
    answer = called(str(twin_library()), function)
    assert answer.returncode < 0
    assert answer.stdout.splitlines()[-1] == function
