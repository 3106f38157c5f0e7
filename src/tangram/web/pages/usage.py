"""Who used how much."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from tangram.web.known import Known
from tangram.web.page import Asked, Shown

PATH: Final = "/usage"


async def page(_asked: Asked, _known: Known) -> Shown:
    """Nothing yet."""
    return Shown(template="stub.html", values={"title": "Usage"})


def moment(_asked: Asked, known: Known) -> Hashable:
    """Whenever anything changed."""
    return known.picture.version
