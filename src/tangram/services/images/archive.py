"""Images in a file: an OCI image layout in a tar archive, read where it lies.

Nothing is unpacked: what a layer is, and at which byte of the file it begins, is all that sending it needs. The file
may also be the self-extracting one of a bundle, which holds the same archive behind its script. A file is judged
before anything is done with it: whatever it names must be in it, and `check_contents` compares every byte.
"""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec

from tangram.services.images.errors import UNREADABLE, ImagesError

INDEX: Final = "application/vnd.oci.image.index.v1+json"
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
NAME: Final = "io.containerd.image.name"
_HEAD: Final = 64 << 10
_SCRIPT: Final = b"#!/bin/sh"
_PAYLOAD: Final = re.compile(rb"^payload_at=([0-9]{1,7})$", re.MULTILINE)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_NAMED: Final = re.compile(
    r"[a-zA-Z0-9][a-zA-Z0-9.:-]*(?:/[a-z0-9][a-z0-9._-]*)*/[a-z0-9][a-z0-9._-]*:[\w][\w.-]*", re.ASCII
)
"""It becomes a part of addresses and of command lines."""
_DOCUMENT: Final = 4 << 20
"""Registries take no larger manifest."""
_PIECE: Final = 1 << 20


class Platform(msgspec.Struct, frozen=True):
    architecture: str
    os: str

    def __str__(self) -> str:
        return f"{self.os}/{self.architecture}"


class Descriptor(msgspec.Struct, frozen=True, rename="camel"):
    media_type: str
    digest: str
    size: int
    platform: Platform | None = None
    annotations: dict[str, str] = {}


class _Index(msgspec.Struct, frozen=True):
    manifests: list[Descriptor]


class _Manifest(msgspec.Struct, frozen=True):
    config: Descriptor
    layers: list[Descriptor]


class PlatformImage(msgspec.Struct, frozen=True):
    """The image of one platform. Its blobs are the configuration and the layers, lowest first."""

    platform: Platform
    manifest: Descriptor
    config: Descriptor
    layers: tuple[Descriptor, ...]

    @property
    def size(self) -> int:
        """Bytes that a node downloads."""
        return self.manifest.size + self.config.size + sum(layer.size for layer in self.layers)


class NamedImage(msgspec.Struct, frozen=True):
    """One image for all its platforms. `top` is the index over them, or the only manifest."""

    name: str
    top: Descriptor
    platforms: tuple[PlatformImage, ...]

    @property
    def repository(self) -> str:
        """The last part of its name, which stays what it is in every registry."""
        return self.name.rpartition(":")[0].rpartition("/")[2]

    @property
    def tag(self) -> str:
        return self.name.rpartition(":")[2]

    def blobs(self) -> Iterator[Descriptor]:
        """Each configuration and layer once, however many platforms share it."""
        seen: set[str] = set()
        for one in self.platforms:
            for blob in (one.config, *one.layers):
                if blob.digest not in seen:
                    seen.add(blob.digest)
                    yield blob


