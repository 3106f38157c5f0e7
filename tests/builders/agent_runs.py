"""A node agent that runs in the test's own loop: simulated cards, a small API server, and a kubelet without containers.

Everything between them is real: gRPC over unix sockets, HTTP, files. Only the agent's pauses are shorter.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc.aio
import pytest
from msgspec.structs import replace

from builders.agent_api import NODE, AgentApi, agent_api
from builders.api_server import Object
from builders.kubelet_pods import KubeletPods
from builders.plugins import short_directory
from builders.simulated import make_driver
from builders.waiting import until
from tangram.daemon.running import DRAIN_S, Drain, Supervisor
from tangram.drivers.protocol import Driver
from tangram.drivers.simulated.control import carry_out
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.kube.api import Api
from tangram.model.devices import Slice
from tangram.model.grants import Grant
from tangram.sandbox.nodes.plugin_client import PluginError
from tangram.services.gpu_device.agent import Agent
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.settings import AgentSettings, Pauses
from tangram.units.ids import NodeName
from tangram.wire.cdi_grants import read_grant

QUICK = Pauses(look_at_least=5.0, look_soon=0.02, look_at_most=0.005, tidy=0.02, publish=0.01, told=0.05)

GPU = "metax-tech.com/gpu"
SGPU = "metax-tech.com/sgpu"
MT_GPU = "mthreads.com/gpu"
MT_CORE = "mthreads.com/sgpu-core"
MT_MEMORY = "mthreads.com/sgpu-memory"
RESOURCES = (GPU, SGPU, MT_GPU, MT_CORE, MT_MEMORY)
ALLOCATED = "metax-tech.com/gpu-devices-allocated"


class Killable(Supervisor):
    """A supervisor that can end everything in the middle of what it does."""

    def __init__(self) -> None:
        super().__init__()
        self.killed = False

    async def until_stopped(self, drain: Drain | None = None, *, limit: float = DRAIN_S) -> int:
        await self.stopping.wait()
        return await super().until_stopped(None if self.killed else drain, limit=limit)


class AgentRun:
    """One agent after another on one node."""

    def __init__(self, folder: Path, api: AgentApi, driver: SimulatedDriver, pods: KubeletPods) -> None:
        self.folder = folder
        self.api = api
        self.driver = driver
        self.pods = pods
        self.opening: Callable[[], Driver] = lambda: driver
        self.settings = AgentSettings(
            node=NodeName(NODE),
            device_plugins=folder / "plugins",
            pod_resources=folder / "pods.sock",
            cdi_folder=folder / "cdi",
            state_folder=folder / "state",
            config_folder=folder / "config",
            runtime_file=folder / "config.toml",
            healthy_interval=0.02,
            patience=20.0,
            pauses=QUICK,
        )
        self.agent: Agent | None = None
        self._supervisor: Killable | None = None
        self._task: asyncio.Task[int] | None = None

    # ---- the agent

    def start(self) -> None:
        self._supervisor = Killable()
        self._task = asyncio.create_task(self._serve(self._supervisor))

    async def _serve(self, supervisor: Killable) -> int:
        async with Api(self.api.connection) as api:
            self.agent = Agent(self.settings, api, Hardware(self.opening))
            return await self.agent.serve(supervisor, None)

    async def stop(self) -> int:
        """End it in good order."""
        return await self._end()

    async def kill(self) -> None:
        """End it at once: nobody is told, nothing is put in order."""
        if self._supervisor is not None:
            self._supervisor.killed = True
        await self._end()

    async def _end(self) -> int:
        if self._task is None or self._supervisor is None:
            return 0
        known = {
            resource: client for resource in RESOURCES if (client := self.pods.devices.door.client(resource))
        }
        self._supervisor.stop()
        task, self._task = self._task, None
        status = await task
        # Else the kubelet would be asked to start containers with the plugin that has just gone.
        devices = self.pods.devices
        await until(
            lambda: all(devices.door.client(resource) is not each for resource, each in known.items())
        )
        return status

    def adjust(self, **changes: object) -> None:
        """Other settings for the next agent."""
        self.settings = replace(self.settings, **changes)

    def configure(self, cluster: str) -> None:
        """What the device ConfigMap says for the whole cluster."""
        folder = self.folder / "config"
        folder.mkdir(exist_ok=True)
        (folder / "cluster-config").write_text(cluster)
        (folder / "version").write_text("v1")

    # ---- cards and what exists on them

    @property
    def uuids(self) -> list[str]:
        return [str(each.uuid) for each in self.driver.world.devices() if each.virtual_function_of is None]

    def slices(self) -> list[Slice]:
        return [
            part
            for device in self.driver.world.devices()
            if device.virtual_function_of is None
            for part in self.driver.world.slices(device.uuid)
        ]

    def order(self, line: str) -> None:
        """A command to the simulation, such as `fail GPU-3`."""
        carry_out(self.driver.world, line)

    def grants(self) -> dict[str, Grant]:
        """By claim, what the CDI files say."""
        found = [read_grant(path.read_text()) for path in (self.folder / "cdi").glob("*.json")]
        return {grant.claim: grant for grant in found}

    def grant_of(self, pod: Object, container: str = "c0") -> Grant:
        uid = pod["metadata"]["uid"]
        (grant,) = [
            each for each in self.grants().values() if (each.pod.uid, each.container) == (uid, container)
        ]
        return grant

    def edits_of(self, pod: Object, container: str = "c0") -> tuple[dict[str, str], list[str]]:
        """The variables and device nodes that the container's CDI file adds."""
        claim = self.grant_of(pod, container).claim
        (path,) = (self.folder / "cdi").glob(f"*{claim}*")
        edits = json.loads(path.read_text())["devices"][0]["containerEdits"]
        env = dict(each.split("=", 1) for each in edits.get("env", ()))
        return env, [node["path"] for node in edits.get("deviceNodes", ())]

    # ---- waiting

    async def offered(self, resource: str, healthy: int, total: int | None = None) -> dict[str, str]:
        """Wait until the kubelet knows of so many healthy units; of them all, by id."""
        devices = self.pods.devices

        def so() -> bool:
            if devices.door.client(resource) is None:
                return False
            # Of a plugin that came back, what the one before it said last is known, and not given to anybody.
            well = len(devices.plugins.healthy(resource))
            return well == healthy and (total is None or len(devices.plugins.health(resource)) == total)

        await until(so)
        return devices.plugins.health(resource)

    async def published(self, key: str) -> str:
        await until(lambda: key in self.api.node_annotations)
        return self.api.node_annotations[key]

    async def refused(self, pod: Object, container: str = "c0") -> str:
        """Start a container that is not to start; what the kubelet is told."""
        with pytest.raises(PluginError) as refused:
            await self.pods.start_container(pod, container)
        answer = refused.value.__cause__
        assert isinstance(answer, grpc.aio.AioRpcError)
        assert answer.code() is grpc.StatusCode.FAILED_PRECONDITION, answer
        return answer.details() or ""


