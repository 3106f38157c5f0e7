"""`tangram images list`: what is in an archive."""

from __future__ import annotations

from tangram.cli.images.options import ArchiveOption, OutputOption, tell_failure
from tangram.cli.images.progress import archive_at, megabytes
from tangram.cli.output import Format, read_format, write_data
from tangram.cli.screen import Screen, output_console
from tangram.services.images.errors import ImagesError
from tangram.services.images.listing import listing_of


def listing(*, archive: ArchiveOption, output: OutputOption = "table") -> int:
    """Show the images of a file."""
    form = read_format(output)
    try:
        with archive_at(archive, layers=False) as found:
            held = listing_of(found)
    except ImagesError as error:
        return tell_failure(error)
    if form is not Format.TABLE:
        write_data(held, form)
        return 0
    rows: list[tuple[str, ...]] = []
    for image in held.images:
        rows.append((image.name, image.version, "all", "", image.digest))
        rows += [
            (image.name, image.version, one.platform, megabytes(one.size), one.digest)
            for one in image.platforms
        ]
    Screen(output_console()).table(("IMAGE", "VERSION", "PLATFORM", "DOWNLOAD", "DIGEST"), rows)
    return 0
