"""Images in a file: an OCI image layout in a tar archive, or what `docker save` writes, read where it lies.

Nothing is unpacked: what a layer is, and at which byte of the file it begins, is all that sending it needs. The file
may also be the self-extracting one of a bundle, which holds the same archive behind its script; one that is compressed
as a whole is spooled first. A file is judged before anything is done with it: whatever it names must be in it, and
`check_contents` compares every byte.
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

from tangram.services.images import saved
from tangram.services.images.errors import UNREADABLE, ImagesError
from tangram.services.images.release_files import image_of_file
from tangram.services.images.spooling import (
    NoRoomError,
    Place,
    UnreadableError,
    is_compressed,
    members_of,
    spooled,
)

INDEX: Final = "application/vnd.oci.image.index.v1+json"
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
NAME: Final = "io.containerd.image.name"
_HEAD: Final = 64 << 10
_MAGIC: Final = 16
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

    def __init__(self, path: Path, file: BinaryIO, members: dict[str, Place] | None = None) -> None:
        """`members` are those of the file if somebody knows them already."""
        self.path = path
        self._file = file
        self._made: dict[str, bytes] = {}
        self._members = self._read_members() if members is None else members
        self.images = tuple(self._read_images())

    def read(self, blob: Descriptor, at: int = 0, size: int | None = None) -> bytes:
        """Bytes of a blob. Safe from several threads: the file's position is not used."""
        if blob.digest in self._made:
            return self._made[blob.digest][at : None if size is None else at + size]
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
        for blob in self.blobs():
            if (found := self.digest_of(blob, on_bytes)) != blob.digest:
                raise self._another(blob, found)

    def blobs(self) -> list[Descriptor]:
        """Each configuration and layer once, however many images share it."""
        return list({blob.digest: blob for image in self.images for blob in image.blobs()}.values())

    def digest_of(self, blob: Descriptor, on_bytes: Callable[[int], None] = lambda _: None) -> str:
        """The digest of what the file holds for a blob."""
        digest, at = hashlib.sha256(), 0
        while at < blob.size:
            piece = self.read(blob, at, _PIECE)
            digest.update(piece)
            at += len(piece)
            on_bytes(len(piece))
        return f"sha256:{digest.hexdigest()}"

    def _read_members(self) -> dict[str, Place]:
        try:
            size = os.fstat(self._file.fileno()).st_size
            self._file.seek(_payload_at(self._file))
            # Members are entered by hand: `tarfile` would look for compression that layers never have outside.
            with tarfile.TarFile(fileobj=self._file, mode="r") as tar:
                found = members_of(tar)
        except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
            raise self.broken(f"it does not read as a tar archive: {error}") from None
        except OSError as error:
            raise ImagesError(f"{self.path} cannot be read ({error.strerror}).") from None
        if any(length < 0 or start + length > size for start, length in found.values()):
            raise self.broken("its end is missing")
        return found

    def _read_images(self) -> Iterator[NamedImage]:
        is_saved = saved.DOCUMENT in self._members
        if "index.json" not in self._members:
            if is_saved:
                return self._read_saved()
            raise self.broken(
                "it has neither index.json nor manifest.json, so it is neither an OCI image layout nor what docker "
                "save writes"
            )
        start, length = self._members["index.json"]
        top = _decoded(self, self._bytes(start, min(length, _DOCUMENT)), _Index, "index.json")
        if is_saved and any(_is_dockers(one) for one in top.manifests):
            return self._read_saved()
        return self._read_layout(top)

    def _read_saved(self) -> Iterator[NamedImage]:
        def content(place: Place, wanted: int) -> bytes:
            return self._bytes(place.start, min(place.size, wanted))

        otherwise = image_of_file(self.path.name)
        try:
            for one in saved.read_saved(self._members, content, otherwise=otherwise):
                image = self._described(one)
                yield from (
                    NamedImage(name, self._named(image.manifest, name), (image,)) for name in one.names
                )
        except saved.BrokenError as error:
            raise self.broken(str(error)) from None

    def _described(self, one: saved.Saved) -> PlatformImage:
        """The image in the words of registries. What names its blobs is in no such archive, and is made."""
        for blob in (one.config, *one.layers):
            self._members[f"blobs/{blob.digest.replace(':', '/', 1)}"] = blob.place
        config, *layers = (
            Descriptor(blob.media_type, blob.digest, blob.place.size) for blob in (one.config, *one.layers)
        )
        content = msgspec.json.encode(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": _bare(config),
                "layers": [_bare(layer) for layer in layers],
            }
        )
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self._made[digest] = content
        platform = Platform(one.architecture, one.os)
        manifest = Descriptor(MANIFEST, digest, len(content), platform)
        return PlatformImage(platform, manifest, config, tuple(layers))

    def _named(self, manifest: Descriptor, name: str) -> Descriptor:
        return msgspec.structs.replace(manifest, annotations={NAME: name})

    def _read_layout(self, top: _Index) -> Iterator[NamedImage]:
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
        if (found := f"sha256:{hashlib.sha256(content).hexdigest()}") != descriptor.digest:
            raise self._another(descriptor, found)
        return content

    def _present(self, blob: Descriptor) -> None:
        if _DIGEST.fullmatch(blob.digest) is None:
            raise self.broken(f"{blob.digest!r:.90} is no SHA-256 digest")
        found = self._members.get(_path_of(blob))
        if found is None or found[1] != blob.size:
            raise self.broken(f"{blob.digest:.20}, which it names, is not in it with {blob.size} bytes")

    def _another(self, blob: Descriptor, digest: str) -> ImagesError:
        return self.broken(f"what it holds as {blob.digest:.20} has the digest {digest:.19}")

    def broken(self, why: str) -> ImagesError:
        return _broken(self.path, why)


