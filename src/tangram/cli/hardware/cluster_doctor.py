"""The cluster's side of `tangram doctor`: one look at its API server, within the time there is."""

from __future__ import annotations

import asyncio
from typing import Final

from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.services.scheduler.checkup.diagnosis import ClusterDiagnosis, diagnose_cluster
from tangram.services.scheduler.checkup.seeing import Scene, look
from tangram.units.durations import duration_text

_FOR_PODS: Final = 0.8
"""Of the time there is: a cluster with more pods than can be read in it is told all that does not rest on them."""


def examine_cluster(connection: Connection, limit: float) -> ClusterDiagnosis:
    """What was found, within the limit."""
    return diagnose_cluster(asyncio.run(_seen(connection, limit)))


async def _seen(connection: Connection, limit: float) -> Scene:
    async with Api(connection, limit=limit) as api:
        try:
            async with asyncio.timeout(limit):
                return await look(api, patience=limit * _FOR_PODS)
        except TimeoutError:
            late = f"it has not answered everything within {duration_text(limit)}"
            return Scene(server=connection.server, unreachable=late)
