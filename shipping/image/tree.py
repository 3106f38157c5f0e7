"""The files of an image layer, held in memory: container path without the leading slash -> what is there.

Owners do not exist here (everything is root's) and neither do set-user-id bits: no program of the image may raise
its rights. Times are those inside the packages, so that they follow from the inputs. A layer names only folders that
the layers below lack, because a folder that is named again is changed.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from shipping.image.errors import ImageError

MERGED: Final = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
"""Folders that Debian has below /usr, and packages still name without."""


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    executable: bool = False
    mtime: int = 0


@dataclass(frozen=True, slots=True)
class Folder:
    mode: int = 0o755
    mtime: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    target: str
    mtime: int = 0


Entry = File | Folder | Link
Tree = Mapping[str, Entry]


def clean_name(text: str, origin: str) -> str:
    """The key of a path read from a package: merged below /usr, refused if it leads out of the image."""
    path = PurePosixPath(text.removeprefix("./").removeprefix("/"))
    if ".." in path.parts:
        raise ImageError(f"{origin} holds the path {text!r}, which leads out of the image: it is not used.")
    key = str(path)
    first, slash, rest = key.partition("/")
    return f"{MERGED[first]}{slash}{rest}" if first in MERGED else key


def joined(trees: Iterable[tuple[str, Tree]]) -> dict[str, Entry]:
    """Many packages as one tree. Two that bring different things under one name are refused."""
    whole: dict[str, Entry] = {}
    owner: dict[str, str] = {}
    for origin, tree in trees:
        for name, entry in tree.items():
            if whole.setdefault(name, entry) != entry:
                raise ImageError(f"{origin} and {owner[name]} both bring /{name}, and not the same one.")
            owner.setdefault(name, origin)
    return whole


def with_folders(tree: Tree, below: Container[str]) -> dict[str, Entry]:
    """The tree and each folder above its entries that neither it nor the layers `below` have."""
    whole = dict(tree)
    for name in tree:
        for parent in PurePosixPath(name).parents:
            key = str(parent)
            if key != "." and key not in below:
                whole.setdefault(key, Folder())
    return whole


def unpack(tree: Tree, folder: Path) -> None:
    """Write the tree below a folder of this machine. Links that leave it are written as they are, not followed."""
    for name in sorted(tree):
        entry = tree[name]
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match entry:
            case Folder():
                path.mkdir(exist_ok=True)
            case Link(target):
                path.symlink_to(target)
            case File(content, executable):
                path.write_bytes(content)
                path.chmod(0o755 if executable else 0o644)


def resolved(name: str, tree: Tree) -> str:
    """Where a path leads after every link of the tree, as a key; a path without links is itself."""
    for _ in range(40):
        parts = PurePosixPath(name).parts
        for depth in range(1, len(parts) + 1):
            entry = tree.get("/".join(parts[:depth]))
            if isinstance(entry, Link):
                start = "" if entry.target.startswith("/") else "/".join(parts[: depth - 1])
                name = normal([*start.split("/"), *entry.target.split("/"), *parts[depth:]])
                break
        else:
            return name
    raise ImageError(f"/{name} leads in a circle of links.")


def normal(parts: Iterable[str]) -> str:
    """The key of a path whose steps may lead up."""
    kept: list[str] = []
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part not in {"", "."}:
            kept.append(part)
    return "/".join(kept)
