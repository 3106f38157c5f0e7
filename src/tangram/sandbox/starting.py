"""A sandbox from nothing to running, and back: what is started in which order, and what each step says meanwhile.

The API server comes first, because everybody talks to it. Our scheduler answers before its webhooks are registered, and
people are told that all is ready after that, so that nobody is refused for having come too early.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from tangram.daemon.certificates import Issued, issue
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.sandbox import accounts, webhooks
from tangram.sandbox.apiserver.server import LIFE, make_certificate
from tangram.sandbox.card_sockets import card_sockets
from tangram.sandbox.folder import Folder, taking, write_pair, write_private
from tangram.sandbox.kubeconfig import kubeconfig_text
from tangram.sandbox.nodes.described import MachineDescription
from tangram.sandbox.nodes.machines import Machines
from tangram.sandbox.our_services import Doors, publish, scheduler_files, start_aware, start_scheduler
from tangram.sandbox.planes import Plane, embedded
from tangram.sandbox.real import real
from tangram.services.scheduler.service import Scheduler
from tangram.services.scheduler.settings import TANGRAM_NAME

READY_S: Final = 30.0
WATCHED_S: Final = 40.0
UNWATCHED_S: Final = 3600.0

Say = Callable[[str], None]


class Options(Struct, frozen=True, kw_only=True):
    folder: Path
    """Where the kubeconfig and the log are."""
    keep: bool = False
    """Whether objects are kept there too, for the next time."""
    port: int = 0
    machines: tuple[MachineDescription, ...]
    real: bool = False
    """On real components of Kubernetes instead of ours."""


class Sandbox(Struct, frozen=True, kw_only=True):
    folder: Folder
    api: Api
    machines: Machines
    doors: Doors
    scheduler: Scheduler
    supervisor: Supervisor


@asynccontextmanager
async def sandbox(options: Options, supervisor: Supervisor, say: Say) -> AsyncGenerator[Sandbox]:
    """Everything, until the block ends. Raises `SettingError`, `JournalError` for what cannot be used."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(taking(options.folder))
        keys = folder.path / "keys" if options.keep else folder.sockets / "keys"
        plane = await stack.enter_async_context(_plane(options, folder, keys, supervisor))
        write_private(folder.kubeconfig, _kubeconfig(plane).encode())
        say(f"API server at {plane.connection.server}")
        api = await stack.enter_async_context(Api(plane.connection, agent="tangram-sandbox"))
        await accounts.make_accounts(api)
        served = make_certificate()
        serving = write_pair(keys, "scheduler", served)
        client = write_pair(keys, "kube-scheduler", _client())
        scheduler, url = await start_scheduler(
            stack,
            supervisor,
            await accounts.connection_as(api, accounts.SCHEDULER),
            serving,
            client.authority,
        )
        doors = Doors(url, await start_aware(stack, await accounts.connection_as(api, accounts.AWARE)))
        machines = Machines(
            options.machines,
            api=api,
            connection_for=lambda node, account: accounts.connection_as(api, account, node),
            # What a kubelet notes of its devices must outlive the process where its pods do.
            folder=folder.path / "nodes" if options.keep else folder.sockets / "nodes",
            certificate=plane.kubelets,
            # Only real controllers give nodes up whose Lease is old; where nobody looks, renewing is idle work.
            silence=WATCHED_S if options.real else UNWATCHED_S,
        )
        stack.push_async_callback(machines.stop)
        files = scheduler_files(doors, str(folder.kubeconfig), client, serving.authority)
        # Whoever holds the scheduler's Lease is believed after a moment, which may pass while machines start.
        await asyncio.gather(plane.schedule(files), machines.start(say))
        await stack.enter_async_context(card_sockets(machines, folder))
        await _ready(scheduler)
        await webhooks.register(api, url, served.authority)
        await publish(api, files[TANGRAM_NAME])
        say("scheduler, webhook and gpu-aware answer")
        yield Sandbox(
            folder=folder, api=api, machines=machines, doors=doors, scheduler=scheduler, supervisor=supervisor
        )


@asynccontextmanager
async def _plane(
    options: Options, folder: Folder, keys: Path, supervisor: Supervisor
) -> AsyncGenerator[Plane]:
    if options.real:
        async with real(options.port, folder, supervisor, keep=options.keep) as found:
            yield found
    else:
        data = folder.path if options.keep else None
        async with embedded(options.port, keys, data, supervisor) as made:
            yield made


async def _ready(scheduler: Scheduler) -> None:
    """Our scheduler has read the cluster. Whether it holds the Lease shows when somebody schedules."""
    ends = time.monotonic() + READY_S
    while scheduler.unready() and time.monotonic() < ends:  # noqa: ASYNC110 - it is asked, it does not tell
        await asyncio.sleep(0.02)


def _kubeconfig(plane: Plane) -> str:
    return kubeconfig_text(plane.connection.server, plane.authority, plane.connection.token)


def _client() -> Issued:
    return issue(("kube-scheduler",), "tangram sandbox", now=datetime.now(UTC), life=LIFE, for_client=True)
