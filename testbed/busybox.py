"""The static busybox that images of the test bed consist of, and that tests use as a second shell.

A machine that has one lends it. On every other Debian the package is fetched by name into the cache and unpacked there:
no rights are needed and nothing is installed, so no list of prerequisites has to name it. A busybox that needs shared
libraries does not count: the images have none for it.
"""

import sys
from pathlib import Path
from typing import Final

from shipping.image.downloads import one_program
from shipping.image.errors import ImageError
from shipping.image.platforms import of_this_machine
from shipping.image.progress import Progress
from testbed.debian import find_program, is_static
from testbed.errors import BedError

_PACKAGE: Final = "busybox-static"
_FILE: Final = "usr/bin/busybox"


def static_busybox() -> Path:
    """Path of the program. Raises `BedError` where the machine has none and its package cannot be fetched."""
    found = find_program("busybox")
    if found is not None and is_static(found):
        return found.resolve()
    try:
        return one_program(_PACKAGE, _FILE, of_this_machine(), Progress(sys.stderr))
    except ImageError as error:
        raise BedError(
            f"The test bed needs a static busybox and PATH has none: on Debian, apt-get install {_PACKAGE}. "
            f"Fetching that package into the cache failed: {error}"
        ) from None
