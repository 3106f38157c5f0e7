"""`metax-docker_VERSION.tar`: the archive of MetaX's manual, with one self-installing file for each architecture.

The manual unpacks it with `tar -xvzf`, so it is compressed whatever its name says, and calls `.<ARCH>.run` without
saying how ARCH is spelled. Debian and container images say amd64, kernels x86_64: the files have the one name and a
link has the other.
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from shipping.bundle.package import SUMS, sums_of, write_package
from shipping.bundle.script import script_from
from shipping.docker.payload import Payload, write_payload
from shipping.image.platforms import PLATFORMS, Platform
from shipping.image.recipe import PYTHON
from tangram.services.images.archive import opened

HEADER: Final = Path(__file__).with_name("header.sh")
README: Final = Path(__file__).with_name("README.txt")
_PIECE: Final = 1 << 20


def installer_name(version: str, architecture: str) -> str:
    """As the vendor names its own."""
    return f"metax-docker_{version}.{architecture}.run"


def docker_package_name(version: str) -> str:
    """As the vendor names its own."""
    return f"metax-docker_{version}.tar"


def write_docker_package(archive: Path, version: str, moment: int, path: Path) -> None:
    """Write the archive with an installer for each platform of the image in `archive`."""
    with tempfile.TemporaryDirectory(prefix=".metax-docker-", dir=path.parent) as name:
        folder = Path(name)
        files: dict[str, Path | bytes] = {}
        links: dict[str, str] = {}
        for platform in PLATFORMS:
            made = folder / installer_name(version, platform.name)
            write_installer(archive, platform, version, moment, made)
            files[made.name] = made
            links[installer_name(version, platform.machine)] = made.name
        files["README.txt"] = README.read_text("utf-8").replace("@VERSION@", version).encode()
        files[SUMS] = sums_of(files)
        write_package(path, files, moment, links=links)


def write_installer(archive: Path, platform: Platform, version: str, moment: int, path: Path) -> None:
    """Write one architecture's self-installing file."""
    packed = path.with_name(f".{path.name}.packed")
    try:
        with opened(archive) as images:
            payload = write_payload(images, platform, version, moment, packed)
        beside = path.with_name(f".{path.name}")
        with beside.open("wb") as made, packed.open("rb") as source:
            made.write(_script(platform, version, payload))
            shutil.copyfileobj(source, made, _PIECE)
        beside.chmod(0o755)
        beside.replace(path)
    finally:
        packed.unlink(missing_ok=True)


def _script(platform: Platform, version: str, payload: Payload) -> bytes:
    values: Mapping[str, str] = {
        "VERSION": version,
        "ARCHITECTURE": platform.name,
        "MACHINE": platform.machine,
        "PAYLOAD_SIZE": str(payload.size),
        "PAYLOAD_SHA256": payload.sha256,
        "NEEDED_KB": str(-(-payload.needed // 1024)),
        "LOADER": payload.running.loader,
        "LIBRARIES": payload.running.libraries,
        "PYTHON": PYTHON,
    }
    file = installer_name(version, platform.name)
    return script_from(HEADER, values, title=f"metax-docker {version}", file=file)
