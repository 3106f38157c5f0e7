"""Function by function, the twin answers as the vendor's library does."""

from __future__ import annotations

import subprocess
import sys
from ctypes import c_uint
from pathlib import Path

import pytest

from builders.metax_tree import MetaxTree
from real_libraries import mxsml_calls
from real_libraries.comparing import REPOSITORY, compared, table
from real_libraries.conftest import TABLES, Grow
from real_libraries.scenes import FOUR, MESH, PROCESSES, SCENES
from tangram.drivers.mxsml.functions import PREFIX, SIGNATURES

ODD = {"one-limited", "one-without-a-node", "all-limited", "none"}
"""Where the original answers about cards that it cannot use: what it says there is told, and not relied on."""


@pytest.mark.parametrize("scene", SCENES)
def test_both_answer_the_same(
    scene: str, grow: Grow, real: Path, twin: Path, request: pytest.FixtureRequest
) -> None:
    grow(SCENES[scene])
    verdicts = compared(real, twin, mxsml_calls)
    rows = request.config.stash[TABLES].setdefault(PREFIX, {})
    for name, words in table(verdicts).items():
        rows[name] = rows.get(name, type(words)()) + words
    strange = [each for each in verdicts if each.word in ("different", "ends the process")]
    if scene not in ODD:
        assert [f"{each.call.label}: {each.theirs} and not {each.ours}" for each in strange[:5]] == []
    assert [each.call.label for each in strange if each.word == "ends the process"] == []


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
