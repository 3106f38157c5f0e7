"""Names of payload images: the ones the operator asks for, and both schemes of MXMACA images.

MetaX named MXMACA images `maca-PRODUCT:VERSION-OS-ARCH` up to 2.23.0.x and `PRODUCT-maca:VERSION-OS-ARCH` from there
on. A name of either scheme that says another version or architecture than the payload is a mistake that would only be
noticed on the nodes.
"""

from __future__ import annotations

import re
from typing import Final

from tangram.services.images.errors import ImagesError
from tangram.wire.operator.payloads import PayloadKind

HOME: Final = "tangram.dev/cloud"
"""Where a name without a registry belongs until it is pushed: with the other images that the charts ask for."""
_NAME: Final = re.compile(
    r"(?:(?P<folders>[^:@]*(?::[0-9]+/[^:@]*)?)/)?(?P<last>[a-z0-9]+(?:[._-]+[a-z0-9]+)*):(?P<tag>\w[\w.-]{0,127})",
    re.ASCII,
)
_FOLDERS: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_MACA: Final = re.compile(r"maca-[a-z0-9]+|[a-z0-9]+-maca")
_ARCHITECTURES: Final = {"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64"}


def image_name(told: str, kind: PayloadKind, version: str, architecture: str) -> str:
    """The full name of a payload's image, from what was told, if anything was."""
    if not told:
        if kind is PayloadKind.MACA:
            raise ImagesError(
                f"--image is missing: MXMACA images are named after their product and system, such as "
                f"maca-c500:{version}-ubuntu22.04-{architecture} or mxc500-maca:{version}-ubuntu22.04-{architecture}."
            )
        # A tag has no plus.
        return f"{HOME}/driver-image:{version.replace('+', '-')}"
    found = _NAME.fullmatch(told)
    folders = None if found is None else found["folders"]
    if found is None or (folders is not None and _FOLDERS.fullmatch(folders) is None):
        raise ImagesError(
            f"--image is {told!r:.200}: it is NAME:TAG in small letters, with or without a registry before it, such as "
            f"driver-image:{version}."
        )
    if folders is not None:
        first = folders.partition("/")[0]
        if not ("." in first or ":" in first or first == "localhost"):
            raise ImagesError(
                f"--image is {told!r:.200}, which begins with no registry: write one before it, such as "
                f"registry.example.com/{told:.120}, or the name alone."
            )
    if _MACA.fullmatch(found["last"]) is not None:
        _refuse_another(found["tag"], told, kind, version, architecture)
    return told if folders is not None else f"{HOME}/{told}"


def _refuse_another(tag: str, told: str, kind: PayloadKind, version: str, architecture: str) -> None:
    if kind is not PayloadKind.MACA:
        raise ImagesError(
            f"--image is {told:.200}, the name of an MXMACA image: write driver-image:{version}."
        )
    tail = tag.rpartition("-")[2]
    if _ARCHITECTURES.get(tail, architecture) != architecture:
        raise ImagesError(f"--image is {told:.200}, and --arch {architecture}: let both say the same.")
    plain = version.replace("+", "-")
    if tag != plain and not tag.startswith(f"{plain}-"):
        raise ImagesError(
            f"--image is {told:.200}, and --version {version}: the tag of an MXMACA image begins with its version, "
            f"such as {plain}-ubuntu22.04-{architecture}."
        )
