"""A tree of files as a layer: a gzipped tar archive that is the same, byte for byte, every time.

Owner, order and modes are fixed here and nowhere else. gzip, because every registry and runtime reads it.
"""

import gzip
import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from shipping.image.tree import File, Folder, Link, Tree

_COMPRESSION = 6
"""One in a hundred larger than the best, in a third of the time."""


@dataclass(frozen=True, slots=True)
class Layer:
    """`digest` names the compressed file, `diff_id` what it unpacks to; both without `sha256:`."""

    digest: str
    diff_id: str
    size: int
    path: Path


def write_layer(tree: Tree, path: Path) -> Layer:
    """Write the tree as a layer at this path."""
    with path.open("wb") as file:
        outer = _Hashing(file)
        with gzip.GzipFile(
            filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=outer, mtime=0
        ) as packed:
            inner = _Hashing(packed)
            _write_tar(tree, inner)
    return Layer(outer.hash.hexdigest(), inner.hash.hexdigest(), outer.size, path)


def _write_tar(tree: Tree, stream: "_Hashing") -> None:
    with tarfile.TarFile(fileobj=stream, mode="w", copybufsize=1 << 20) as archive:
        for name in sorted(tree):
            header = tarfile.TarInfo(name)
            header.mtime = tree[name].mtime
            match tree[name]:
                case Folder(mode):
                    header.type = tarfile.DIRTYPE
                    header.mode = mode
                    archive.addfile(header)
                case Link(target):
                    header.type = tarfile.SYMTYPE
                    header.mode = 0o777
                    header.linkname = target
                    archive.addfile(header)
                case File(content, executable):
                    header.mode = 0o755 if executable else 0o644
                    header.size = len(content)
                    archive.addfile(header, io.BytesIO(content))


class _Hashing(io.RawIOBase):
    """A stream that hashes and counts what passes through."""

    def __init__(self, below: "BinaryIO | gzip.GzipFile") -> None:
        super().__init__()
        self._below = below
        self.hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        self.hash.update(data)
        self._below.write(data)
        self.size += len(data)
        return len(data)

    def tell(self) -> int:
        return self.size
