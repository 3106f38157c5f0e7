"""An OCI image layout in one tar file, written without a container daemon.

`ctr images import` takes the image's name from the annotations of the index, so a tarball carries its own name and
needs no tag afterwards. One platform only: the one this machine runs, because the content comes from this machine.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from testbed.errors import BedError
from testbed.images.layers import Layer

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64", "loongarch64": "loong64"}
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_INDEX = "application/vnd.oci.image.index.v1+json"
_BEGINNING_OF_TIME = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Start:
    """What a container of the image runs when nothing else is asked for."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Image:
    name: str
    """With registry and tag, as a pod's `image:` and `ctr` write it."""
    tarball: Path
    size: int
    layers: tuple[str, ...]
    """Digests, lowest layer first, each `sha256:...`."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The small files of an image. They name the layers by digest, so they decide the tarball completely."""

    config: bytes
    manifest: bytes
    index: bytes

    @property
    def digest(self) -> str:
        """Of the index, which covers name, start, and every layer."""
        return _digest(self.index)


def describe(name: str, layers: Sequence[Layer], start: Start) -> Documents:
    """The OCI documents of an image with these layers, lowest first."""
    target = {"architecture": architecture(), "os": "linux"}
    config = _document(
        {
            **target,
            "created": _BEGINNING_OF_TIME,
            "config": {
                "Env": [f"{key}={value}" for key, value in sorted(start.environment.items())],
                "Entrypoint": list(start.entrypoint),
                "Cmd": list(start.command),
                "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in layers]},
            "history": [{"created": _BEGINNING_OF_TIME, "created_by": "testbed"} for _ in layers],
        }
    )
    manifest = _document(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, config),
            "layers": [
                {"mediaType": _LAYER, "digest": f"sha256:{layer.digest}", "size": layer.size}
                for layer in layers
            ],
        }
    )
    names = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
    entry = {**_descriptor(_MANIFEST, manifest), "annotations": names, "platform": target}
    index = _document({"schemaVersion": 2, "mediaType": _INDEX, "manifests": [entry]})
    return Documents(config, manifest, index)


def write_archive(documents: Documents, layers: Sequence[Layer], stream: BinaryIO) -> None:
    """Write the image layout. Layers that appear twice are written once."""
    with tarfile.TarFile(fileobj=stream, mode="w", copybufsize=1 << 20) as archive:
        _add(archive, "oci-layout", _document({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", documents.index)
        for document in (documents.manifest, documents.config):
            _add(archive, f"blobs/sha256/{_digest(document)}", document)
        for layer in {layer.digest: layer for layer in layers}.values():
            header = tarfile.TarInfo(f"blobs/sha256/{layer.digest}")
            header.size = layer.size
            with layer.path.open("rb") as source:
                archive.addfile(header, source)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    header = tarfile.TarInfo(name)
    header.size = len(content)
    archive.addfile(header, io.BytesIO(content))


def _descriptor(media_type: str, content: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{_digest(content)}", "size": len(content)}


def _document(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def architecture() -> str:
    """What this machine is, in the words of images."""
    machine = platform.machine()
    try:
        return _ARCHITECTURES[machine]
    except KeyError:
        known = ", ".join(sorted(_ARCHITECTURES))
        raise BedError(
            f"The test bed's images are made for {known}; this machine says it is {machine!r}."
        ) from None