_Document = TypeVar("_Document", _Index, _Manifest)


@contextmanager
def opened(
    path: Path, *, layers: bool = True, on_bytes: Callable[[int], None] = lambda _: None
) -> Generator[Archive]:
    """The archive in this file, while the block runs.

    A compressed one is unpacked first, which `on_bytes` is told of; without `layers` it can be listed, and no more.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise ImagesError(
            f"{path} cannot be opened ({error.strerror}): name the archive of images, tangram-VERSION-oci.tar or the "
            ".run file of a bundle, or MetaX's file of an MXMACA image."
        ) from None
    with file:
        try:
            packed = is_compressed(file.read(_MAGIC))
            file.seek(0)
        except OSError as error:
            raise ImagesError(f"{path} cannot be read ({error.strerror}).") from None
        if not packed:
            yield Archive(path, file)
            return
        unpacked, members = _unpacked(path, file, layers=layers, on_bytes=on_bytes)
        with unpacked:
            yield Archive(path, unpacked, members)


def _unpacked(
    path: Path, file: BinaryIO, *, layers: bool, on_bytes: Callable[[int], None]
) -> tuple[BinaryIO, dict[str, Place]]:
    try:
        return spooled(file, layers=layers, on_bytes=on_bytes)
    except NoRoomError as error:
        raise ImagesError(
            f"{path} is unpacked into {error}, and that disk is full: set TMPDIR to a folder with more room."
        ) from None
    except UnreadableError as error:
        raise _broken(path, f"it does not read as a tar archive once it is unpacked: {error}") from None


def _broken(path: Path, why: str) -> ImagesError:
    return ImagesError(
        f"{path} is no whole archive of images: {why}; copy or download it again, and compare its checksum."
    )


def _bare(blob: Descriptor) -> dict[str, object]:
    return {"mediaType": blob.media_type, "digest": blob.digest, "size": blob.size}


def _is_dockers(entry: Descriptor) -> bool:
    """Whether an entry is as newer dockers write it: beside manifest.json, and without a name or a platform."""
    nameless = _NAMED.fullmatch(entry.annotations.get(NAME, "")) is None
    return nameless or (entry.media_type != INDEX and entry.platform is None)


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
