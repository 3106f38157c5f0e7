"""The three layers of an image, each in the cache under the name of its inputs.

From what changes seldom to what changes always: Debian, other people's Python packages, Tangram. A new Tangram
changes only the last, and a node that has the others downloads a few megabytes.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from shipping.image.bytecode import with_bytecode
from shipping.image.cachefolder import cache_folder, filled, key_of
from shipping.image.debs import Deb, read_deb
from shipping.image.elf import absent, problems
from shipping.image.errors import ImageError
from shipping.image.layers import Layer, write_layer
from shipping.image.platforms import Platform, of_this_machine
from shipping.image.recipe import PYTHON, VENDOR_LIBRARIES_NEED
from shipping.image.sbom import Part, part_of_deb, part_of_wheel
from shipping.image.system import base_tree
from shipping.image.tree import Entry, File, Folder, Tree, joined, unpack, with_folders
from shipping.image.wheels import Wheel, read_wheel

_SCRIPT: Final = """#!/usr/bin/python{python}
import sys

from {module} import {function}

sys.exit({function}())
"""


class Facts(msgspec.Struct, frozen=True):
    """What later layers and documents need to know of a finished one."""

    digest: str
    diff_id: str
    size: int
    folders: list[str]
    parts: list[Part]


class Stored(msgspec.Struct, frozen=True):
    """A layer in the cache."""

    folder: Path
    facts: Facts

    @property
    def layer(self) -> Layer:
        facts = self.facts
        return Layer(facts.digest, facts.diff_id, facts.size, self.folder / "layer.tar.gz")


def debian_layer(debs: Path, platform: Platform, python_root: Path) -> Stored:
    """Debian's Python and the libraries it needs."""

    def make() -> tuple[Tree, Sequence[Part]]:
        packages = read_debs(debs)
        names = {deb.name: deb for deb in packages}
        tree = with_bytecode(base_tree(packages), python_root, of_this_machine())
        _refuse_broken(tree, platform)
        _refuse_without_vendor_needs(tree, platform)
        return with_folders(tree, ()), [part_of_deb(deb, names) for deb in packages]

    return _stored("debian", [debs.name, platform.name], make)


def wheel_layer(wheels: Path, debs: Path, below: Stored, platform: Platform, python_root: Path) -> Stored:
    """Other people's Python packages, from the lock file."""

    def make() -> tuple[Tree, Sequence[Part]]:
        read = [read_wheel(path) for path in sorted(wheels.glob("*.whl"))]
        tree = with_bytecode(
            joined((wheel.name, wheel.files) for wheel in read), python_root, of_this_machine()
        )
        _refuse_broken({**base_tree(read_debs(debs)), **tree}, platform)
        return with_folders(tree, frozenset(below.facts.folders)), [part_of_wheel(wheel) for wheel in read]

    return _stored("wheels", [wheels.name, debs.name, platform.name], make)


def tangram_tree(wheel: Wheel, python_root: Path) -> dict[str, Entry]:
    """Our wheel with its commands."""
    scripts: dict[str, Entry] = {}
    for name, target in wheel.scripts.items():
        module, _, function = target.partition(":")
        text = _SCRIPT.format(python=PYTHON, module=module, function=function)
        scripts[f"usr/local/bin/{name}"] = File(text.encode(), executable=True)
    return with_bytecode({**wheel.files, **scripts}, python_root, of_this_machine())


def tangram_layer(tree: Tree, below: Sequence[Stored], platform: Platform, moment: int) -> Stored:
    """Tangram itself, the only layer that changes with it, and the only one whose times are the project's."""
    present = frozenset(name for stored in below for name in stored.facts.folders)
    whole = {name: replace(entry, mtime=moment) for name, entry in with_folders(tree, present).items()}
    contents = [f"{name} {entry!r}" for name, entry in sorted(whole.items())]
    return _stored("tangram", [platform.name, *contents], lambda: (whole, ()))


def python_on_disk(debs: Path) -> Path:
    """An unpacked base layer of this machine's own platform, whose Python compiles modules."""
    target = cache_folder() / "pythons" / key_of([debs.name, _recipe()])
    return filled(target, lambda folder: unpack(base_tree(read_debs(debs)), folder))


def read_debs(folder: Path) -> list[Deb]:
    """The packages in a folder of downloads."""
    return [read_deb(path) for path in sorted(folder.glob("*.deb"))]


def _stored(kind: str, inputs: Sequence[str], make: Callable[[], tuple[Tree, Sequence[Part]]]) -> Stored:
    target = cache_folder() / "layers" / f"{kind}-{key_of([kind, _recipe(), *inputs])}"

    def fill(folder: Path) -> None:
        tree, parts = make()
        layer = write_layer(tree, folder / "layer.tar.gz")
        folders = sorted(name for name, entry in tree.items() if isinstance(entry, Folder))
        facts = Facts(layer.digest, layer.diff_id, layer.size, folders, sorted(parts))
        (folder / "facts.json").write_bytes(msgspec.json.encode(facts))

    return _whole(target) or Stored(filled(target, fill), _facts(target))


def _whole(folder: Path) -> Stored | None:
    """A finished layer, if its bytes are those that its facts name; else nothing is left of it.

    An image with a layer of another digest is refused by every runtime, and only there.
    """
    try:
        stored = Stored(folder, _facts(folder))
        with stored.layer.path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == stored.facts.digest:
                os.utime(folder)
                return stored
    except (FileNotFoundError, msgspec.DecodeError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _facts(folder: Path) -> Facts:
    return msgspec.json.decode((folder / "facts.json").read_bytes(), type=Facts)


def _refuse_broken(tree: Mapping[str, Entry], platform: Platform) -> None:
    found = problems(tree, platform)
    if found:
        raise ImageError(
            f"The image for {platform.name} would not work: {'; '.join(found[:5])}. See what recipe.py leaves out."
        )


def _refuse_without_vendor_needs(tree: Mapping[str, Entry], platform: Platform) -> None:
    lacking = absent(VENDOR_LIBRARIES_NEED, tree, platform)
    if lacking:
        raise ImageError(
            f"The image for {platform.name} lacks {', '.join(lacking)}, which a vendor's library needs that a node "
            f"mounts into the container: name the Debian package of it in recipe.py."
        )


def _recipe() -> str:
    """The builder's own code: another one may write another image from the same packages."""
    return key_of(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
