"""What the three commands have in common."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from tangram.cli import candidates
from tangram.cli.plain import clean
from tangram.services.images.errors import ImagesError

NOT_DONE: Final = 1

ArchiveOption = Annotated[
    Path,
    Parameter(
        name="--archive",
        metavar="FILE",
        help="The images: tangram-VERSION-oci.tar, or the .run file of a bundle.",
    ),
]
# As everywhere, but without what the commands about cards import: these also run where only a part is unpacked.
OutputOption = Annotated[
    str,
    Parameter(
        name=["--output", "-o"], metavar="FORMAT", completer=candidates.formats, help="table, json or yaml."
    ),
]


def tell_failure(error: ImagesError) -> int:
    """The sentence on standard error; the exit status."""
    sys.stderr.write(f"tangram: {clean(str(error))}\n")
    return NOT_DONE
