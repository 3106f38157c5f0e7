"""What `make real-libraries` says to a person who named no library, or one that is not there.

What it does with one needs a vendor's file, which no test here has.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from real_libraries.__main__ import VENDORS

ROOT = Path(__file__).resolve().parents[1]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "real_libraries", *words],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("words", "first"),
    [
        pytest.param((), "No library was named. ", id="no library"),
        pytest.param(("--mxsml", ""), "No library was named. ", id="an empty name, as of an unset variable"),
        pytest.param(("--mtml", "/nowhere/libmtml.so"), "/nowhere/libmtml.so is no file. ", id="no file"),
    ],
)
def test_without_a_library_it_says_where_they_come_from_and_what_to_type(
    words: tuple[str, ...], first: str
) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(first)
    for vendor in VENDORS:
        assert vendor.where in done.stderr
    assert done.stderr.endswith(
        "make real-libraries MXSML=/path/libmxsml.so MTML=/path/libmtml.so\n",
    )
    assert "Traceback" not in done.stderr
