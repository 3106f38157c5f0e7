"""The README's recipes, word for word, beside a sandbox: with kubectl old and new, and on both control planes.

After a change that is meant to change what is printed, TANGRAM_REFRESH=1 writes the new outputs into the README and
takes its picture again; the diff is then the review.
"""

import os
import sys
from pathlib import Path

import pytest

from builders.pictures import drawn, words_in, words_of
from builders.recipes import PICTURE, README, Reading, read_beside
from builders.sandbox_runs import like_a_checkout
from testbed.binaries import find_binaries
from testbed.consoles import normal, with_blocks, written

RELEASES = {"1.28": "kubectl-1.28", "1.36": "kubectl"}
TANGRAM = str(Path(sys.prefix) / "bin" / "tangram")


def kubectl(release: str) -> Path:
    return find_binaries().path(RELEASES[release])


async def read_with(folder: Path, release: str, *options: str) -> Reading:
    programs = like_a_checkout(folder, kubectl(release))
    command = (TANGRAM, "sandbox", "--port", "0", *options)
    async with read_beside(command, folder, f"{programs}:{os.environ['PATH']}") as done:
        return done


@pytest.mark.parametrize("release", RELEASES)
async def test_every_command_of_the_readme_prints_what_is_shown(tmp_path: Path, release: str) -> None:
    reading = await read_with(tmp_path, release)
    if os.environ.get("TANGRAM_REFRESH") == "1":
        refresh(reading)
    assert reading.differing() == []
    assert normal(words_in(PICTURE.read_text("utf-8"))) == normal(words_of(reading.pictured))
    assert reading.refused() == []


@pytest.mark.smoke
async def test_the_same_commands_print_the_same_on_real_components(tmp_path: Path) -> None:
    reading = await read_with(tmp_path, "1.36", "--real")
    assert reading.differing() == []
    assert reading.refused() == []


def refresh(reading: Reading) -> None:
    now = iter([written(before, after) for before, after in zip(reading.shown, reading.printed, strict=True)])
    README.write_text(with_blocks(README.read_text("utf-8"), lambda _block: next(now)), "utf-8")
    if not PICTURE.exists() or normal(words_in(PICTURE.read_text("utf-8"))) != normal(
        words_of(reading.pictured)
    ):
        PICTURE.write_text(drawn(reading.pictured, "tangram sandbox"), "utf-8")
