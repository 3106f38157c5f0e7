"""Versions of Debian's programs in the README are those that tests fetch: Debian changes them; so must the page."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.debian_kit import environment_of, programs_of
from e2e.docker_kit import PACKAGES, PODMAN
from shipping.image.downloads import one_program
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from testbed.box import REPOSITORY

TABLE = (REPOSITORY / "README.md").read_text("utf-8").partition("\n## What ran against what\n")[2]


def of(name: str, packages: tuple[str, ...]) -> tuple[Path, dict[str, str]]:
    programs = programs_of(name, packages)
    return programs / "usr" / "bin" / name, environment_of(programs)


def registry() -> tuple[Path, dict[str, str]]:
    return one_program(
        "docker-registry", "usr/bin/docker-registry", of_this_machine(), Progress(sys.stdout)
    ), {}


@pytest.mark.parametrize(
    ("package", "fetched"),
    [
        pytest.param("docker.io", lambda: of("docker", PACKAGES), id="docker.io"),
        pytest.param("podman", lambda: of("podman", PODMAN), id="podman"),
        pytest.param("prometheus", lambda: of("prometheus", ("prometheus",)), id="prometheus"),
        pytest.param("docker-registry", registry, id="docker-registry"),
    ],
)
def test_versions_of_debians_programs_in_the_readme_are_those_that_are_fetched(
    package: str, fetched: Callable[[], tuple[Path, dict[str, str]]]
) -> None:
    stated = re.search(rf"`{re.escape(package)}` (\d+\.\d+)", TABLE)
    program, environment = fetched()
    said = subprocess.run(  # noqa: S603 - a program of Debian's
        [program, "--version"], capture_output=True, check=True, env=environment, text=True
    )
    told = re.search(r"\d+\.\d+", said.stdout + said.stderr)
    assert stated is not None
    assert told is not None
    assert told[0] == stated[1]
