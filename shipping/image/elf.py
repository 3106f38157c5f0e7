"""Whether every program and library of an image finds the libraries it names, without starting any of them.

This is what makes leaving packages out safe, for a platform that this machine cannot run too. Only what the loader
needs is read: the machine, the loader's name, the names of libraries and the folders a file asks them from.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shipping.image.errors import ImageError
from shipping.image.platforms import Platform
from shipping.image.tree import File, Link, Tree, normal, resolved

_HEAD = b"\x7fELF\x02\x01"  # 64 bits, least significant byte first
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29


@dataclass(frozen=True, slots=True)
class Elf:
    machine: int
    loader: str
    needed: tuple[str, ...]
    folders: tuple[str, ...]
    """Where it wants its libraries searched first."""


def read_elf(data: bytes) -> Elf | None:
    """What the loader would read of a file; nothing if it is no program or library."""
    if data[:6] != _HEAD:
        return None
    try:
        return _read(data)
    except (struct.error, LookupError, ValueError, OverflowError, StopIteration):
        raise ImageError("holds a broken table of libraries") from None


def _read(data: bytes) -> Elf:
    (machine,) = struct.unpack_from("<H", data, 18)
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, table + index * size) for index in range(count)]
    loader, entries = "", list[tuple[int, int]]()
    for kind, _, offset, _, _, length in segments:
        if kind == _INTERPRETER:
            loader = data[offset : offset + length].rstrip(b"\0").decode()
        elif kind == _DYNAMIC:
            entries = [struct.unpack_from("<QQ", data, at) for at in range(offset, offset + length - 15, 16)]
    values: dict[int, list[int]] = {}
    for tag, value in entries:
        if tag == 0:
            break
        values.setdefault(tag, []).append(value)
    if _NEEDED not in values:
        return Elf(machine, loader, (), ())
    (address,) = values[_STRINGS]
    strings = next(
        offset + address - start
        for kind, _, offset, start, _, length in segments
        if kind == _LOAD and start <= address < start + length
    )

    def text(at: int) -> str:
        return data[strings + at : data.index(b"\0", strings + at)].decode()

    folders = [
        folder for tag in (_RPATH, _RUNPATH) for at in values.get(tag, []) for folder in text(at).split(":")
    ]
    return Elf(machine, loader, tuple(text(at) for at in values[_NEEDED]), tuple(folders))


def problems(tree: Tree, platform: Platform) -> list[str]:
    """What would fail to load, or leads nowhere, in sentences."""
    folders = _folders(tree)
    found = [
        f"/{name} leads to {entry.target}, which is not there"
        for name, entry in sorted(tree.items())
        if isinstance(entry, Link) and (target := resolved(name, tree)) not in tree and target not in folders
    ]
    for name, entry in sorted(tree.items()):
        if not isinstance(entry, File):
            continue
        try:
            elf = read_elf(entry.content)
        except ImageError as error:
            found.append(f"/{name} {error}")
            continue
        if elf is not None:
            found.extend(f"/{name} {problem}" for problem in _problems(name, elf, tree, platform))
    return found


def absent(libraries: Iterable[str], tree: Tree, platform: Platform) -> list[str]:
    """Those of the named libraries that a file without a path of its own would not find."""
    places = _usual_places(platform)
    return [name for name in libraries if not any(_present(f"{place}/{name}", tree) for place in places)]


def _problems(name: str, elf: Elf, tree: Tree, platform: Platform) -> list[str]:
    if elf.machine != platform.elf_machine:
        return [f"is made for another machine than {platform.name}"]
    found = (
        []
        if not elf.loader or _present(elf.loader, tree)
        else [f"is started by {elf.loader}, which is not there"]
    )
    own = [folder.replace("${ORIGIN}", "$ORIGIN") for folder in elf.folders]
    here = f"/{name.rpartition('/')[0]}"
    places = [folder.replace("$ORIGIN", here) for folder in own]
    places += _usual_places(platform)
    for library in elf.needed:
        paths = [library] if "/" in library else [f"{place}/{library}" for place in places]
        if not any(_present(path, tree) for path in paths):
            found.append(f"needs {library}, which is not there")
    return found


def _usual_places(platform: Platform) -> list[str]:
    return [f"/usr/lib/{platform.triplet}", "/usr/lib"]


def _present(path: str, tree: Tree) -> bool:
    return isinstance(tree.get(resolved(normal(path.split("/")), tree)), File)


def _folders(tree: Mapping[str, object]) -> set[str]:
    return {name[:at] for name in tree for at, letter in enumerate(name) if letter == "/"}
