"""Capacity that no typical pod can use, over time."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from tangram.web.known import Known
from tangram.web.page import Asked, Shown

PATH: Final = "/fragmentation"


async def page(_asked: Asked, _known: Known) -> Shown:
    """Nothing yet."""
    return Shown(template="stub.html", values={"title": "Fragmentation"})


def moment(_asked: Asked, known: Known) -> Hashable:
    """Whenever anything changed."""
    return known.picture.version
