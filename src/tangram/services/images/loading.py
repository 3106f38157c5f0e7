"""Images from an archive into the container runtime of this machine, for clusters without a registry.

Only what this machine can run is handed over, as a stream: nothing is written beside the archive. Afterwards the
runtime is asked for each image by its name, because that is what the kubelet will do. MXMACA images get a second name,
the one that the charts ask for where no registry is configured.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from tangram.services.images.archive import INDEX, NAME, Archive, Descriptor, NamedImage, PlatformImage
from tangram.services.images.errors import ImagesError
from tangram.services.images.machine import Ended, Machine
from tangram.services.images.payloads.naming import HOME
from tangram.services.images.release_files import is_maca
from tangram.services.images.runtimes import Kind, Runtime, is_denied

_PIECE: Final = 1 << 20
_END: Final = bytes(1024)


class Loaded(msgspec.Struct, frozen=True):
    name: str
    platform: str
    digest: str
    runtime: str


def load(
    archive: Archive, runtime: Runtime, machine: Machine, on_bytes: Callable[[int], None] = lambda _: None
) -> list[Loaded]:
    """Hand all images over to the runtime."""
    return [one for image in archive.images for one in _load(archive, image, runtime, machine, on_bytes)]


def names_in(runtime: Kind, image: NamedImage) -> tuple[str, ...]:
    """What an image is called in a runtime. Docker alone knows names without a registry."""
    first, slash, _ = image.name.partition("/")
    has_registry = bool(slash) and ("." in first or ":" in first or first == "localhost")
    meant = image.name if slash else f"library/{image.name}"
    own = image.name if has_registry or runtime is Kind.DOCKER else f"docker.io/{meant}"
    if has_registry and not is_maca(image.name):
        return (own,)
    return tuple(dict.fromkeys((own, f"{HOME}/{image.repository}:{image.tag}")))


def platform_of(archive: Archive, image: NamedImage, architecture: str) -> PlatformImage:
    """The part of an image that runs on such machines."""
    for one in image.platforms:
        if (one.platform.os, one.platform.architecture) == ("linux", architecture):
            return one
    held = ", ".join(str(one.platform) for one in image.platforms)
    raise ImagesError(
        f"{archive.path} holds {image.name} for {held}, and this machine is linux/{architecture}: no image of it runs "
        "here."
    )


def _load(
    archive: Archive, image: NamedImage, runtime: Runtime, machine: Machine, on_bytes: Callable[[int], None]
) -> list[Loaded]:
    part = platform_of(archive, image, machine.architecture)
    names = names_in(runtime.kind, image)
    ended = machine.feed(runtime.load, _counted(stream(archive, names, part), on_bytes))
    if not ended.well:
        raise ImagesError(_failure(image, runtime, ended))
    for name in names:
        seen = machine.run(runtime.listing(name))
        if not seen.well or not seen.output.strip():
            raise ImagesError(
                f"{runtime.where} took {name} without complaint, but does not list it: see its log, then load again."
            )
    return [Loaded(name, str(part.platform), part.manifest.digest, runtime.where) for name in names]


def stream(archive: Archive, names: Sequence[str], part: PlatformImage) -> Iterator[bytes]:
    """One platform as an archive of its own, in the two forms that runtimes read."""
    tops = [
        {
            "mediaType": part.manifest.media_type,
            "digest": part.manifest.digest,
            "size": part.manifest.size,
            "annotations": {NAME: name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]},
            "platform": {"architecture": part.platform.architecture, "os": part.platform.os},
        }
        for name in names
    ]
    for_docker = {
        "Config": _path(part.config),
        "RepoTags": list(names),
        "Layers": [_path(layer) for layer in part.layers],
    }
    documents: dict[str, Any] = {
        "oci-layout": {"imageLayoutVersion": "1.0.0"},
        "index.json": {"schemaVersion": 2, "mediaType": INDEX, "manifests": tops},
        "manifest.json": [for_docker],
    }
    for name, content in documents.items():
        encoded = msgspec.json.encode(content)
        yield _header(name, len(encoded)) + encoded + _padding(len(encoded))
    for blob in {one.digest: one for one in (part.manifest, part.config, *part.layers)}.values():
        yield _header(_path(blob), blob.size)
        for at in range(0, blob.size, _PIECE):
            yield archive.read(blob, at, _PIECE)
        yield _padding(blob.size)
    yield _END


def _failure(image: NamedImage, runtime: Runtime, ended: Ended) -> str:
    if is_denied(ended):
        return f"{runtime.where} does not let you load images: run this as root ({ended.said:.200})."
    if "no space left" in ended.said.lower():
        return f"{runtime.where} has no room for {image.name} ({ended.said:.200}): make room there, then load again."
    return f"{runtime.where} did not take {image.name} ({ended.said or f'status {ended.status}':.300})."


def _counted(content: Iterator[bytes], on_bytes: Callable[[int], None]) -> Iterator[bytes]:
    for piece in content:
        yield piece
        on_bytes(len(piece))


def _path(blob: Descriptor) -> str:
    return f"blobs/{blob.digest.replace(':', '/', 1)}"


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member.tobuf(tarfile.USTAR_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)
