"""The documents of an OCI image: a configuration and a manifest for each platform, and the index over them.

Documents are bytes in one canonical form, because their digests are their names.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shipping.image.layers import Layer
from shipping.image.platforms import Platform
from shipping.image.system import USER

INDEX: Final = "application/vnd.oci.image.index.v1+json"
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"

ENVIRONMENT: Final = {
    "PATH": "/usr/local/bin:/usr/bin",
    # Nothing to write to on a read-only root, and a pod's log shows a line when it is written.
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    # Modules come from the image alone, whatever folder a container starts in.
    "PYTHONSAFEPATH": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONUTF8": "1",
}
ENTRYPOINT: Final = "/usr/local/bin/tangram"


@dataclass(frozen=True, slots=True)
class PlatformImage:
    """The image of one platform. `size` is what a node downloads: its layers and both documents."""

    platform: Platform
    config: bytes
    manifest: bytes
    layers: tuple[Layer, ...]

    @property
    def size(self) -> int:
        return len(self.config) + len(self.manifest) + sum(layer.size for layer in self.layers)


def describe(
    platform: Platform, layers: Sequence[tuple[str, Layer]], labels: Mapping[str, str], created: str
) -> PlatformImage:
    """The documents of an image with these layers (with what each holds), lowest first."""
    config = document(
        {
            "architecture": platform.name,
            "os": "linux",
            "created": created,
            "config": {
                "User": f"{USER}:{USER}",
                "Env": [f"{name}={value}" for name, value in ENVIRONMENT.items()],
                "Entrypoint": [ENTRYPOINT],
                "WorkingDir": "/",
                "Labels": dict(labels),
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.diff_id}" for _, layer in layers]},
            "history": [
                {"created": created, "created_by": "make image", "comment": what} for what, _ in layers
            ],
        }
    )
    manifest = document(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(_CONFIG, config),
            "layers": [
                {"mediaType": _LAYER, "digest": f"sha256:{layer.digest}", "size": layer.size}
                for _, layer in layers
            ],
            "annotations": dict(labels),
        }
    )
    return PlatformImage(platform, config, manifest, tuple(layer for _, layer in layers))


def index_of(images: Sequence[PlatformImage], labels: Mapping[str, str]) -> bytes:
    """One name for all platforms: a runtime takes from it the manifest of its own."""
    entries = [
        {
            **descriptor(MANIFEST, image.manifest),
            "platform": {"architecture": image.platform.name, "os": "linux"},
        }
        for image in images
    ]
    return document(
        {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries, "annotations": dict(labels)}
    )


def labels_of(version: str, revision: str, created: str) -> dict[str, str]:
    """What the image says about itself, under the names that tools know."""
    told = {
        "title": "Tangram",
        "description": "Shares, slices and places MetaX and Moore Threads GPUs on Kubernetes.",
        "version": version,
        "revision": revision,
        "licenses": "Apache-2.0",
        "created": created,
    }
    return {f"org.opencontainers.image.{name}": value for name, value in told.items() if value}


def descriptor(media_type: str, content: bytes) -> dict[str, Any]:
    """How one document names another."""
    return {"mediaType": media_type, "digest": f"sha256:{digest_of(content)}", "size": len(content)}


def document(value: Mapping[str, Any]) -> bytes:
    """The canonical bytes of a document."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest_of(content: bytes) -> str:
    """The name of a document in an image layout."""
    return hashlib.sha256(content).hexdigest()
