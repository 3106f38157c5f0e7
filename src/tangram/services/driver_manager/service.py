"""The driver manager as a process: what is put together, and in which order it begins."""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from tangram.daemon.background import in_background
from tangram.daemon.endpoints import Address, serving
from tangram.daemon.errors import SettingError
from tangram.daemon.running import Supervisor
from tangram.drivers.modules.protocol import LoadedModule, LoaderError, ModuleLoader
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.informer import Informer, unsigned
from tangram.kube.recorder import Event, Recorder
from tangram.kubelet.sockets import SocketUnusable
from tangram.services.driver_manager.busy import SOCKET, Holders
from tangram.services.driver_manager.configuring import Configuration
from tangram.services.driver_manager.disk import Disk
from tangram.services.driver_manager.doing import Doer
from tangram.services.driver_manager.facts import Wish
from tangram.services.driver_manager.in_use import user_of
from tangram.services.driver_manager.looking import Looker, Opening, boot_id
from tangram.services.driver_manager.maca import Maca, MacaSettings
from tangram.services.driver_manager.maca_choosing import choose_images
from tangram.services.driver_manager.maca_keeper import MacaKeeper
from tangram.services.driver_manager.manager import Manager
from tangram.services.driver_manager.metrics import Metrics
from tangram.services.driver_manager.own_node import OwnNode
from tangram.services.driver_manager.problems import ProblemError
from tangram.services.driver_manager.recovering import recover
from tangram.services.driver_manager.reporting import MANAGER, Reporter
from tangram.services.driver_manager.staged import Checks, Ground
from tangram.services.driver_manager.telling import Telling
from tangram.units.ids import NodeName
from tangram.wire.operator.policies import DeployPolicy

NODES: Final = "/api/v1/nodes"
COMPONENT: Final = "driver-manager"
EVENTS_S: Final = 2.0
"""At the end, for events that are still to be written."""

log = logging.getLogger("tangram.driver-manager")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    node: NodeName
    policy: DeployPolicy
    maca: MacaSettings
    host_root: Path = Path("/")
    driver_image: str = ""
    signed_by: Checks | None = None
    config_namespace: str = ""
    """Empty where no `driver-config` is followed."""
    needs_runtime: bool = True
    address: Address | None = None
    limit: float = 10.0
    """Seconds that one look at the cards may take."""
    driver_mode: str = ""
    """What the label `gpu.driver.mode` is set to; empty for what is so."""


async def serve(
    supervisor: Supervisor, settings: Settings, connection: Connection, loader: ModuleLoader, opening: Opening
) -> int:
    """Keep driver and MXMACA as they should be, until stopped. What runs stays as it is."""
    disk = Disk(settings.host_root)
    boot = boot_id(disk)
    metrics = Metrics()
    in_use = _users_below(disk)
    async with Api(connection, agent=MANAGER) as api:
        recorder = Recorder(api, COMPONENT, settings.node)
        parts: list[Callable[[], None]] = []

        def due() -> None:
            for part in parts:
                part()

        own = OwnNode(settings.node, due)
        telling = Telling(own, recorder.record)
        try:
            recovered = await in_background(
                lambda: recover(disk, _loaded(loader), boot, in_use), "reading-the-journal"
            )
        except ProblemError as error:
            raise SettingError(f"{error}.") from error
        if recovered.remark:
            log.warning("%s", recovered.remark)
            telling.warn("JournalUnreadable", recovered.remark)
        configuration = _configuration(api, settings, due, recorder.record)
        reporter = Reporter(api, own, mode=settings.driver_mode)
        holders = _holders(api, disk)
        looker = Looker(
            loader,
            opening,
            disk,
            payloads=settings.maca.payloads,
            image=settings.driver_image,
            machine=platform.machine(),
            signed_by=settings.signed_by,
            limit=settings.limit,
        )
        manager = Manager(
            policy=settings.policy,
            own=own,
            looker=looker,
            doer=Doer(disk, loader, recovered.journal, boot, in_use),
            asks_busy=holders,
            reporter=reporter,
            telling=telling,
            wish=lambda: Wish() if configuration is None else configuration.wish,
            metrics=metrics,
            boot=boot,
            needs_runtime=settings.needs_runtime,
        )
        ground = Ground(kernel="", machine=platform.machine(), signed_by=settings.signed_by)
        keeper = MacaKeeper(
            Maca(disk, settings.maca, lambda: ground, in_use),
            own,
            reporter,
            telling,
            driver_runs=lambda: manager.decision is not None and manager.decision.is_ready,
            images=lambda: choose_images(settings.maca.images, own.labels, platform.machine()),
        )
        parts += [manager.due, keeper.due, telling.before]
        informer = Informer(
            api,
            NODES,
            own.told,
            keep=unsigned,
            query={"fieldSelector": f"metadata.name={settings.node}"},
            troubled=lambda sentence: log.warning("the API server cannot be followed: %s", sentence),
        )

        def unready() -> list[str]:
            lost = [] if informer.fresh else ["the API server does not answer, or not yet"]
            return lost + ([manager.unready] if manager.unready else [])

        async with serving(
            settings.address, metrics.registry, unhealthy=supervisor.unhealthy, unready=unready
        ):
            log.info("the driver of node %s is kept", settings.node, extra={"policy": settings.policy})
            supervisor.vital("following the node", informer.run())
            supervisor.vital("writing events", recorder.run())
            if configuration is not None:
                supervisor.vital("following driver-config", configuration.run())
            supervisor.vital("keeping the driver", manager.run())
            supervisor.vital("keeping MXMACA", keeper.run())
            try:
                # Whatever is under way is finished by who starts next, from the journal.
                return await supervisor.until_stopped(recorder.flush, limit=EVENTS_S)
            finally:
                await holders.close()


def _configuration(
    api: Api, settings: Settings, due: Callable[[], None], say: Callable[[Event], None]
) -> Configuration | None:
    if not settings.config_namespace:
        return None
    return Configuration(api, settings.config_namespace, settings.node, due, say)


def _holders(api: Api, disk: Disk) -> Holders:
    try:
        return Holders(api, disk.at(SOCKET))
    except (SocketUnusable, OSError) as error:
        raise SettingError(f"--host-root: {str(error).rstrip('.')}.") from error


def _loaded(loader: ModuleLoader) -> LoadedModule | None:
    try:
        return loader.loaded()
    except LoaderError:
        return None


def _users_below(disk: Disk) -> Callable[[str], str]:
    """By the host's processes, which are below its root, or are ours to see as well (hostPID)."""
    of_host = disk.at("/proc")
    proc = of_host if (of_host / "1").exists() else Path("/proc")
    return lambda name: user_of(proc, name)