def allocated(*containers: Sequence[tuple[str, int, int]]) -> dict[str, str]:
    """MetaX's allocation annotation: for each container, cards with MiB and percent."""
    rows = [
        [{"uuid": uuid, "compute": cores, "vRam": memory} for uuid, memory, cores in parts]
        for parts in containers
    ]
    return {ALLOCATED: json.dumps(rows)}


def slice_limits(gib: int = 1, cores: int = 10, count: int = 1) -> dict[str, object]:
    return {SGPU: count, "metax-tech.com/vcore": cores, "metax-tech.com/vmemory": gib}


@asynccontextmanager
async def agent_on(
    *cards: Mapping[str, object],
    mode: str = "",
    begin: bool = True,
    errors: Sequence[Mapping[str, object]] = (),
) -> AsyncGenerator[AgentRun]:
    """A node with those cards and an agent, which ends at once with the block; `errors` are what its driver makes."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(short_directory())
        (folder / "plugins").mkdir()
        api = await stack.enter_async_context(agent_api())
        pods = await stack.enter_async_context(KubeletPods(folder / "plugins", folder / "pods.sock"))
        run = AgentRun(folder, api, make_driver(*cards, errors=errors), pods)
        if mode:
            run.configure(mode)
        if begin:
            run.start()
        try:
            yield run
        finally:
            await run.kill()
