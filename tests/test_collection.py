"""Every process lists the tests in the same order, or pytest-xdist refuses to start.

The order of a set differs from process to process, so parameters that come out of one do too. `make test` would notice
in its own suite; the end-to-end suite is started as a whole too rarely to rely on that.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUITES = ("tests", "e2e", "peers", "real_libraries")


def collecting(seed: int) -> subprocess.Popen[str]:
    """A process that lists the tests of every suite, with sets ordered by this seed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *SUITES],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environment, "PYTHONHASHSEED": str(seed)},
    )


def test_all_suites_are_listed_in_one_order_under_any_hash_seed() -> None:
    processes = [collecting(1), collecting(2)]
    outputs = [process.communicate(timeout=600)[0] for process in processes]
    # A module that cannot be imported would be missing in both lists.
    assert [process.returncode for process in processes] == [0, 0], outputs[0][-2000:]
    first, second = ([line for line in output.splitlines() if "::" in line] for output in outputs)
    for suite in SUITES:
        assert any(line.startswith(f"{suite}/") for line in first), outputs[0][-2000:]
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
