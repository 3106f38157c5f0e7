"""Stand-ins for the images that the Dockerfiles of `examples/application-images` begin with, in the tests' own engine.

MXMACA's images and Ubuntu's cannot be pulled here. A Dockerfile needs two things of them: a Debian system whose apt
installs packages, and in MXMACA's a folder `/opt/maca` with a library to link with. So a bare Debian has Ubuntu's
names, and the packages that the Dockerfiles name are in a folder of the image that its apt reads: a build has no
network. The library of MXMACA says which MXMACA it is of, and nothing else.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from builders.system_programs import system_program
from e2e.docker_kit import DockerRoom
from shipping.image.apt import Apt
from shipping.image.cachefolder import cache_folder, filled, key_of, only_builder
from shipping.image.debs import read_deb
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from testbed.box import REPOSITORY
from testbed.fresh.root import bare_debian

EXAMPLES: Final = REPOSITORY / "examples" / "application-images"
C500: Final = "cr.metax-tech.com/library/maca-c500:2.18.0.3-ubuntu18.04-amd64"
MXC500: Final = "cr.metax-tech.com/library/mxc500-maca:2.24.0.0"
LIBRARY: Final = "libmcruntime.so"
PACKAGES: Final = (
    *("autoconf", "build-essential", "libtool", "patchelf", "pkg-config"),
    *("libelf1", "libltdl7", "libnuma1"),
)
"""What the Dockerfiles install. A test holds the files to it: a package that is not here is not found."""

_BASE: Final = """\
FROM local/debian:12
COPY packages /srv/packages
RUN rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/* \\
    && echo 'deb [trusted=yes] file:/srv/packages ./' > /etc/apt/sources.list
"""
_COMPILER: Final = """\
RUN apt-get update \\
    && apt-get install -y --no-install-recommends g++ make \\
    && rm -rf /var/lib/apt/lists/*
"""
_MACA: Final = """\
COPY maca /opt/maca
ENV LD_LIBRARY_PATH=/opt/maca/lib
"""
_BUILDING_S: Final = 900.0
_SOURCE: Final = """\
const char *maca_version(void) { return VERSION; }
"""


def packages() -> Path:
    """The folder of all packages that the Dockerfiles install and all that these need, with an index for apt."""
    platform, progress = of_this_machine(), Progress(sys.stdout)
    target = cache_folder() / "programs" / f"{platform.name}-job-images-{key_of(PACKAGES)}"

    def fill(folder: Path) -> None:
        state = cache_folder() / "apt" / f"{platform.name}-job-images"
        try:
            with progress.step("Fetching the packages of the example images"):
                apt = Apt(state, platform)
                apt.update()
                apt.download(apt.closure(PACKAGES), folder)
        finally:
            shutil.rmtree(state, ignore_errors=True)
        entries: list[str] = []
        for archive in sorted(folder.glob("*.deb")):
            deb = read_deb(archive)
            # The version of a package may have a colon, which apt writes as %3a in a name and reads otherwise.
            named = archive.rename(folder / f"{deb.name}.deb")
            entries.append(
                f"{deb.control.strip()}\nFilename: ./{named.name}\nSize: {named.stat().st_size}\n"
                f"SHA256: {deb.sha256}\n"
            )
        (folder / "Packages").write_text("\n".join(entries), "utf-8")

    with only_builder(cache_folder(), progress.say):
        return filled(target, fill)


def make_stand_ins(room: DockerRoom) -> None:
    """The images that the Dockerfiles name, in this engine."""
    room.patience_s = _BUILDING_S
    must(room, "docker", "import", str(bare_debian(Progress(sys.stdout))), "local/debian:12")
    base = _context(room, "ubuntu", _BASE)
    shutil.copytree(packages(), base / "packages")
    must(room, "docker", "build", "--network=none", "-t", "ubuntu:18.04", "-t", "ubuntu:20.04", str(base))
    shutil.rmtree(base)
    for name, start in ((C500, "FROM ubuntu:18.04\n"), (MXC500, f"FROM ubuntu:20.04\n{_COMPILER}")):
        context = _context(room, "maca", f"{start}{_MACA}")
        write_library(context / "maca" / "lib", f"image-{name.rpartition(':')[2]}")
        must(room, "docker", "build", "--network=none", "-t", name, str(context))
        shutil.rmtree(context)


def write_library(folder: Path, version: str) -> None:
    """A library that says this version to who calls it. It needs no other, so it runs in every image."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [system_program("gcc"), "-shared", "-fPIC", "-nostdlib", f'-DVERSION="{version}"']
    subprocess.run(  # noqa: S603 - a compiler with our own words
        [*words, "-x", "c", "-o", str(folder / LIBRARY), "-"],
        input=_SOURCE.encode(),
        check=True,
        capture_output=True,
    )


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """A project of these files, in a new folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def must(room: DockerRoom, *words: str) -> str:
    """What a command in the room prints, which has to succeed."""
    done = room.inside(*words)
    assert done.status == 0, f"{' '.join(words)}\n{done.out[-3000:]}\n{done.err[-3000:]}"
    return done.out


def _context(room: DockerRoom, name: str, dockerfile: str) -> Path:
    return write_files(room.folder / f"context-{name}", {"Dockerfile": dockerfile})
