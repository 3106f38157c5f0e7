"""The one layer of a payload image: its files and links below /payload, and the list of them, written in one pass.

A file is hashed while it is written, so the list describes what is in the layer and not what the folder held a moment
before. Order, owners and times are fixed: the same folder gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Final

import msgspec

from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.describing import Wish, describe, text_of
from tangram.services.images.payloads.folder import Found, FoundFile
from tangram.wire.operator.payloads import FILE, FOLDER, SIGNATURE, Payload, PayloadFile

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_COMPRESSION: Final = 6
_PIECE: Final = 1 << 20
_TOP: Final = FOLDER.removeprefix("/")


class Layer(msgspec.Struct, frozen=True):
    """`digest` names the compressed file, `diff_id` what it unpacks to; both without `sha256:`."""

    payload: Payload
    digest: str
    diff_id: str


def write_layer(
    found: Found,
    wish: Wish,
    file: IO[bytes],
    key: Ed25519PrivateKey | None,
    on_bytes: Callable[[int], None],
) -> Layer:
    """Write the layer of this folder to a file."""
    outer = _Hashing(file)
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=outer, mtime=0) as packed:
        inner = _Hashing(packed)
        with tarfile.TarFile(
            fileobj=inner, mode="w", format=tarfile.PAX_FORMAT, copybufsize=_PIECE
        ) as archive:
            for folder in _folders(found):
                archive.addfile(entry(folder, tarfile.DIRTYPE, 0o755))
            files = {one.path: _add_file(archive, one, on_bytes) for one in found.files}
            for path, target in found.links.items():
                link = entry(f"{_TOP}/{path}", tarfile.SYMTYPE, 0o777)
                link.linkname = target
                archive.addfile(link)
            payload = describe(found, wish, files)
            text = text_of(payload)
            add_text(archive, f"{_TOP}/{FILE}", text)
            if key is not None:
                add_text(archive, f"{_TOP}/{SIGNATURE}", key.sign(text))
    return Layer(payload, outer.hash.hexdigest(), inner.hash.hexdigest())


def _add_file(archive: tarfile.TarFile, one: FoundFile, on_bytes: Callable[[int], None]) -> PayloadFile:
    header = entry(f"{_TOP}/{one.path}", tarfile.REGTYPE, one.mode)
    header.size = one.size
    try:
        source = one.place.open("rb")
    except OSError as error:
        raise ImagesError(f"{one.place} cannot be read ({error.strerror}).") from None
    with source:
        reader = _Reading(source, one, on_bytes)
        archive.addfile(header, reader)
        reader.finish()
    return PayloadFile(reader.hash.hexdigest(), one.size, one.mode)


def add_text(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """A small file."""
    header = entry(name, tarfile.REGTYPE, 0o644)
    header.size = len(content)
    archive.addfile(header, io.BytesIO(content))


def entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    """Of nobody, and of no time."""
    header = tarfile.TarInfo(name)
    header.type, header.mode = kind, mode
    return header


def _folders(found: Found) -> list[str]:
    paths = [f"{_TOP}/{path}" for path in (*(one.path for one in found.files), *found.links)]
    return sorted({path[:at] for path in paths for at, letter in enumerate(path) if letter == "/"})


class _Reading(io.RawIOBase):
    """A file that is hashed and counted as it is read, and must keep the size it was found with."""

    def __init__(self, below: IO[bytes], one: FoundFile, on_bytes: Callable[[int], None]) -> None:
        super().__init__()
        self._below, self._one, self._on_bytes = below, one, on_bytes
        self._left = one.size
        self.hash = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        try:
            data = self._below.read(size)
        except OSError as error:
            raise ImagesError(f"{self._one.place} cannot be read ({error.strerror}).") from None
        if len(data) < size:
            raise self._changed()
        self._left -= len(data)
        self.hash.update(data)
        self._on_bytes(len(data))
        return data

    def finish(self) -> None:
        if self._left or self._below.read(1):
            raise self._changed()

    def _changed(self) -> ImagesError:
        return ImagesError(
            f"{self._one.place} changed while it was read: build again when nobody writes there."
        )


class _Hashing(io.RawIOBase):
    """A stream that hashes what passes through."""

    def __init__(self, below: IO[bytes] | gzip.GzipFile) -> None:
        super().__init__()
        self._below = below
        self._written = 0
        self.hash = hashlib.sha256()

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        self.hash.update(data)
        self._below.write(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written
