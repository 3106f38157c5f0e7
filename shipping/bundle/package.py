"""The archive that people carry to a cluster: flat, so that it unpacks into whatever folder they made for it."""

import gzip
import hashlib
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Final

from shipping.bundle.runfile import run_file_name

PAYLOADS: Final = "payloads"
"""The folder of drivers and MXMACA, if any are given."""
README: Final = Path(__file__).with_name("README.txt")
CRDS: Final = "deploy/crds"
SUMS: Final = "SHA256SUMS"
_COMPRESSION: Final = 1
"""Layers and charts are compressed already: more effort finds nothing."""


def package_name(version: str, *, base: bool) -> str:
    """As the vendor names its own. `base` is the one without images."""
    return f"metax-gpu-k8s-package.{version}{'-base' if base else ''}.tar.gz"


def contents(
    root: Path,
    version: str,
    charts: tuple[Path, ...],
    run_file: Path | None,
    payloads: tuple[Path, ...] = (),
) -> dict[str, Path | bytes]:
    """The files of a package, by their names in it."""
    found: dict[str, Path | bytes] = {path.name: path for path in charts}
    if run_file is not None:
        found[run_file.name] = run_file
    found |= {f"{PAYLOADS}/{path.name}": path for path in payloads}
    found |= {f"crds/{path.name}": path for path in sorted((root / CRDS).glob("*.yaml"))}
    found["README.txt"] = _readme(version, with_images=run_file is not None)
    found[SUMS] = sums_of(found)
    return found


def sums_of(files: Mapping[str, Path | bytes]) -> bytes:
    """What `sha256sum -c` reads about these files."""
    return "".join(f"{_digest(files[name])}  {name}\n" for name in sorted(files)).encode()


def write_package(
    path: Path,
    files: Mapping[str, Path | bytes],
    moment: int,
    *,
    links: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write the package; equal files give equal bytes. `links` are further names of files in it."""
    beside = path.with_name(f".{path.name}")
    with (
        beside.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=file, mtime=0) as packed,
        tarfile.TarFile(fileobj=packed, mode="w", copybufsize=1 << 20) as archive,
    ):
        for name in sorted(files):
            _add(archive, name, files[name], moment)
        for name in sorted(links):
            header = tarfile.TarInfo(name)
            header.type, header.linkname, header.mtime, header.mode = (
                tarfile.SYMTYPE,
                links[name],
                moment,
                0o777,
            )
            archive.addfile(header)
    beside.replace(path)


def _add(archive: tarfile.TarFile, name: str, content: Path | bytes, moment: int) -> None:
    header = tarfile.TarInfo(name)
    header.mtime = moment
    header.mode = 0o755 if name.endswith(".run") else 0o644
    if isinstance(content, bytes):
        header.size = len(content)
        archive.addfile(header, BytesIO(content))
        return
    header.size = content.stat().st_size
    with content.open("rb") as source:
        archive.addfile(header, source)


def _readme(version: str, *, with_images: bool) -> bytes:
    text = README.read_text("utf-8").replace("@VERSION@", version).replace("@RUN@", run_file_name(version))
    if not with_images:
        text += (
            "\nThis is the package without images"
            f": {run_file_name(version)} is in {package_name(version, base=False)}.\n"
        )
    return text.encode()


def _digest(content: Path | bytes) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
