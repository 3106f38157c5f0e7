"""The documents of a payload image, and the archive that they make together with its layer."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tangram.services.images.archive import INDEX, MANIFEST, NAME
from tangram.services.images.payloads.describing import Wish
from tangram.services.images.payloads.layer import Layer, add_text, entry

_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_CREATED: Final = "1970-01-01T00:00:00Z"
_PIECE: Final = 1 << 20


class Documents(msgspec.Struct, frozen=True):
    config: bytes
    manifest: bytes

    @property
    def digest(self) -> str:
        """What the image is called in a registry."""
        return f"sha256:{_digest(self.manifest)}"


def documents_of(wish: Wish, layer: Layer, size: int) -> Documents:
    """Of an image with this layer of `size` bytes."""
    config = _config(wish, layer.diff_id)
    manifest = _document(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _descriptor(_CONFIG, config),
            "layers": [{"mediaType": _LAYER, "digest": f"sha256:{layer.digest}", "size": size}],
        }
    )
    return Documents(config, manifest)


def _config(wish: Wish, diff_id: str) -> bytes:
    labels = {
        "org.opencontainers.image.title": wish.name.rpartition("/")[2].partition(":")[0],
        "org.opencontainers.image.version": wish.version,
        "dev.tangram.payload": wish.kind,
    }
    return _document(
        {
            "architecture": wish.architecture,
            "os": "linux",
            "created": _CREATED,
            "config": {"Labels": labels, "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]},
            "history": [{"created": _CREATED, "created_by": "tangram images payload build"}],
        }
    )


def write_archive(path: Path, wish: Wish, documents: Documents, layer: str, content: Path) -> None:
    """The documents first: a reader that sees the whole archive only once needs them before the layer."""
    top = {
        **_descriptor(MANIFEST, documents.manifest),
        "annotations": {NAME: wish.name, "org.opencontainers.image.ref.name": wish.name.rpartition(":")[2]},
        "platform": {"architecture": wish.architecture, "os": "linux"},
    }
    for_docker = {
        "Config": f"blobs/sha256/{_digest(documents.config)}",
        "RepoTags": [wish.name],
        "Layers": [f"blobs/sha256/{layer}"],
    }
    contents = {
        "oci-layout": _document({"imageLayoutVersion": "1.0.0"}),
        "index.json": _document({"schemaVersion": 2, "mediaType": INDEX, "manifests": [top]}),
        "manifest.json": b"[" + _document(for_docker) + b"]",
        f"blobs/sha256/{_digest(documents.manifest)}": documents.manifest,
        f"blobs/sha256/{_digest(documents.config)}": documents.config,
    }
    with path.open("wb") as file, tarfile.TarFile(fileobj=file, mode="w", copybufsize=_PIECE) as archive:
        for name, text in contents.items():
            add_text(archive, name, text)
        header = entry(f"blobs/sha256/{layer}", tarfile.REGTYPE, 0o644)
        header.size = content.stat().st_size
        with content.open("rb") as source:
            archive.addfile(header, source)


def _descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": f"sha256:{_digest(content)}", "size": len(content)}


def _document(value: Mapping[str, Any]) -> bytes:
    """One canonical form, because digests are names."""
    return msgspec.json.encode(value, order="deterministic")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
