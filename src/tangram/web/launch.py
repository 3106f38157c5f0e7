"""From everything that was read on the command line to the running dashboard."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import msgspec

from tangram.daemon.endpoints import Address
from tangram.daemon.launching import run_daemon
from tangram.daemon.log_options import LogOptions
from tangram.daemon.running import Supervisor
from tangram.daemon.scheduler_address import scheduler_trust, trust_again
from tangram.daemon.serving_identity import PairFiles, ServingIdentity, read_client_authority
from tangram.daemon.web_serving import serving_app
from tangram.kube.api import Api
from tangram.kube.connection import Connection, find_connection
from tangram.web.service import Connections, Dashboard
from tangram.web.settings import COMPONENT, DashboardSettings

OPTION = "--address"
PROXY_OPTION = "--proxy-address"
METRICS_OPTION = "--metrics-address"


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    settings: DashboardSettings
    logs: LogOptions


def run(launch: Launch, environment: Mapping[str, str] = os.environ) -> int:
    """Run the dashboard until it is told to stop. Its exit status."""
    # Records are made by the thousand and hardly ever form circles.
    gc.set_threshold(50_000, 50, 100)
    return run_daemon(COMPONENT, launch.logs, lambda supervisor: _serve(supervisor, launch, environment))


async def _serve(supervisor: Supervisor, launch: Launch, environment: Mapping[str, str]) -> int:
    connection = find_connection(launch.settings.kubeconfig, environment)
    async with serving_dashboard(launch.settings, connection, supervisor, prepared=True):
        return await supervisor.until_stopped()


@asynccontextmanager
async def serving_dashboard(
    settings: DashboardSettings, connection: Connection, supervisor: Supervisor, *, prepared: bool = False
) -> AsyncGenerator[Address]:
    """A dashboard meanwhile; the address with its real port. Raises `SettingError`.

    `prepared` takes longer to begin, and nobody's first page does.
    """
    async with AsyncExitStack() as stack:
        door = _scheduler(settings, connection)
        dashboard = Dashboard(
            settings,
            Connections(
                api=await stack.enter_async_context(Api(connection, agent=COMPONENT)),
                following=await stack.enter_async_context(Api(door, agent=COMPONENT)),
                asking=await stack.enter_async_context(Api(door, agent=COMPONENT)),
            ),
            trust=lambda: trust_again(door.tls, settings.server_authority),
        )
        stack.push_async_callback(dashboard.close)
        identity = _identity(settings, dashboard, supervisor)
        served = await stack.enter_async_context(
            serving_app(
                dashboard.app(),
                settings.address,
                None if identity is None else identity.context,
                option=settings.option,
            )
        )
        if settings.proxy_address is not None:
            await stack.enter_async_context(
                serving_app(dashboard.app(for_proxy=True), settings.proxy_address, option=PROXY_OPTION)
            )
        if settings.metrics is not None:
            await stack.enter_async_context(
                serving_app(
                    dashboard.probes_app(), settings.metrics, option=METRICS_OPTION, plain_for_others=True
                )
            )
        if prepared:
            dashboard.prepare()
        dashboard.start(supervisor)
        yield served


def _scheduler(settings: DashboardSettings, account: Connection) -> Connection:
    """The scheduler as a server that is asked with our account's token, whose file is read again as it changes."""
    token_file = settings.token_file or account.token_file
    return Connection(
        settings.server,
        scheduler_trust(settings.server, settings.server_authority),
        token_file=token_file,
        token="" if token_file else account.token,
    )


def _identity(
    settings: DashboardSettings, dashboard: Dashboard, supervisor: Supervisor
) -> ServingIdentity | None:
    if settings.certificate is None:
        return None
    named = settings.proxy_authority
    authority = b"" if named is None else read_client_authority(named, "--proxy-ca")
    identity = ServingIdentity(lambda: datetime.now(UTC), authority)
    files = PairFiles(identity, settings.certificate.certificate, settings.certificate.key)
    files.begin()
    dashboard.also_unready(identity.unready)
    supervisor.lasting("dashboard: certificate", files.follow)
    return identity
