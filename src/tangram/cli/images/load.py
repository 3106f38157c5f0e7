"""`tangram images load`: from a file into the container runtime of this machine."""

from __future__ import annotations

from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.cli.images.options import ArchiveOption, tell_failure
from tangram.cli.images.progress import archive_at, check_whole, counting, short
from tangram.cli.patience import Patience
from tangram.cli.screen import Screen, error_console, output_console
from tangram.services.images.archive import Archive
from tangram.services.images.errors import ImagesError
from tangram.services.images.loading import Loaded, platform_of
from tangram.services.images.loading import load as load_images
from tangram.services.images.machine import Machine
from tangram.services.images.runtimes import Kind, find_runtime
from tangram.vendors.wording import either

_ANY: Final = "auto"


def load(
    *,
    archive: ArchiveOption,
    runtime: Annotated[
        str, Parameter(metavar="RUNTIME", help="auto, containerd, docker or podman; auto takes what answers.")
    ] = _ANY,
) -> int:
    """Load all images of a file into the container runtime of this machine."""
    wanted = _kind(runtime)
    machine = Machine()
    try:
        with archive_at(archive) as images:
            check_whole(images)
            size = sum(platform_of(images, one, machine.architecture).size for one in images.images)
            done = _load(images, machine, wanted, size)
    except ImagesError as error:
        return tell_failure(error)
    rows = [(one.name, one.platform, short(one.digest), one.runtime) for one in done]
    Screen(output_console()).table(("IMAGE", "PLATFORM", "DIGEST", "IN"), rows)
    return 0


def _load(images: Archive, machine: Machine, wanted: Kind | None, size: int) -> list[Loaded]:
    chosen = find_runtime(machine, wanted)
    with Patience(error_console()) as patience:
        on_bytes = counting(patience, f"loading into {chosen.where} (MB)", size)
        return load_images(images, chosen, machine, on_bytes)


def _kind(word: str) -> Kind | None:
    if word == _ANY:
        return None
    try:
        return Kind(word)
    except ValueError:
        raise InputError(
            f"--runtime is {word!r:.80}: it is {either((_ANY, *Kind))}; write one of these."
        ) from None
