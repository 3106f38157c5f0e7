"""What one architecture's installer brings: metax-docker, our modules, and the Python of the image.

It is cut out of the image, so that what runs on a host is what was tested in a container. Licences come along, because
their terms ask for it. A list of checksums is in it, by which an installation can be told from a damaged one.
"""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shipping.bundle.errors import BundleError
from shipping.bundle.unpacking import Running, is_below, running_on
from shipping.image.platforms import Platform
from shipping.image.recipe import PYTHON
from tangram.services.images.archive import Archive

PROGRAM: Final = "usr/local/bin/metax-docker"
MARK: Final = "metax-docker.version"
SUMS: Final = "SHA256SUMS"
NOT_NEEDED: Final = (
    "numpy",
    "numpy.libs",
    "aiohttp",
    "grpc",
    "google",
    "cryptography",
    "cffi",
    "pycparser",
    "prometheus_client",
)
"""Packages that only daemons and the placing of pods import. A test runs the command without them."""
_LICENCES: Final = ("usr/share/doc", "usr/share/common-licenses")
_LEFT_OUT: Final = frozenset({f"usr/lib/python{PYTHON}/sitecustomize.py"})
"""A link to a file of the machine, which is none of ours."""
_COMPRESSION: Final = 6
_BLOCK: Final = 4096


@dataclass(frozen=True, slots=True)
class Payload:
    running: Running
    sha256: str
    size: int
    needed: int
    """Bytes on a disk, once unpacked."""


def write_payload(archive: Archive, platform: Platform, version: str, moment: int, path: Path) -> Payload:
    """Write the folder for one platform, packed; equal images give equal bytes."""
    running = running_on(platform, archive, not_needed=NOT_NEEDED, also=_LICENCES)
    sums: dict[str, str] = {}
    needed = 0
    with (
        path.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=file, mtime=0) as packed,
        tarfile.TarFile(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as made,
    ):
        for member, content in _members(archive, running):
            if content is not None:
                sums[member.name] = hashlib.sha256(content).hexdigest()
            needed += -(-member.size // _BLOCK) * _BLOCK + _BLOCK
            made.addfile(member, None if content is None else io.BytesIO(content))
        if PROGRAM not in sums:
            raise BundleError(
                f"{PROGRAM} is not in the image: pyproject.toml must name metax-docker's entry point."
            )
        _add(made, MARK, f"{version}\n".encode(), moment)
        _add(made, SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode(), moment)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Payload(running, digest, path.stat().st_size, needed)


def _members(archive: Archive, running: Running) -> Iterator[tuple[tarfile.TarInfo, bytes | None]]:
    """What is taken of each layer, once: folders that two layers have are not made twice."""
    seen: set[str] = set()
    (image,) = archive.images
    (part,) = (one for one in image.platforms if one.platform.architecture == running.platform.name)
    for layer, taken in zip(part.layers, running.parts, strict=True):
        with tarfile.open(fileobj=io.BytesIO(archive.read(layer)), mode="r:gz") as tar:
            for member in tar:
                if member.name in _LEFT_OUT or member.name in seen or not is_below(member.name, taken.paths):
                    continue
                seen.add(member.name)
                source = tar.extractfile(member) if member.isfile() else None
                yield member, None if source is None else source.read()


def _add(made: tarfile.TarFile, name: str, content: bytes, moment: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), moment, 0o644
    made.addfile(member, io.BytesIO(content))
