"""The door to other machines, opened once there is a certificate to show."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Final

from tangram.daemon.certificates import service_names
from tangram.daemon.running import Supervisor
from tangram.daemon.serving_identity import PairFiles, ServingIdentity, read_client_authority
from tangram.daemon.web_serving import serving_app
from tangram.kube.api import Api
from tangram.kube.rights import Rights
from tangram.services.scheduler.authority import OwnAuthority, Places
from tangram.services.scheduler.outside import outside_app
from tangram.services.scheduler.service import Scheduler
from tangram.services.scheduler.settings import SchedulerSettings

OPTION: Final = "--https-address"


def open_outside(supervisor: Supervisor, scheduler: Scheduler, settings: SchedulerSettings, api: Api) -> None:
    """Begin to serve other machines. Raises `SettingError` for files that cannot be used."""
    authority = b"" if settings.client_authority is None else read_client_authority(settings.client_authority)
    identity = ServingIdentity(_now, authority)
    scheduler.also_unready(identity.unready)
    if settings.certificate is not None:
        files = PairFiles(identity, settings.certificate.certificate, settings.certificate.key)
        files.begin()
        supervisor.lasting("certificate files", files.follow)
        supervisor.vital("the outside door", _serve(scheduler, settings, api, identity))
        return
    places = Places(settings.service.namespace, f"{settings.service.name}-tls", settings.webhooks)
    names = service_names(settings.service.name, settings.service.namespace)
    own = OwnAuthority(api, places, names, identity, now=_now)
    supervisor.lasting("own certificates", own.follow)
    supervisor.vital("the outside door", _serve(scheduler, settings, api, identity, own))


async def _serve(
    scheduler: Scheduler,
    settings: SchedulerSettings,
    api: Api,
    identity: ServingIdentity,
    own: OwnAuthority | None = None,
) -> None:
    if settings.outside is None:
        return
    if own is not None:
        await own.begin()
    app = outside_app(scheduler.desk, Rights(api), verbs_by_certificate=settings.client_authority is not None)
    async with serving_app(app, settings.outside, identity.context, option=OPTION):
        await asyncio.Event().wait()


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
