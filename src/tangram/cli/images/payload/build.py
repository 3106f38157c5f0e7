"""`tangram images payload build`: from a folder to an archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.cli.images.options import tell_failure
from tangram.cli.images.progress import megabytes
from tangram.cli.patience import Patience
from tangram.cli.screen import Screen, error_console, output_console
from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.building import Built
from tangram.services.images.payloads.building import build as build_payload
from tangram.services.images.payloads.describing import Wish
from tangram.services.images.payloads.folder import Found, read_folder
from tangram.services.images.payloads.naming import image_name
from tangram.services.images.payloads.signing import read_private_key
from tangram.vendors.wording import either
from tangram.wire.operator.payloads import VERSION, PayloadKind

ARCHITECTURES: Final = ("amd64", "arm64")


def build(
    folder: Annotated[Path, Parameter(name="DIR", help="What the payload is to hold.")],
    /,
    *,
    kind: Annotated[str, Parameter(metavar="KIND", help="driver or maca.")],
    version: Annotated[str, Parameter(metavar="VERSION", help="Of the driver or of MXMACA.")],
    arch: Annotated[str, Parameter(metavar="ARCH", help="amd64 or arm64.")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], metavar="FILE", help="The archive to write.")],
    image: Annotated[
        str,
        Parameter(
            metavar="NAME:TAG",
            show_default=False,
            help="The image's name; of a driver, driver-image:VERSION unless said.",
        ),
    ] = "",
    module: Annotated[
        tuple[str, ...],
        Parameter(
            metavar="NAME",
            show_default=False,
            negative="",
            help="A module of the driver, in the order in which they are loaded; needed where there are several.",
        ),
    ] = (),
    requires: Annotated[
        tuple[str, ...],
        Parameter(
            metavar="NAME",
            show_default=False,
            negative="",
            help="A module of the kernel's own that must be loaded first.",
        ),
    ] = (),
    sign: Annotated[
        Path | None, Parameter(metavar="KEY", help="Sign with this private key (Ed25519, PEM).")
    ] = None,
) -> int:
    """Make a payload image from a folder."""
    meant = _kind(kind)
    if meant is PayloadKind.MACA and (module or requires):
        raise InputError(
            "--module and --requires are about drivers, and MXMACA has no kernel modules: leave them out."
        )
    if VERSION.fullmatch(version) is None:
        raise InputError(
            f"--version is {version!r:.80}: it is a number and what belongs to it; write one such as 2.32.0."
        )
    if arch not in ARCHITECTURES:
        raise InputError(f"--arch is {arch!r:.80}: it is {either(ARCHITECTURES)}; write one of these.")
    if output.is_dir():
        raise InputError(f"--output is {output}, a folder: write the name of a file in it.")
    try:
        name = image_name(image, meant, version, arch)
        key = None if sign is None else read_private_key(sign)
        found = read_folder(folder, meant, module)
        wish = Wish(kind=meant, version=version, architecture=arch, name=name, requires=requires)
        with Patience(error_console()) as patience:
            show = patience.watching(f"packing {folder}")
            built = build_payload(found, wish, output, key=key, on_bytes=_counting(found, show))
    except ImagesError as error:
        return tell_failure(error)
    _told(built)
    return 0


def _counting(found: Found, show: Callable[[int, int], None]) -> Callable[[int], None]:
    done = 0

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        show(done // 1_000_000, found.size // 1_000_000)

    return on_bytes


def _told(built: Built) -> None:
    screen = Screen(output_console())
    screen.line(f"{built.file}: {built.image} ({megabytes(built.size)}), {built.digest}")
    kernels = ", ".join(built.payload.kernels)
    for_kernels = f" for {kernels}" if kernels else ""
    signed = "signed" if built.signed else "not signed"
    screen.line(
        f"{built.payload.kind} {built.payload.version}{for_kernels}: {len(built.payload.files)} files, {signed}."
    )


def _kind(word: str) -> PayloadKind:
    try:
        return PayloadKind(word)
    except ValueError:
        raise InputError(
            f"--kind is {word!r:.80}: it is {either(PayloadKind)}; write one of these."
        ) from None
