"""The README's recipes, word for word, beside a sandbox: with kubectl old and new, on both control planes, and from a
checkout in which nothing was ever made.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from builders.recipes import Reading, read_beside
from builders.sandbox_runs import like_a_checkout
from testbed.binaries import find_binaries
from testbed.box import REPOSITORY

RELEASES = {"1.28": "kubectl-1.28", "1.36": "kubectl"}
TANGRAM = str(Path(sys.prefix) / "bin" / "tangram")
SETUP_S = 600.0
"""Most of it is fetching packages, which takes as long as it takes."""


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
    assert reading.differing() == []
    assert reading.refused() == []


@pytest.mark.smoke
async def test_the_same_commands_print_the_same_on_real_components(tmp_path: Path) -> None:
    reading = await read_with(tmp_path, "1.36", "--real")
    assert reading.differing() == []
    assert reading.refused() == []


async def test_a_checkout_that_was_never_used_needs_nothing_but_make_sandbox(tmp_path: Path) -> None:
    checkout, programs = tmp_path / "tangram", tmp_path / "bin"
    copy_of_the_repository(checkout)
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl("1.36"))
    command = ("make", "--no-print-directory", "sandbox")
    path = f"{programs}:{os.environ['PATH']}"
    async with read_beside(command, checkout, path, patience=SETUP_S, ends_with=-signal.SIGINT) as reading:
        assert reading.differing() == []
        assert reading.refused() == []
    assert (checkout / ".venv" / "bin" / "tangram").exists()


def copy_of_the_repository(folder: Path) -> None:
    """Everything that git has or would have."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - as people have it
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in listing.stdout.split("\0"):
        if name and (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, folder / name)
