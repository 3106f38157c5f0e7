"""What a payload archive says of itself, and whether that is true: every listed file is hashed once more."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Final, cast

import msgspec

from tangram.services.images.archive import Archive, Descriptor, NamedImage
from tangram.services.images.blob_reader import BlobReader
from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.signing import is_signed
from tangram.wire.errors import WireError
from tangram.wire.operator.payloads import FILE, FOLDER, SIGNATURE, Payload, read_payload

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_TOP: Final = FOLDER.removeprefix("/")
_PIECE: Final = 1 << 20
_LONGEST: Final = 64 << 20
"""A list of a quarter of a million files."""


class Inspected(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    image: str
    platform: str
    digest: str
    download: int
    """Bytes that a node downloads."""
    kind: str
    version: str
    architecture: str
    kernels: tuple[str, ...]
    modules: tuple[str, ...]
    requires: tuple[str, ...]
    files: int
    links: int
    size: int
    """Bytes of its files."""
    signed: bool
    signed_by_key: bool | None
    """Whether the key that was given signed it; None where none was given."""


class _Content(msgspec.Struct):
    text: bytes = b""
    signature: bytes = b""
    sums: dict[str, tuple[str, int, int]] = {}
    links: dict[str, str] = {}


def inspect(
    archive: Archive,
    *,
    key: Ed25519PublicKey | None = None,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> list[Inspected]:
    """Each image of the archive, which must be a payload, whole and true."""
    archive.check_contents()
    return [_inspect(archive, image, key, on_bytes) for image in archive.images]


def _inspect(
    archive: Archive, image: NamedImage, key: Ed25519PublicKey | None, on_bytes: Callable[[int], None]
) -> Inspected:
    part, *more = image.platforms
    if more:
        raise ImagesError(
            f"{image.name} in {archive.path} is for several platforms, and a payload is for one."
        )
    content = _Content(sums={}, links={})
    for layer in part.layers:
        _read_layer(archive, layer, content, on_bytes)
    if not content.text:
        raise ImagesError(
            f"{image.name} in {archive.path} has no {FOLDER}/{FILE}, so it is no payload: build one with "
            f"`tangram images payload build`."
        )
    try:
        payload = read_payload(content.text)
    except WireError as error:
        raise ImagesError(f"{image.name} in {archive.path}: {error}.") from None
    _compare(payload, content, f"{image.name} in {archive.path}")
    signed_by = None
    if key is not None:
        signed_by = bool(content.signature) and is_signed(content.text, content.signature, key)
    return Inspected(
        file=str(archive.path),
        image=image.name,
        platform=str(part.platform),
        digest=part.manifest.digest,
        download=part.size,
        kind=payload.kind,
        version=payload.version,
        architecture=payload.architecture,
        kernels=payload.kernels,
        modules=payload.modules,
        requires=payload.requires,
        files=len(payload.files),
        links=len(payload.links),
        size=sum(file.size for file in payload.files.values()),
        signed=bool(content.signature),
        signed_by_key=signed_by,
    )


def _compare(payload: Payload, content: _Content, what: str) -> None:
    listed = {path: (file.sha256, file.size, file.mode) for path, file in payload.files.items()}
    for path, sums in listed.items():
        if content.sums.get(path) != sums:
            raise ImagesError(
                f"{what} is damaged: {path} is not there as {FILE} lists it; build or copy it again."
            )
    if content.links != dict(payload.links):
        raise ImagesError(f"{what} is damaged: its links are not those that {FILE} lists; build it again.")


def _read_layer(
    archive: Archive, layer: Descriptor, content: _Content, on_bytes: Callable[[int], None]
) -> None:
    stream = cast("IO[bytes]", io.BufferedReader(BlobReader(archive, layer, on_bytes), _PIECE))
    try:
        with tarfile.open(fileobj=stream, mode="r|gz") as tar:
            for member in tar:
                if not member.name.startswith(f"{_TOP}/"):
                    continue
                path = member.name.removeprefix(f"{_TOP}/")
                if member.issym():
                    content.links[path] = member.linkname
                elif member.isfile():
                    _read_member(tar, member, path, content)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise archive.broken(f"a layer cannot be unpacked: {error}") from None


def _read_member(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str, content: _Content) -> None:
    source = tar.extractfile(member)
    if source is None:
        return
    digest, kept = hashlib.sha256(), b""
    wanted = path in {FILE, SIGNATURE} and member.size <= _LONGEST
    while piece := source.read(_PIECE):
        digest.update(piece)
        kept += piece if wanted else b""
    if path == FILE:
        content.text = kept
    elif path == SIGNATURE:
        content.signature = kept
    else:
        content.sums[path] = (digest.hexdigest(), member.size, member.mode)
