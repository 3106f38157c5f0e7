"""Images as files: an OCI image layout in one tar archive, which `ctr images import` and other tools read.

The archive of one platform also holds the list that `docker load` reads; it names the same blobs, so it costs nothing.
"""

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from shipping.image.oci import INDEX, MANIFEST, PlatformImage, descriptor, digest_of, document


def write_index_archive(path: Path, name: str, index: bytes, images: Sequence[PlatformImage]) -> None:
    """All platforms under one name."""
    top = {**descriptor(INDEX, index), "annotations": _naming(name)}
    blobs = {digest_of(index): index} | _blobs(images)
    _write(path, {"index.json": _top(top)}, blobs)


def write_platform_archive(path: Path, name: str, image: PlatformImage) -> None:
    """One platform under the same name, for machines and tools that take only one."""
    target = {"architecture": image.platform.name, "os": "linux"}
    top = {**descriptor(MANIFEST, image.manifest), "annotations": _naming(name), "platform": target}
    for_docker = [
        {
            "Config": f"blobs/sha256/{digest_of(image.config)}",
            "RepoTags": [name],
            "Layers": [f"blobs/sha256/{layer.digest}" for layer in image.layers],
        }
    ]
    _write(path, {"index.json": _top(top), "manifest.json": _listed(for_docker)}, _blobs([image]))


def _naming(name: str) -> dict[str, str]:
    return {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}


def _top(entry: Mapping[str, object]) -> bytes:
    return document({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]})


def _listed(value: Sequence[Mapping[str, object]]) -> bytes:
    return b"[" + b",".join(document(one) for one in value) + b"]"


def _blobs(images: Sequence[PlatformImage]) -> dict[str, bytes | Path]:
    blobs: dict[str, bytes | Path] = {}
    for image in images:
        blobs |= {digest_of(content): content for content in (image.manifest, image.config)}
        blobs |= {layer.digest: layer.path for layer in image.layers}
    return blobs


def _write(path: Path, documents: Mapping[str, bytes], blobs: Mapping[str, bytes | Path]) -> None:
    """The documents first: a reader that sees the whole archive only once needs them before the blobs."""
    with path.open("wb") as file, tarfile.TarFile(fileobj=file, mode="w", copybufsize=1 << 20) as archive:
        _add(archive, "oci-layout", document({"imageLayoutVersion": "1.0.0"}))
        for name, content in sorted(documents.items()):
            _add(archive, name, content)
        for digest, content in sorted(blobs.items()):
            _add(archive, f"blobs/sha256/{digest}", content)


def _add(archive: tarfile.TarFile, name: str, content: bytes | Path) -> None:
    header = tarfile.TarInfo(name)
    header.mode = 0o644
    if isinstance(content, bytes):
        header.size = len(content)
        archive.addfile(header, io.BytesIO(content))
        return
    header.size = content.stat().st_size
    with content.open("rb") as source:
        archive.addfile(header, source)
