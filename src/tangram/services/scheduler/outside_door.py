"""The door to other machines, and whoever keeps its certificate.

The door is opened before there is a certificate of our own: an address that cannot be used is told at the start, and
until the API server has been asked, whoever knocks finds nobody who could prove who they are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Final

from tangram.daemon.certificates import service_names
from tangram.daemon.serving_identity import PairFiles, ServingIdentity, read_client_authority
from tangram.daemon.web_serving import serving_app
from tangram.kube.api import Api
from tangram.kube.rights import Rights
from tangram.services.scheduler.authority import OwnAuthority, Places
from tangram.services.scheduler.outside import outside_app
from tangram.services.scheduler.service import Scheduler
from tangram.services.scheduler.settings import SchedulerSettings

OPTION: Final = "--https-address"

Keeping = Callable[[], Coroutine[None, None, None]]
"""Runs for ever, and renews the certificate meanwhile."""


async def open_outside(
    stack: AsyncExitStack, scheduler: Scheduler, settings: SchedulerSettings, api: Api
) -> Keeping | None:
    """Serve other machines until the stack unwinds, where that is wanted; what the caller must keep running for it.

    Raises `SettingError` for an address or files that cannot be used.
    """
    if settings.outside is None:
        return None
    authority = b"" if settings.client_authority is None else read_client_authority(settings.client_authority)
    identity = ServingIdentity(_now, authority)
    scheduler.also_unready(identity.unready)
    keeping = _keeping(identity, settings, api)
    app = outside_app(scheduler.desk, Rights(api), verbs_by_certificate=settings.client_authority is not None)
    await stack.enter_async_context(serving_app(app, settings.outside, identity.context, option=OPTION))
    return keeping


def _keeping(identity: ServingIdentity, settings: SchedulerSettings, api: Api) -> Keeping:
    if settings.certificate is not None:
        files = PairFiles(identity, settings.certificate.certificate, settings.certificate.key)
        files.begin()
        return files.follow
    places = Places(settings.service.namespace, f"{settings.service.name}-tls", settings.webhooks)
    names = service_names(settings.service.name, settings.service.namespace)
    return OwnAuthority(api, places, names, identity, now=_now).follow


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
