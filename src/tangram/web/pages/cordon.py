"""A card taken out of placement, or given back."""

from __future__ import annotations

from typing import Final

from tangram.web.known import Known
from tangram.web.page import Asked, Shown

PATH: Final = "/cards/cordon"


async def page(_asked: Asked, _known: Known) -> Shown:
    """Nothing yet."""
    return Shown(kind="text/plain; charset=utf-8", body=b"")
