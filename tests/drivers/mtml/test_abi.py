"""Every function as the vendor's package calls it, with poison where a further argument would be."""

import subprocess
import sys
from pathlib import Path

import pytest

from builders.mtml_twin import Show, eight_s5000, twin_library
from tangram.drivers.mtml.calls import FUNCTIONS

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
    show(eight_s5000().having("fault mtmlDeviceGetPowerUsage 77"))
    answer = called(str(twin_library()))
    assert answer.returncode == 0, answer.stderr
    *functions, last = answer.stdout.splitlines()
    assert last == "all"
    assert set(functions) == set(FUNCTIONS)


@pytest.mark.parametrize("function", ["mtmlDeviceGetSerialNumber", "mtmlMemoryGetEccErrorCounter"])
def test_a_function_that_gets_too_few_arguments_is_found(show: Show, function: str) -> None:
    show(eight_s5000())
    answer = called(str(twin_library()), function)
    assert answer.returncode < 0
    assert answer.stdout.splitlines()[-1] == function
