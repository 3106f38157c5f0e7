"""Who used how much, as a file."""

from __future__ import annotations

from typing import Final

from tangram.web.known import Known
from tangram.web.page import Asked, Shown

PATH: Final = "/usage.csv"


async def page(_asked: Asked, _known: Known) -> Shown:
    """Nothing yet."""
    return Shown(kind="text/csv; charset=utf-8", body=b"")
