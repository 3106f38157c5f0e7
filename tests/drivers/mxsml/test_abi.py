"""Every function as we declare it, called with poison where a further argument would be.

In a test a register that was not set holds by chance something harmless, and a wrong count of arguments goes unnoticed.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from ctypes import c_uint
from pathlib import Path

import pytest

from builders.mxsml_twin import RULES, SYSFS, Twin, c500
from real_libraries.mxsml_calls import DECLARED, LIBRARY, questions
from real_libraries.mxsml_changes import STORIES
from tangram.drivers.mxsml.functions import PREFIX, SIGNATURES

Make = Callable[..., Twin]
ROOT = Path(__file__).resolve().parents[3]
BEGINNING = ("Init", "InitWithFlags")
ENDING = ("SetSgpuToggle", "RemoveSgpu")
"""After which there is no slice to ask about."""


@pytest.fixture
def twin(twin_of: Make) -> Twin:
    return twin_of(c500(2).with_slice(0, 0, alias="one", uuid="s0").with_slice(0, 1, alias="two", uuid="s1"))


def kinds(signatures: Mapping[str, tuple[type, ...]]) -> list[str]:
    """As `real_libraries.poison` takes them, in an order in which every one has something to answer."""
    between = sorted(set(signatures) - {*BEGINNING, *ENDING})
    return [
        f"{name}:{''.join('u' if kind is c_uint else 'p' for kind in signatures[name])}"
        for name in (*BEGINNING, *between, *ENDING)
    ]


def called(twin: Twin, functions: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "real_libraries.poison", str(twin.library), PREFIX, *functions],
        env={**os.environ, RULES: str(twin.root / "rules"), SYSFS: str(twin.sysfs)},
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )


def test_no_function_takes_more_than_we_declare(twin: Twin) -> None:
    answer = called(twin, kinds(SIGNATURES))
    assert (answer.returncode, answer.stdout.splitlines()[-1:]) == (0, ["all"]), answer.stderr


def test_every_declared_function_is_compared_with_the_vendors_library() -> None:
    asked = {call.name for story in STORIES.values() for call in story.calls}
    asked |= {call.name for call in (LIBRARY.begin, *questions())}
    assert asked >= set(DECLARED) == {*SIGNATURES, "GetErrorString"}


def test_a_function_declared_with_too_few_arguments_is_found(twin: Twin) -> None:
    """As the name of a slice once was."""
    short = {**SIGNATURES, "GetSgpuAlias": SIGNATURES["GetSgpuAlias"][:3]}
    answer = called(twin, kinds(short))
    assert answer.returncode < 0
    assert answer.stdout.splitlines()[-1] == "GetSgpuAlias"
