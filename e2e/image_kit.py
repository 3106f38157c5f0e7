"""The image that people install, made from a copy of the sources as they are now, for the tests that run it.

A copy, because a working tree may be edited while the tests run; and with its own moment, because a copy is no
checkout.
"""

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest

from builders.system_programs import system_program
from shipping.image.building import Record, archive_name, build, platform_archive_name
from shipping.image.elf import read_elf
from shipping.image.platforms import Platform
from shipping.image.progress import Progress
from shipping.image.project import ROOT, read_project
from testbed.api import Object
from testbed.images import Image

SOURCES = ("src", "shipping", "runtime", "deploy", "requirements", "pyproject.toml", "README.md", "LICENSE")
EMULATORS = {"arm64": "usr/bin/qemu-aarch64-static", "amd64": "usr/bin/qemu-x86_64-static"}
"""Programs of the package qemu-user-static, by the platform they run."""

IMPORT_EVERYTHING = """
import importlib, os, pkgutil
from importlib.metadata import packages_distributions
import tangram

others = sorted(name for name in packages_distributions() if name.isidentifier())
ours = [one.name for one in pkgutil.walk_packages(tangram.__path__, "tangram.") if not one.name.endswith("__main__")]
for name in [*others, *ours]:
    importlib.import_module(name)
print("imported", len(ours), "of ours and", *others)
print("as", os.getuid())
"""

LOAD_EVERY_LIBRARY = """
import ctypes, pathlib, sys

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.so")):
    try:
        ctypes.CDLL(str(path))
        print(f"{path.name}: loaded")
    except OSError as error:
        print(f"{path.name}: {error}")
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A finished build: what it says it made, and the folder."""

    record: Record
    folder: Path
    version: str
    sources: Path

    @property
    def archive(self) -> Path:
        return self.folder / archive_name(self.version)

    def archive_of(self, platform: Platform) -> Path:
        return self.folder / platform_archive_name(self.version, platform)


def copy_sources(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """The sources in a folder of their own, with the moment of this checkout."""
    patch.setenv("SOURCE_DATE_EPOCH", str(read_project().moment))
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def make(sources: Path, folder: Path) -> Made:
    """Build the image of these sources."""
    record = build(folder, Progress(sys.stdout), root=sources)
    return Made(record, folder, record.image.rpartition(":")[2], sources)


def as_image(made: Made, archive: Path) -> Image:
    """For `Cluster.load_image`."""
    return Image(name=made.record.image, tarball=archive, size=archive.stat().st_size, layers=())


def locked_container(
    name: str, image: str, *, arguments: Sequence[str] = (), command: Sequence[str] = ()
) -> Object:
    """A container with no rights at all: not root, nothing to write to, no capability."""
    made: Object = {
        "name": name,
        "image": image,
        "imagePullPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    if arguments:
        made["args"] = list(arguments)
    if command:
        made["command"] = list(command)
    return made


def needing(library: str, folder: Path) -> Path:
    """A shared object that names this one library as needed, and nothing else.

    It is linked against a stand-in of that name, so this machine need not have the library. Its own name can be a key
    of a ConfigMap, where no plus may be.
    """
    source = folder / "empty.c"
    source.write_text("")
    stand_in, made = folder / library, folder / f"needs-{library.partition('.so')[0].replace('+', 'x')}.so"
    _linked(source, "-o", stand_in, f"-Wl,-soname,{library}")
    _linked(source, "-o", made, "-Wl,--no-as-needed", stand_in)
    elf = read_elf(made.read_bytes())
    assert elf is not None
    assert elf.needed == (library,)
    return made


def _linked(*words: str | Path) -> None:
    command = [system_program("gcc"), "-shared", "-nostdlib", *map(str, words)]
    subprocess.run(command, check=True, timeout=60)  # noqa: S603 - the compiler, with words of ours


def layer_digests(archive: Path) -> list[str]:
    """The layers of a platform's archive, lowest first."""
    with tarfile.open(archive) as tar:
        (listed,) = json.loads(_content(tar, "manifest.json"))
    return [str(name) for name in listed["Layers"]]


def unpack(archive: Path, folder: Path) -> None:
    """The root file system of a platform's archive, layer over layer."""
    with tarfile.open(archive) as tar:
        (listed,) = json.loads(_content(tar, "manifest.json"))
        for name in listed["Layers"]:
            with tarfile.open(fileobj=BytesIO(_content(tar, name)), mode="r:gz") as layer:
                # Our own archive: an image has absolute links, which the careful filter refuses.
                layer.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
                layer.extractall(folder)  # noqa: S202


def _content(tar: tarfile.TarFile, name: str) -> bytes:
    found = tar.extractfile(name)
    assert found is not None
    return found.read()
