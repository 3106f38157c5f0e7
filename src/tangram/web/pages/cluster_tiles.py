"""All tiles of the cluster for one sight, as JSON: what the cluster page's script begins with."""

from __future__ import annotations

from typing import Final

from tangram.web.known import Known
from tangram.web.page import Asked, Shown
from tangram.web.tile_telling import told_whole

PATH: Final = "/cluster.json"


async def page(asked: Asked, known: Known) -> Shown:
    """For the viewer who asks."""
    return Shown(kind="application/json", body=told_whole(known.picture, asked.viewer.sight))
