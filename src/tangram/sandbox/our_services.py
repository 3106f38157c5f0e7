"""Our scheduler and gpu-aware, started in this process as their own commands would start them."""

from __future__ import annotations

import socket
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import yaml
from msgspec import Struct

from tangram.daemon.certificate_files import CertificateFiles
from tangram.daemon.endpoints import Address
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.objects import Object
from tangram.sandbox import accounts
from tangram.sandbox.apiserver.discovery.version import GIT_VERSION
from tangram.sandbox.folder import PairOnDisk
from tangram.sandbox.loopback import LOOPBACK, held_port
from tangram.sandbox.nodes.parts import Part
from tangram.services.gpu_aware import service as gpu_aware
from tangram.services.gpu_aware.following import MapName
from tangram.services.scheduler.outside_door import open_outside
from tangram.services.scheduler.service import COMPONENT, Scheduler
from tangram.services.scheduler.settings import (
    HAMI_NAME,
    KOORDINATOR_NAME,
    TANGRAM_NAME,
    LeaseName,
    SchedulerSettings,
)
from tangram.wire import kubescheduler_config
from tangram.wire.extender_config import ClientFiles, extender_entry, scheduler_configuration
from tangram.wire.kube_scheduler_version import read_version
from tangram.wire.trust_policy import service_account

MANAGER: Final = "tangram-sandbox"
IDENTITY: Final = socket.gethostname()
"""How the holder of the scheduler's Lease begins, as a real kube-scheduler has it."""
NAMES: Final = (TANGRAM_NAME, HAMI_NAME, KOORDINATOR_NAME)
"""Pods may name any of them: no HAMi and no Koordinator is here to place its own."""
LEASE: Final = LeaseName("kube-system", TANGRAM_NAME)
USUAL: Final = "default-scheduler"
WEIGHTS: Final = MapName("kube-system", "gpu-aware-weight")


class Doors(Struct, frozen=True):
    """Where our services answer."""

    scheduler: str
    aware: str
    authority: Path = Path()
    """Who vouches for the scheduler's certificate."""


async def start_scheduler(
    stack: AsyncExitStack,
    supervisor: Supervisor,
    connection: Connection,
    pair: PairOnDisk,
    client_authority: Path,
    *,
    config: Path | None = None,
) -> tuple[Scheduler, str]:
    """Serve extender, webhook and explain over HTTPS until the stack unwinds; the scheduler and where it answers."""
    port = stack.enter_context(held_port())
    settings = SchedulerSettings(
        served=frozenset(NAMES),
        lease=LEASE,
        identity=IDENTITY,
        extender=None,
        outside=Address(LOOPBACK, port),
        certificate=CertificateFiles(pair.certificate, pair.key),
        client_authority=client_authority,
        account=service_account(accounts.NAMESPACE, accounts.SCHEDULER),
        agents=(service_account(accounts.NAMESPACE, accounts.AGENT),),
        config=config,
    )
    api = await stack.enter_async_context(Api(connection, agent=COMPONENT))
    scheduler = Scheduler(settings, api)
    keeping = await open_outside(stack, scheduler, settings, api)
    await scheduler.start(supervisor)
    if keeping is not None:
        supervisor.lasting("certificates", keeping)
    return scheduler, f"https://{LOOPBACK}:{port}"


async def start_aware(stack: AsyncExitStack, connection: Connection) -> str:
    """Serve gpu-aware over HTTP until the stack unwinds; where it answers."""
    port = stack.enter_context(held_port())
    settings = gpu_aware.Settings(address=Address(LOOPBACK, port), weights_map=WEIGHTS)
    part = Part("gpu-aware", lambda supervisor: gpu_aware.serve(supervisor, settings, connection))
    part.start()
    stack.push_async_callback(part.kill)
    return f"http://{LOOPBACK}:{port}"


def scheduler_files(doors: Doors, kubeconfig: str, client: PairOnDisk, authority: Path) -> dict[str, Object]:
    """What the two kube-schedulers of a sandbox read: ours beside our extender, and the usual one with gpu-aware."""
    files = ClientFiles(str(client.certificate), str(client.key), str(authority))
    ours = scheduler_configuration(
        extender_entry(doors.scheduler, files=files),
        NAMES,
        kubeconfig=kubeconfig,
        lease=(LEASE.namespace, LEASE.name),
    )
    usual = kubescheduler_config.configuration(doors.aware, kubeconfig, read_version(GIT_VERSION))
    return {TANGRAM_NAME: ours, USUAL: usual}


async def publish(api: Api, configuration: Object) -> None:
    """Keep our scheduler's configuration where an installation has it, for people and for `tangram doctor`."""
    path = f"/api/v1/namespaces/{LEASE.namespace}/configmaps/{TANGRAM_NAME}"
    text = yaml.safe_dump(configuration, sort_keys=False)
    thing: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": TANGRAM_NAME, "namespace": LEASE.namespace},
        "data": {"kube-scheduler.yaml": text},
    }
    await api.apply(path, thing, MANAGER)
