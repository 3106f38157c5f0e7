"""From everything that was read on the command line to the running operator."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import msgspec

from tangram.daemon.endpoints import Address, serving
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.election import LeaseName
from tangram.services.operator.own_image import own_image
from tangram.services.operator.parts.pods import Site
from tangram.services.operator.service import COMPONENT, Operator, Settings

POD_NAME = "POD_NAME"


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    namespace: str
    image: str
    """Empty for that of this pod."""
    lease: str
    version: str
    host: str
    """Of this machine or pod, where nobody says which pod it is."""
    address: Address | None


async def serve(
    supervisor: Supervisor, launch: Launch, connection: Connection, environment: Mapping[str, str]
) -> int:
    """Keep the cluster as its one object says, until stopped. Raises `SettingError`."""
    pod = environment.get(POD_NAME, "")
    async with Api(connection, agent=COMPONENT) as api:
        image = launch.image or await own_image(api, launch.namespace, pod)
        settings = Settings(
            site=Site(namespace=launch.namespace, image=image, version=launch.version),
            lease=LeaseName(launch.namespace, launch.lease),
            # New in every process: one that starts anew knows nothing of what the last one had begun.
            identity=f"{pod or launch.host}_{uuid.uuid4().hex[:8]}",
        )
        operator = Operator(settings, api)
        async with serving(
            launch.address,
            operator.metrics.registry,
            unhealthy=supervisor.unhealthy,
            unready=operator.unready,
        ):
            supervisor.vital("following the cluster", operator.follow(supervisor))
            return await supervisor.until_stopped(operator.release)
