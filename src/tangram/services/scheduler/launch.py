"""From everything that was read on the command line to the running scheduler."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from tangram.daemon.launching import run_daemon
from tangram.daemon.log_options import LogOptions
from tangram.daemon.running import Supervisor
from tangram.daemon.web_serving import serving_app
from tangram.kube.api import Api
from tangram.kube.connection import find_connection
from tangram.services.scheduler.doors import extender_app
from tangram.services.scheduler.outside_door import open_outside
from tangram.services.scheduler.service import COMPONENT, Scheduler
from tangram.services.scheduler.settings import SchedulerSettings


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    settings: SchedulerSettings
    kubeconfig: Path | None
    logs: LogOptions


def run(launch: Launch, environment: Mapping[str, str] = os.environ) -> int:
    """Run the scheduler until it is told to stop. Its exit status."""
    # A full collection stops everything; records are made by the thousand and hardly ever form circles.
    gc.set_threshold(50_000, 50, 100)
    return run_daemon(COMPONENT, launch.logs, lambda supervisor: _serve(supervisor, launch, environment))


async def _serve(supervisor: Supervisor, launch: Launch, environment: Mapping[str, str]) -> int:
    settings = launch.settings
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(
            Api(find_connection(launch.kubeconfig, environment), agent=COMPONENT)
        )
        scheduler = Scheduler(settings, api)
        if settings.extender is not None:
            await stack.enter_async_context(
                serving_app(extender_app(scheduler.desk), settings.extender, option="--extender-address")
            )
        keeping_certificates = await open_outside(stack, scheduler, settings, api)
        await scheduler.start(supervisor)
        if keeping_certificates is not None:
            supervisor.lasting("certificates", keeping_certificates)
        return await supervisor.until_stopped()
