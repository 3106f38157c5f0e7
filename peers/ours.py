"""Tangram's scheduler beside another one: with a kube-scheduler of its own, which serves the names it is told."""

from collections.abc import Sequence

from e2e.scheduler_kit import PORT, SCHEDULER, Placement
from peers.world import World
from tangram.wire.extender_config import extender_entry, profiles
from testbed import controlplane

KUBE = "kube-scheduler-of-ours"
KUBE_PORT = 10279


class Ours:
    """Started and stopped as a release of our chart is; other names are taken over as an upgrade of it does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.placement = Placement(world.cluster)

    async def start(self, *others: str) -> None:
        await self.placement.start()
        await self._start_kube(others)

    async def serve(self, *others: str) -> None:
        """Serve these names too from now on."""
        await self.world.cluster.box.stop(KUBE)
        await self._start_kube(others)

    async def stop(self) -> None:
        await self.world.cluster.box.stop(KUBE)
        print(self.placement.log()[-20_000:])  # noqa: T201
        await self.placement.stop()

    async def _start_kube(self, others: Sequence[str]) -> None:
        cluster = self.world.cluster
        configuration = {
            "profiles": profiles([SCHEDULER, *others]),
            "extenders": [extender_entry(f"http://127.0.0.1:{PORT}")],
        }
        command = controlplane.scheduler(
            cluster.programs,
            cluster.box.folder,
            cluster.credentials,
            cluster.options,
            configuration,
            name=KUBE,
            port=KUBE_PORT,
        )
        await cluster.box.start(KUBE, command)
