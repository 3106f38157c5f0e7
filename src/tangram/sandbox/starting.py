"""A sandbox from nothing to running, and back: what is started in which order, and what each step says meanwhile.

The API server comes first, because everybody talks to it. Our scheduler answers before its webhooks are registered, and
they are registered before controllers and kubelets begin, so that no pod is refused, or missed, for having come too
early.

Whoever asks for the end while a sandbox starts need not wait until it runs; and whoever asks twice need not wait until
every part has put its things in order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from tangram.daemon.certificates import Issued, issue
from tangram.daemon.running import Supervisor
from tangram.drivers.simulated.world import World
from tangram.kube.api import Api
from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.sandbox import accounts, webhooks
from tangram.sandbox.apiserver.server import LIFE, is_free, make_certificate
from tangram.sandbox.card_sockets import card_sockets
from tangram.sandbox.ending import ended_by
from tangram.sandbox.failures import NotStarted
from tangram.sandbox.folder import Folder, write_pair, write_private
from tangram.sandbox.kinds import install_kinds
from tangram.sandbox.kubeconfig import kubeconfig_text, port_in
from tangram.sandbox.nodes.described import MachineDescription
from tangram.sandbox.nodes.machines import Machines
from tangram.sandbox.nodes.node_objects import NODES
from tangram.sandbox.our_services import Doors, publish, scheduler_files, start_aware, start_scheduler
from tangram.sandbox.planes import Plane, embedded
from tangram.sandbox.prometheus_file import FILE as PROMETHEUS_FILE
from tangram.sandbox.prometheus_file import prometheus_text
from tangram.sandbox.real import real
from tangram.services.scheduler.service import Scheduler
from tangram.services.scheduler.settings import TANGRAM_NAME
from tangram.wire.metax_labels import Choices

READY_S: Final = 30.0
SILENCE_S: Final = 40.0
PER_NODE_S: Final = 1.0
"""So that a thousand nodes at rest write twice a second."""
GRACE_S: Final = 10.0
"""Between the silence that nodes allow themselves, and their being given up."""

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
    scheduler_config: Path | None = None
    """The scheduler's own file, followed as it changes."""
    labels: Choices = Choices()
    """How nodes are labelled."""


class Sandbox(Struct, frozen=True, kw_only=True):
    folder: Folder
    api: Api
    machines: Machines
    doors: Doors
    scheduler: Scheduler
    supervisor: Supervisor


@asynccontextmanager
async def sandbox_in(
    folder: Folder, options: Options, supervisor: Supervisor, say: Say
) -> AsyncGenerator[Sandbox]:
    """Everything, until the block ends.

    Raises `SettingError` and `JournalError` for what cannot be used, `NotStarted` and `NotReady` for what does not come
    up, and `Stopped` when the end is asked for before all of it has.
    """
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(ended_by(supervisor.hurry))
        try:
            async with ended_by(supervisor.stopping):
                box = await _start(stack, folder, options, supervisor, say)
        except BaseException:
            # Nobody else will wait for the tasks that were begun already.
            supervisor.stop()
            await supervisor.until_stopped()
            raise
        yield box


async def _start(
    stack: AsyncExitStack, folder: Folder, options: Options, supervisor: Supervisor, say: Say
) -> Sandbox:
    keys = folder.path / "keys" if options.keep else folder.sockets / "keys"
    plane = await stack.enter_async_context(_plane(options, folder, keys, supervisor))
    write_private(folder.kubeconfig, _kubeconfig(plane).encode())
    say(f"API server at {plane.connection.server}")
    api = await stack.enter_async_context(Api(plane.connection, agent="tangram-sandbox"))
    await accounts.make_accounts(api)
    await install_kinds(api)
    served = make_certificate()
    serving = write_pair(keys, "scheduler", served)
    client = write_pair(keys, "kube-scheduler", _client())
    scheduler, url = await start_scheduler(
        stack,
        supervisor,
        await accounts.connection_as(api, accounts.SCHEDULER),
        serving,
        client.authority,
        config=options.scheduler_config,
    )
    await webhooks.register(api, url, served.authority)
    aware = await start_aware(stack, await accounts.connection_as(api, accounts.AWARE))
    doors = Doors(url, aware, serving.authority)
    machines = Machines(
        options.machines,
        api=api,
        connection_for=lambda node, account: accounts.connection_as(api, account, node),
        folder=_nodes(options, folder),
        certificate=plane.kubelets,
        silence=_silence(options),
        labels=options.labels,
    )
    stack.push_async_callback(machines.stop)
    if options.keep:
        await _clear_after_the_last(api, options.machines, say)
    files = scheduler_files(doors, str(folder.kubeconfig), client, serving.authority)
    # Whoever holds the scheduler's Lease is believed after a moment, which may pass while machines start.
    await asyncio.gather(plane.schedule(files), machines.start(say))
    supervisor.vital("the machines", machines.last())
    await stack.enter_async_context(card_sockets(_worlds(machines), folder))
    await _ready(scheduler)
    await publish(api, files[TANGRAM_NAME])
    agents = [(str(machine.name), machine.doors) for machine in machines if machine.awake]
    told = prometheus_text(url, serving.authority, plane.connection.token, agents)
    # Its token and its ports are worth nothing afterwards.
    stack.callback((folder.path / PROMETHEUS_FILE).unlink, missing_ok=True)
    write_private(folder.path / PROMETHEUS_FILE, told.encode())
    say("scheduler, webhook and gpu-aware answer")
    return Sandbox(
        folder=folder, api=api, machines=machines, doors=doors, scheduler=scheduler, supervisor=supervisor
    )


