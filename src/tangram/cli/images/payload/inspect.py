"""`tangram images payload inspect`: what a payload archive holds, and whether it is whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from tangram.cli.images.options import NOT_DONE, OutputOption, tell_failure
from tangram.cli.images.progress import megabytes
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.patience import Patience
from tangram.cli.screen import Screen, error_console, output_console
from tangram.services.images.archive import opened
from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.inspecting import Inspected
from tangram.services.images.payloads.inspecting import inspect as inspect_payloads
from tangram.services.images.payloads.signing import read_public_key


class Answer(msgspec.Struct, frozen=True):
    payloads: tuple[Inspected, ...]


def inspect(
    archive: Annotated[Path, Parameter(name="FILE", help="The archive.")],
    /,
    *,
    public_key: Annotated[
        Path | None, Parameter(metavar="KEY", help="Ask for a signature by this key (Ed25519, PEM).")
    ] = None,
    output: OutputOption = "table",
) -> int:
    """Show what a payload archive holds."""
    form = read_format(output)
    try:
        key = None if public_key is None else read_public_key(public_key)
        with opened(archive) as images, Patience(error_console()) as patience:
            total = sum(image.platforms[0].size for image in images.images if image.platforms)
            show, done = patience.watching(f"reading {archive}"), 0

            def on_bytes(count: int) -> None:
                nonlocal done
                done += count
                show(done // 1_000_000, total // 1_000_000)

            found = inspect_payloads(images, key=key, on_bytes=on_bytes)
    except ImagesError as error:
        return tell_failure(error)
    if form is not Format.TABLE:
        write_data(Answer(tuple(found)), form)
    else:
        _told(found)
    if unsigned := [one.image for one in found if one.signed_by_key is False]:
        sys.stderr.write(f"tangram: {', '.join(unsigned)} is not signed by {public_key}.\n")
        return NOT_DONE
    return 0


def _told(found: list[Inspected]) -> None:
    screen = Screen(output_console())
    for one in found:
        screen.gap()
        screen.table(("PAYLOAD", ""), _rows(one))


def _rows(found: Inspected) -> list[tuple[str, str]]:
    told = {
        "image": found.image,
        "platform": found.platform,
        "digest": found.digest,
        "download": megabytes(found.download),
        "kind": found.kind,
        "version": found.version,
        "kernels": ", ".join(found.kernels),
        "modules": ", ".join(found.modules),
        "requires": ", ".join(found.requires),
        "contents": f"{found.files} files and {found.links} links, {megabytes(found.size)}",
        "signed": {None: "yes" if found.signed else "no", True: "yes, by this key", False: "not by this key"}[
            found.signed_by_key
        ],
    }
    return [(name, value) for name, value in told.items() if value]
