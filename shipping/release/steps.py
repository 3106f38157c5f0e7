"""What a release is made of: the commands that make it, and the files they must have made.

Each is a command that people can run too, and each runs in the exported sources, with the modules of those sources:
a release does not depend on what else is in the working tree. The list of files is written down rather than
looked up, so that a release that lacks one fails here and not with the person who looks for it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shipping.bundle.package import package_name
from shipping.bundle.runfile import run_file_name
from shipping.charts.packing import package_name as chart_name
from shipping.docker.building import docker_package_name
from shipping.image.building import archive_name, platform_archive_name, record_name, sbom_name
from shipping.image.platforms import PLATFORMS
from shipping.release.errors import ReleaseError
from shipping.release.version import Version

CHARTS: Final = ("metax-gpu-extensions", "metax-operator", "tangram")
_GRACE_S: Final = 20
"""Enough for a step to remove what it had begun."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command. It writes into the folder that its last word names."""

    what: str
    module: str
    words: tuple[str, ...]


RunStep = Callable[[Step, Path, Mapping[str, str]], None]
"""Runs a step in a folder of sources with these additions to the environment; raises `ReleaseError` if it fails."""


def steps_of(output: Path, *, refresh: bool) -> tuple[Step, ...]:
    """In the order that they need each other: the bundle packs image and charts."""
    folder = str(output)
    newest = ("--refresh",) if refresh else ()
    return (
        Step("wheel", "hatchling", ("build", "--target", "wheel", "--directory", folder)),
        Step("image", "shipping.image", (*newest, "--output", folder)),
        Step("charts", "shipping.charts", ("--output", folder)),
        Step("bundle", "shipping.bundle", ("--output", folder)),
    )


def files_of(version: Version) -> frozenset[str]:
    """The names of everything the steps make."""
    images = {archive_name(version.text), record_name(version.text)}
    for platform in PLATFORMS:
        images |= {platform_archive_name(version.text, platform), sbom_name(version.text, platform)}
    return frozenset(
        {f"tangram_gpu-{version.of_wheel}-py3-none-any.whl"}
        | images
        | {chart_name(chart, version.text) for chart in CHARTS}
        | {run_file_name(version.text)}
        | {package_name(version.text, base=base) for base in (True, False)}
        | {docker_package_name(version.text)}
    )


def run_step(step: Step, tree: Path, environment: Mapping[str, str]) -> None:
    """Run it to its end. It says its progress itself; when this is stopped, so is everything it has started."""
    command = [sys.executable, "-m", step.module, *step.words]
    paths = [str(tree), str(tree / "src")]
    settings = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(paths)}
    # A group of its own: Ctrl-C reaches this process alone, which then ends the group, whatever has been started in it.
    child = subprocess.Popen(command, cwd=tree, env=settings, process_group=0)  # noqa: S603 - our own modules
    try:
        status = child.wait()
    except BaseException:
        _end(child)
        raise
    if status != 0:
        raise ReleaseError(f"The release was not made: its {step.what} failed, as said above.")


def refuse_other_files(folder: Path, expected: Sequence[str] | frozenset[str]) -> None:
    """Raise unless the folder holds exactly these."""
    found = {path.name for path in folder.iterdir()}
    lacking, strange = sorted(set(expected) - found), sorted(found - set(expected))
    if lacking or strange:
        told = [f"lacks {', '.join(lacking)}"] if lacking else []
        told += [f"also holds {', '.join(strange)}"] if strange else []
        raise ReleaseError(
            f"The release was not made: it {' and '.join(told)}. shipping/release/steps.py says what a release holds."
        )


def _end(child: subprocess.Popen[bytes]) -> None:
    for ending, patience in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, ending)
        with suppress(subprocess.TimeoutExpired):
            child.wait(patience)
            return
