"""Image layers: a set of container paths written as a tar file that is the same, byte for byte, every time.

Owner, times and order are fixed here and nowhere else, so that equal content means an equal digest and a container
runtime unpacks a layer it already has only once. Layers are not compressed: they travel from one folder of this
machine to another, where gzip costs more time than it saves.
"""

import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from testbed.errors import BedError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LINKED_FOLDERS = {
    "bin": "usr/bin",
    "lib": "usr/lib",
    "lib64": "usr/lib64",
    "sbin": "usr/bin",
    "usr/sbin": "usr/bin",
    "var/run": "run",
}
"""Old names of folders, links in every image here, and where they lead."""


@dataclass(frozen=True, slots=True)
class File:
    content: bytes | Path
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class Link:
    target: str


Entry = File | Folder | Link
Tree = Mapping[str, Entry]
"""Container path without the leading slash -> what is there."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A finished layer. It is not compressed, so its digest is also its diff id."""

    digest: str
    size: int
    path: Path


def container_path(text: str) -> str:
    """The key of a tree for an absolute path inside the container.

    A path through one of the linked folders is led to the real one: a layer that brought a folder of that name would
    replace the link and hide everything behind it.
    """
    path = PurePosixPath(text)
    key = "/".join(path.parts[1:])
    if not path.is_absolute() or ".." in path.parts or not key or key in LINKED_FOLDERS:
        raise BedError(
            f"{text!r} cannot be placed in an image: give the absolute path of a file, without '..'."
        )
    for link, target in LINKED_FOLDERS.items():
        if key.startswith(f"{link}/"):
            return target + key.removeprefix(link)
    return key


def with_parents(tree: Tree, present: Tree) -> dict[str, Entry]:
    """The tree and every folder above its entries, except what the layers below already `present` with their modes."""
    whole = dict(tree)
    for name in tree:
        for parent in PurePosixPath(name).parents:
            key = str(parent)
            if key != "." and key not in present:
                whole.setdefault(key, Folder())
    return whole


def write_layer(tree: Tree, stream: BinaryIO) -> str:
    """Write the tree as a tar file; return its sha256 in hexadecimal."""
    counted = _Counted(stream)
    with tarfile.TarFile(fileobj=counted, mode="w", copybufsize=1 << 20) as archive:
        for header, content in _members(tree):
            if content is None:
                archive.addfile(header)
            elif isinstance(content, bytes):
                archive.addfile(header, io.BytesIO(content))
            else:
                with content.open("rb") as source:
                    archive.addfile(header, source)
    return counted.hash.hexdigest()


def _members(tree: Tree) -> Iterator[tuple[tarfile.TarInfo, bytes | Path | None]]:
    for name in sorted(tree):
        entry = tree[name]
        header = tarfile.TarInfo(name)
        match entry:
            case Folder(mode):
                header.type = tarfile.DIRTYPE
                header.mode = mode
                yield header, None
            case Link(target):
                header.type = tarfile.SYMTYPE
                header.mode = 0o777
                header.linkname = target
                yield header, None
            case File(content, executable):
                header.mode = 0o755 if executable else 0o644
                header.size = len(content) if isinstance(content, bytes) else content.stat().st_size
                yield header, content


class _Counted(io.RawIOBase):
    """A stream that hashes what passes through, so that a layer is read only once."""

    def __init__(self, below: BinaryIO) -> None:
        super().__init__()
        self._below = below
        self.hash = hashlib.sha256()
        self.size = 0

    def write(self, data: "ReadableBuffer", /) -> int:
        self.hash.update(data)
        written = self._below.write(data)
        self.size += written
        return written

    def tell(self) -> int:
        return self.size
