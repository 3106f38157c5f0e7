"""The self-extracting file: a script, and behind it the archive of the image as it is.

The layers are in it once. What the script unpacks to run the tool are pieces of the same archive that it pushes, found
by their place in the file.
"""

import hashlib
import shlex
import shutil
from pathlib import Path
from typing import Final

from shipping.bundle.script import script_from
from shipping.bundle.unpacking import Running, running_on
from shipping.image.platforms import PLATFORMS
from shipping.image.recipe import PYTHON
from tangram.services.images.archive import opened

HEADER: Final = Path(__file__).with_name("header.sh")
_PIECE: Final = 1 << 20


def run_file_name(version: str) -> str:
    """As the vendor names its own, so that the commands of its manual work."""
    return f"metax-k8s-images.{version}.run"


def write_run_file(archive: Path, version: str, path: Path) -> None:
    """Write the tool for the images of this archive."""
    with opened(archive) as images:
        running = [running_on(platform, images) for platform in PLATFORMS]
    with archive.open("rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    script = script_of(running, version, archive.stat().st_size, digest)
    beside = path.with_name(f".{path.name}")
    with beside.open("wb") as made, archive.open("rb") as source:
        made.write(script)
        shutil.copyfileobj(source, made, _PIECE)
    beside.chmod(0o755)
    beside.replace(path)


def script_of(running: list[Running], version: str, size: int, digest: str) -> bytes:
    """The script for a payload of this size and SHA-256."""
    largest = max(one.unpacked for one in running)
    values = {
        "VERSION": version,
        "PAYLOAD_SIZE": str(size),
        "PAYLOAD_SHA256": digest,
        "PYTHON": PYTHON,
        "UNPACKED_MB": str(-(-largest // 1_000_000)),
        "ARCHITECTURES": "\n\n".join(_architecture(one) for one in running),
        "CASES": "\n".join(_case(one) for one in running),
        "MACHINES": " and ".join(one.platform.machine for one in running),
    }
    title, file = f"Tangram {version}", run_file_name(version)
    return script_from(HEADER, values, title=title, file=file)


def _architecture(one: Running) -> str:
    name = one.platform.name
    lines = [f"unpack_{name}() {{", f"    loader={one.loader}", f"    libraries={one.libraries}"]
    for part in one.parts:
        paths = " \\\n        ".join(shlex.quote(path) for path in part.paths)
        lines.append(f"    layer {part.offset} {part.size} \\\n        {paths}")
    return "\n".join([*lines, "}"])


def _case(one: Running) -> str:
    name = one.platform.name
    # Kernels say the one, some systems the other.
    lines = [
        f"    {one.platform.machine} | {name})",
        f"        needed_kb={-(-one.unpacked // 1024)}",
        f"        unpack() {{ unpack_{name}; }}",
        "        ;;",
    ]
    return "\n".join(lines)
