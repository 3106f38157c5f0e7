"""The binding and its twin under the address sanitizer: no byte written or read that is not theirs, none lost.

The sanitizer's allocator serves the whole interpreter (`PYTHONMALLOC=malloc`), so every record, list and text the
binding hands to the library has forbidden ground on both sides. CPython keeps much memory until the end on purpose;
of what it reports as lost only that which our library had a hand in is ours.
"""

import gc
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from builders.mxsml_twin import RULES, SOURCES, SYSFS, Machine, Twin, c500
from builders.native import SANITIZED, program, sanitizer_runtime
from tangram.drivers.snapshot import Reader

EVERYTHING = """
import ctypes
import sys
from builders.mxsml_twin import every_question, outcome
from tangram.drivers.mxsml.driver import MxsmlDriver
from tangram.drivers.mxsml.settings import Settings

root = sys.argv[1]
# Held, or the report at the end could not name the library of a lost allocation.
held = ctypes.CDLL(f"{root}/libmxsml.so")
asked = 0
for _ in range(3):
    driver = MxsmlDriver(
        Settings(
            library=f"{root}/libmxsml.so",
            sysfs_root=f"{root}/sys",
            dev_root=f"{root}/dev",
            lock_directory=f"{root}/locks",
            limit=60.0,
        )
    )
    for device in driver.devices():
        for question in every_question(driver, device.uuid).values():
            outcome(question)
            asked += 1
    driver.close()
print(f"asked {asked} questions")
"""


def busy_machine() -> Machine:
    machine = (
        c500(8, ecc=(1, 0, 2, 0, 3), virtual_functions=8)
        .with_slice(0, 3, memory=2048, uuid="s3")
        .with_card(7, active=0, reason=(1, "why"))
    )
    for pid in range(1, 101):
        machine = machine.with_process(pid, pid % 7, name="python train.py", memory=pid)
    return machine


@pytest.mark.parametrize("quirk", ["", "huge-counts", "unterminated", "grown"])
def test_the_whole_binding_runs_clean_under_the_address_sanitizer(quirk: str, tmp_path: Path) -> None:
    machine = busy_machine().quirk(quirk) if quirk else busy_machine()
    Twin(tmp_path, machine, flags=SANITIZED)
    finished = subprocess.run(
        [sys.executable, "-c", EVERYTHING, str(tmp_path)],
        env=_environment(tmp_path)
        | {
            "LD_PRELOAD": str(sanitizer_runtime()),
            "PYTHONMALLOC": "malloc",
            "ASAN_OPTIONS": "detect_leaks=1:exitcode=0:fast_unwind_on_malloc=1",
        },
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    assert "questions" in finished.stdout, finished.stderr[-4000:]
    assert "ERROR: AddressSanitizer" not in finished.stderr, finished.stderr[-4000:]
    assert "runtime error" not in finished.stderr, finished.stderr[-4000:]
    leaks = [leak for leak in finished.stderr.split("\n\n") if "leak of" in leak]
    ours = [leak for leak in leaks if "libmxsml" in leak]
    assert not ours, ours[:3]


@pytest.mark.parametrize("quirk", ["huge-counts", "stays-offline"])
def test_the_twin_itself_runs_clean_under_the_address_sanitizer(quirk: str, tmp_path: Path) -> None:
    Twin(tmp_path, busy_machine().quirk(quirk))
    finished = subprocess.run(
        [program((*SOURCES, "mxsml/drive.c"), "drive", flags=SANITIZED)],
        env=_environment(tmp_path),
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr[-4000:]
    assert "8 devices, at most 1 inside" in finished.stdout
    assert finished.stderr == ""


def _environment(root: Path) -> dict[str, str]:
    tests = Path(__file__).resolve().parents[2]
    return {**os.environ, RULES: str(root / "rules"), SYSFS: str(root / "sys"), "PYTHONPATH": str(tests)}


def test_asking_for_ever_takes_no_more_memory(eight: Twin) -> None:
    driver = eight.driver()
    reader = Reader(lambda _: driver)

    def ask(times: int) -> int:
        for _ in range(times):
            reader.read(links=True)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        ask(5)
        before = ask(5)
        assert ask(50) - before < 16_384
    finally:
        tracemalloc.stop()
