"""Folders that become payloads."""

import io
import tarfile
from pathlib import Path

from tangram.services.images.payloads.building import Built, build
from tangram.services.images.payloads.describing import Wish
from tangram.services.images.payloads.folder import read_folder
from tangram.wire.operator.payloads import PayloadKind

KERNEL = "5.15.0-91-generic"


def driver_folder(root: Path, kernels: tuple[str, ...] = (KERNEL,)) -> Path:
    """A small driver: a module for each kernel, a program and a link to it."""
    folder = root / "driver"
    for kernel in kernels:
        put(folder / "modules" / kernel / "metax.ko", f"module for {kernel}")
    put(folder / "mxdriver" / "bin" / "mx-smi", "program", 0o755)
    (folder / "mxdriver" / "smi").symlink_to("bin/mx-smi")
    return folder


def maca_folder(root: Path) -> Path:
    folder = root / "sdk"
    put(folder / "maca" / "lib" / "libmcruntime.so.1", "library")
    (folder / "maca" / "lib" / "libmcruntime.so").symlink_to("libmcruntime.so.1")
    return folder


def put(path: Path, content: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)


def built(
    folder: Path, output: Path, kind: PayloadKind = PayloadKind.DRIVER, version: str = "2.32.0"
) -> Built:
    """The archive of such a folder."""
    wish = Wish(kind=kind, version=version, architecture="amd64", name=f"tangram.dev/cloud/payload:{version}")
    return build(read_folder(folder, kind), wish, output)


def layer_members(archive: Path) -> dict[str, tarfile.TarInfo]:
    """What a node would unpack."""
    with tarfile.open(archive) as outer:
        largest = max(
            (one for one in outer if one.name.startswith("blobs/") and _is_layer(outer, one)),
            key=lambda one: one.size,
        )
        content = outer.extractfile(largest)
        assert content is not None
        with tarfile.open(fileobj=io.BytesIO(content.read()), mode="r:gz") as layer:
            return {one.name: one for one in layer}


def _is_layer(outer: tarfile.TarFile, member: tarfile.TarInfo) -> bool:
    content = outer.extractfile(member)
    return content is not None and content.read(2) == b"\x1f\x8b"
