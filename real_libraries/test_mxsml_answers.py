"""Function by function, the twin answers as the vendor's library does."""

from __future__ import annotations

import subprocess
import sys
from ctypes import c_uint
from pathlib import Path

import pytest

from builders.metax_tree import MetaxTree
from real_libraries import mxsml_calls
from real_libraries.comparing import BOTH_END, REPOSITORY, changed, compared
from real_libraries.conftest import TABLES, Grow
from real_libraries.mxsml_changes import STORIES
from real_libraries.scenes import FOUR, MESH, PROCESSES, SCENES
from real_libraries.tables import WRONG, note, told
from tangram.drivers.mxsml.functions import PREFIX, SIGNATURES


@pytest.mark.parametrize("scene", SCENES)
def test_both_answer_the_same(
    scene: str, grow: Grow, real: Path, twin: Path, request: pytest.FixtureRequest
) -> None:
    grow(SCENES[scene])
    verdicts = compared(real, twin, mxsml_calls)
    note(request.config.stash[TABLES].setdefault(PREFIX, {}), verdicts)
    assert [told(each) for each in verdicts if each.word in WRONG] == []


@pytest.mark.parametrize("story", STORIES)
def test_both_change_the_same(
    story: str, grow: Grow, real: Path, twin: Path, request: pytest.FixtureRequest
) -> None:
    """Codes, written memory and the files that are left, from the same tree."""
    calls, tree = STORIES[story]
    verdicts, left = changed(real, twin, mxsml_calls, calls, lambda: grow(tree))
    note(request.config.stash[TABLES].setdefault(PREFIX, {}), verdicts)
    assert [told(each) for each in verdicts if each.word in (*WRONG, BOTH_END)] == []
    assert left == []


def test_no_function_of_the_original_takes_more_than_we_declare(grow: Grow, real: Path) -> None:
    grow(MetaxTree(FOUR, PROCESSES, MESH))
    kinds = {
        name: "".join("u" if kind is c_uint else "p" for kind in SIGNATURES[name]) for name in SIGNATURES
    }
    first = ("Init", "InitWithFlags")
    named = [
        f"{name}:{kinds[name]}"
        for name in (*first, *sorted(set(kinds) - set(first) - {"RemoveSgpu"}), "RemoveSgpu")
    ]
    done = subprocess.run(
        [sys.executable, "-m", "real_libraries.poison", str(real), PREFIX, *named],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "all")