class Archive:
    """An open file of images. `images` are all of them."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self._members = self._read_members()
        self.images = tuple(self._read_images())

    def read(self, blob: Descriptor, at: int = 0, size: int | None = None) -> bytes:
        """Bytes of a blob. Safe from several threads: the file's position is not used."""
        start, length = self._members[_path_of(blob)]
        return self._bytes(start + at, length - at if size is None else min(size, length - at))

    def _bytes(self, at: int, wanted: int) -> bytes:
        try:
            data = os.pread(self._file.fileno(), wanted, at)
        except OSError as error:
            raise ImagesError(f"{self.path} cannot be read any more ({error.strerror}).") from None
        if len(data) != wanted:
            raise self.broken("it has become shorter while it was read")
        return data

    def place(self, blob: Descriptor) -> int:
        """The byte of the file at which a blob begins."""
        return self._members[_path_of(blob)][0]

    def check_contents(self, on_bytes: Callable[[int], None] = lambda _: None) -> None:
        """Raise unless each blob is what its name says."""
        for image in self.images:
            for blob in image.blobs():
                digest, at = hashlib.sha256(), 0
                while at < blob.size:
                    piece = self.read(blob, at, _PIECE)
                    digest.update(piece)
                    at += len(piece)
                    on_bytes(len(piece))
                self._compare(blob, digest.hexdigest())

    def _read_members(self) -> dict[str, tuple[int, int]]:
        try:
            size = os.fstat(self._file.fileno()).st_size
            self._file.seek(_payload_at(self._file))
            # Members are entered by hand: `tarfile` would look for compression that layers never have outside.
            with tarfile.TarFile(fileobj=self._file, mode="r") as tar:
                found = {one.name: (one.offset_data, one.size) for one in tar if one.isfile()}
        except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
            raise self.broken(f"it does not read as a tar archive: {error}") from None
        except OSError as error:
            raise ImagesError(f"{self.path} cannot be read ({error.strerror}).") from None
        if any(length < 0 or start + length > size for start, length in found.values()):
            raise self.broken("its end is missing")
        return found

    def _read_images(self) -> Iterator[NamedImage]:
        if "index.json" not in self._members:
            raise self.broken("it has no index.json, so it is no OCI image layout; `make image` writes one")
        start, length = self._members["index.json"]
        top = _decoded(self, self._bytes(start, min(length, _DOCUMENT)), _Index, "index.json")
        if not top.manifests:
            raise self.broken("it holds no image")
        for entry in top.manifests:
            name = entry.annotations.get(NAME, "")
            if _NAMED.fullmatch(name) is None:
                raise self.broken(f"one of its images has no name and version ({NAME} is {name!r:.120})")
            yield NamedImage(name, entry, tuple(self._platforms(entry)))

    def _platforms(self, top: Descriptor) -> Iterator[PlatformImage]:
        entries = [top]
        if top.media_type == INDEX:
            entries = _decoded(self, self._document(top), _Index, top.digest).manifests
        for entry in entries:
            if entry.media_type != MANIFEST or entry.platform is None:
                raise self.broken(f"{entry.digest:.20} is no image manifest with a platform")
            inside = _decoded(self, self._document(entry), _Manifest, entry.digest)
            for blob in (inside.config, *inside.layers):
                self._present(blob)
            yield PlatformImage(entry.platform, entry, inside.config, tuple(inside.layers))

    def _document(self, descriptor: Descriptor) -> bytes:
        self._present(descriptor)
        if descriptor.size > _DOCUMENT:
            raise self.broken(f"{descriptor.digest:.20} has {descriptor.size} bytes, too many for a manifest")
        content = self.read(descriptor)
        self._compare(descriptor, hashlib.sha256(content).hexdigest())
        return content

    def _present(self, blob: Descriptor) -> None:
        if _DIGEST.fullmatch(blob.digest) is None:
            raise self.broken(f"{blob.digest!r:.90} is no SHA-256 digest")
        found = self._members.get(_path_of(blob))
        if found is None or found[1] != blob.size:
            raise self.broken(f"{blob.digest:.20}, which it names, is not in it with {blob.size} bytes")

    def _compare(self, blob: Descriptor, digest: str) -> None:
        if blob.digest != f"sha256:{digest}":
            raise self.broken(f"what it holds as {blob.digest:.20} has the digest sha256:{digest:.12}")

    def broken(self, why: str) -> ImagesError:
        return ImagesError(
            f"{self.path} is no whole archive of images: {why}; copy or download it again, and compare its checksum."
        )


_Document = TypeVar("_Document", _Index, _Manifest)


@contextmanager
def opened(path: Path) -> Generator[Archive]:
    """The archive in this file, while the block runs."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise ImagesError(
            f"{path} cannot be opened ({error.strerror}): name the archive of images, tangram-VERSION-oci.tar or the "
            ".run file of a bundle."
        ) from None
    with file:
        yield Archive(path, file)


def _payload_at(file: BinaryIO) -> int:
    head = file.read(_HEAD)
    if not head.startswith(_SCRIPT):
        return 0
    found = _PAYLOAD.search(head)
    return int(found[1]) if found is not None else 0


def _path_of(blob: Descriptor) -> str:
    return f"blobs/{blob.digest.replace(':', '/', 1)}"


def _decoded(archive: Archive, content: bytes, kind: type[_Document], what: str) -> _Document:
    try:
        return msgspec.json.decode(content, type=kind)
    except UNREADABLE as error:
        raise archive.broken(f"{what:.20} cannot be read ({error})") from None
