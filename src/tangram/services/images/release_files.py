"""MetaX's files of MXMACA images, and the names of the images in them.

Up to 2.23.0.x a file is called `maca-PRODUCT-container-TAG.xz` and the image `maca-PRODUCT:TAG`; from 2.23.0.x on it is
`PRODUCT-maca-TAG.container.xz` and `PRODUCT-maca:TAG`, with TAG being `VERSION-SYSTEM-ARCHITECTURE` both times. A file
says what its image is called inside; the file's own name is asked only where it does not.
"""

from __future__ import annotations

import re
from typing import Final

_BEFORE: Final = re.compile(r"(maca-[a-z0-9]+)-container-([0-9][\w.-]*?)(?:\.tar)?\.xz", re.ASCII)
_SINCE: Final = re.compile(r"([a-z0-9]+-maca)-([0-9][\w.-]*?)\.container(?:\.tar)?\.xz", re.ASCII)
_IMAGE: Final = re.compile(r"maca-[a-z0-9]+|[a-z0-9]+-maca")


def image_of_file(file: str) -> str:
    """`NAME:TAG` of the image in a file of this name, in either scheme; empty if it is of neither."""
    found = _BEFORE.fullmatch(file) or _SINCE.fullmatch(file)
    return f"{found[1]}:{found[2]}" if found is not None else ""


def is_maca(name: str) -> bool:
    """Whether an image of this name, with or without a registry before it, is MXMACA's by either scheme."""
    return _IMAGE.fullmatch(name.partition("@")[0].rpartition(":")[0].rpartition("/")[2]) is not None
