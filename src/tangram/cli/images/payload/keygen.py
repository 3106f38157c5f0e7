"""`tangram images payload keygen`: a pair of keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tangram.cli.images.options import tell_failure
from tangram.cli.screen import Screen, output_console
from tangram.services.images.errors import ImagesError
from tangram.services.images.payloads.signing import make_key


def keygen(file: Annotated[Path, Parameter(name="FILE", help="The private key to write.")], /) -> int:
    """Make a pair of keys for signing payloads."""
    try:
        public = make_key(file)
    except ImagesError as error:
        return tell_failure(error)
    Screen(output_console()).line(f"{file} signs; {public} is for those who ask for signatures.")
    return 0
