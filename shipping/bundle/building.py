"""`make bundle`: image, charts and the tool, together in the packages that go to sites without internet.

Drivers and MXMACA are MetaX's and no part of a release. Whoever has payloads of them may have them packed along; each
is read first, so that nobody carries a broken one to where it cannot be replaced.
"""

from dataclasses import dataclass
from pathlib import Path

from shipping.bundle.errors import BundleError
from shipping.bundle.package import contents, package_name, write_package
from shipping.bundle.runfile import run_file_name, write_run_file
from shipping.charts.packing import pack
from shipping.docker.building import docker_package_name, write_docker_package
from shipping.image.building import archive_name, build
from shipping.image.progress import Progress
from shipping.image.project import ROOT, read_project
from tangram.services.images.archive import opened


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files in dist/."""

    run_file: Path
    package: Path
    base: Path
    docker: Path
    """The installers of metax-docker."""


def bundle(output: Path, progress: Progress, *, payloads: tuple[Path, ...] = (), root: Path = ROOT) -> Bundle:
    """The packages of the working tree `root` in the folder `output`, with all that they are made of."""
    _read_payloads(payloads, progress)
    project = read_project(root)
    version = project.version
    build(output, progress, root=root)
    charts = pack(output, root)
    made = Bundle(
        output / run_file_name(version),
        output / package_name(version, base=False),
        output / package_name(version, base=True),
        output / docker_package_name(version),
    )
    with progress.step(f"Writing {made.run_file}"):
        write_run_file(output / archive_name(version), version, made.run_file)
    with progress.step(f"Writing {made.package}"):
        write_package(made.package, contents(root, version, charts, made.run_file, payloads), project.moment)
        write_package(made.base, contents(root, version, charts, None), project.moment)
    with progress.step(f"Writing {made.docker}"):
        write_docker_package(output / archive_name(version), version, project.moment, made.docker)
    for path in (made.run_file, made.package, made.base, made.docker):
        progress.say(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return made


def _read_payloads(payloads: tuple[Path, ...], progress: Progress) -> None:
    names = [path.name for path in payloads]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BundleError(
            f"--payload names {', '.join(twice)} twice, and a package has one folder for all: rename one."
        )
    for path in payloads:
        with progress.step(f"Reading {path}"), opened(path) as archive:
            archive.check_contents()
