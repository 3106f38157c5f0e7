"""gpu-aware as a process: one door for kube-scheduler, probes and metrics, and weights that are kept true behind it."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from aiohttp import web
from msgspec import Struct
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from tangram.daemon.endpoints import Address
from tangram.daemon.running import Supervisor
from tangram.daemon.serving_identity import PairFiles, ServingIdentity
from tangram.daemon.web_asking import MEBI, Answering, NotAnswered, Reading, application, probe
from tangram.daemon.web_serving import serving_app
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.services.gpu_aware.alias_service import AliasService
from tangram.services.gpu_aware.desk import Desk, Refused
from tangram.services.gpu_aware.following import FollowedCluster, FollowedWeights, MapName
from tangram.services.gpu_aware.metrics import Metrics
from tangram.services.gpu_aware.weighing import Scale, read_folder
from tangram.wire.gpu_aware_weights import ALIAS

OPTION: Final = "--address"
LARGEST_BODY: Final = 64 * MEBI
"""Whole objects of some five thousand nodes."""
FOLDER_PAUSE_S: Final = 2.0
AGENT: Final = "tangram-gpu-aware"

_log = logging.getLogger("tangram.gpu_aware")


class Settings(Struct, frozen=True, kw_only=True):
    address: Address
    weights_folder: Path | None = None
    """Where the ConfigMap is mounted; goes before `weights_map`."""
    weights_map: MapName | None = None
    alias_namespace: str = ""
    """Where the ConfigMap and the Service of MetaX's manual are, beside `weights_map`; empty where they are not."""
    follow_cluster: bool = False
    """Needs a connection, as `weights_map` does."""
    certificate: tuple[Path, Path] | None = None
    """Certificate and key; plain HTTP without them, as the manual demands."""


async def serve(supervisor: Supervisor, settings: Settings, connection: Connection | None) -> int:
    """Answer kube-scheduler until stopped. Raises `SettingError` for an address or files that cannot be used."""
    metrics = Metrics()
    scale = Scale(metrics)
    identity, pair = _identity(settings.certificate)
    async with AsyncExitStack() as stack:
        weights: FollowedWeights | None = None
        cluster: FollowedCluster | None = None
        service: AliasService | None = None
        if connection is not None:
            api = await stack.enter_async_context(Api(connection, agent=AGENT))
            if settings.weights_folder is None and settings.weights_map is not None:
                alias = MapName(settings.alias_namespace, ALIAS) if settings.alias_namespace else None
                weights = FollowedWeights(api, settings.weights_map, scale, alias)
            if settings.alias_namespace and settings.alias_namespace != connection.namespace:
                service = AliasService(api, connection.namespace, settings.alias_namespace)
            if settings.follow_cluster:
                cluster = FollowedCluster(api)
        if settings.weights_folder is not None:
            read_folder(settings.weights_folder, scale)

        def unready() -> list[str]:
            return [
                *(() if weights is None else weights.unready()),
                *(() if cluster is None else cluster.unready()),
                *(() if identity is None else identity.unready()),
            ]

        app = _app(Desk(scale, metrics, cluster), metrics, supervisor, probe(unready))
        tls = None if identity is None else identity.context
        await stack.enter_async_context(
            serving_app(app, settings.address, tls, option=OPTION, plain_for_others=True)
        )
        _log.info("the weights are %s, from %s", scale.weights, _origin(settings, weights))
        if settings.weights_folder is not None:
            supervisor.vital("reading weights", _keep_reading(settings.weights_folder, scale))
        if weights is not None:
            supervisor.vital("following weights", weights.run())
        if cluster is not None:
            cluster.begin(supervisor)
        if service is not None:
            supervisor.lasting("keeping the alias Service", service.run)
        if pair is not None:
            supervisor.vital("following the certificate", pair.follow())
        return await supervisor.until_stopped()


def _identity(
    files: tuple[Path, Path] | None,
) -> tuple[ServingIdentity, PairFiles] | tuple[None, None]:
    if files is None:
        return None, None
    identity = ServingIdentity(lambda: dt.datetime.now(dt.UTC))
    pair = PairFiles(identity, *files)
    pair.begin()
    return identity, pair


def _app(desk: Desk, metrics: Metrics, supervisor: Supervisor, readiness: Answering) -> web.Application:
    reading = Reading()

    async def filtered(request: web.Request) -> web.Response:
        return _json(desk.filter(await reading.body(request, LARGEST_BODY)))

    async def prioritized(request: web.Request) -> web.Response:
        try:
            return _json(desk.prioritize(await reading.body(request, LARGEST_BODY)))
        except Refused as refused:
            raise NotAnswered(400, str(refused)) from None

    async def counted(_request: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    return application(
        {
            "/filter": {"POST": filtered},
            "/prioritize": {"POST": prioritized},
            "/healthz": {"GET": probe(supervisor.unhealthy)},
            "/readyz": {"GET": readiness},
            "/metrics": {"GET": counted},
        }
    )


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


async def _keep_reading(folder: Path, scale: Scale) -> None:
    while True:
        await asyncio.sleep(FOLDER_PAUSE_S)
        read_folder(folder, scale)


def _origin(settings: Settings, weights: FollowedWeights | None) -> str:
    if settings.weights_folder is not None:
        return f"the folder {settings.weights_folder}"
    if weights is not None:
        return f"the ConfigMap {settings.weights_map} as soon as it is read"
    return "nobody: there is neither a folder nor an API server to read others from"