@asynccontextmanager
async def _plane(
    options: Options, folder: Folder, keys: Path, supervisor: Supervisor
) -> AsyncGenerator[Plane]:
    port = _port(options, folder)
    if options.real:
        async with real(port, folder, supervisor, keep=options.keep) as found:
            yield found
    else:
        data = folder.path if options.keep else None
        async with embedded(port, keys, data, supervisor, grace=_silence(options) + GRACE_S) as made:
            yield made


def _silence(options: Options) -> float:
    """How long a node may say nothing. Real controllers do not ask how many there are; ours wait longer for many."""
    return SILENCE_S if options.real else max(SILENCE_S, len(options.machines) * PER_NODE_S)


def _port(options: Options, folder: Folder) -> int:
    """Where any port will do, that of the last time if it is free: people's shells still have the kubeconfig."""
    if options.port or not options.keep:
        return options.port
    last = port_in(folder.kubeconfig)
    return last if last and is_free(last) else 0


def _nodes(options: Options, folder: Folder) -> Path:
    """Where machines keep their files.

    What a kubelet notes of its devices must outlive the process where its pods do. Its sockets are beside the notes, so
    they are reached by a short way. Real control planes have pods of their own.
    """
    if not options.keep:
        return folder.sockets / "nodes"
    kept = folder.path / ("plane/nodes" if options.real else "nodes")
    kept.mkdir(parents=True, exist_ok=True)
    short = folder.sockets / "n"
    short.symlink_to(kept)
    return short


async def _clear_after_the_last(api: Api, machines: Sequence[MachineDescription], say: Say) -> None:
    """What was kept and is true no longer.

    Nodes that are not described any more look well, and nothing would ever run on them. The schedulers of a killed
    sandbox hold their Leases, and ours would wait until those are over.
    """
    for name in (TANGRAM_NAME, "kube-scheduler"):
        await _delete(api, f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}")
    described = {str(each.node) for each in machines}
    for node in await api.list_all(NODES):
        name = str(node["metadata"]["name"])
        if name not in described and await _delete(api, f"{NODES}/{name}"):
            say(f"node {name:.40} is no longer described, and was removed")


async def _delete(api: Api, path: str) -> bool:
    try:
        await api.delete(path)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return False
    return True


def _worlds(machines: Machines) -> dict[str, World]:
    """The cards of the machines that run in full."""
    return {str(machine.name): machine.world for machine in machines if machine.world is not None}


async def _ready(scheduler: Scheduler) -> None:
    """Our scheduler has read the cluster. Whether it holds the Lease shows when somebody schedules."""
    ends = time.monotonic() + READY_S
    while reasons := scheduler.unready():
        if time.monotonic() > ends:
            raise NotStarted(f"the scheduler was not ready within {READY_S:g} s: {'; '.join(reasons)}")
        await asyncio.sleep(0.02)


def _kubeconfig(plane: Plane) -> str:
    return kubeconfig_text(plane.connection.server, plane.authority, plane.connection.token)


def _client() -> Issued:
    return issue(("kube-scheduler",), "tangram sandbox", now=datetime.now(UTC), life=LIFE, for_client=True)
