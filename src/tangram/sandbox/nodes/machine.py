"""One machine: simulated cards, a kubelet, and our real node agent and labeller on top of them.

The agent and the labeller are the ones that run on real nodes, in this process instead of one of their own, with a
connection of their own each. Everything between them and the kubelet is real: gRPC over unix sockets, files, HTTP.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tangram.daemon.endpoints import Address
from tangram.daemon.running import Supervisor
from tangram.drivers.simulated.bus import SimulatedBus
from tangram.drivers.simulated.control import Answer, carry_out
from tangram.drivers.simulated.driver import SimulatedDriver
from tangram.drivers.simulated.world import Clock, World
from tangram.kube.api import Api
from tangram.kube.connection import Connection
from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Object
from tangram.kube.recorder import About, Event, Recorder
from tangram.sandbox import accounts
from tangram.sandbox.loopback import LOOPBACK, held_port
from tangram.sandbox.nodes.containers import Containers
from tangram.sandbox.nodes.described import MachineDescription
from tangram.sandbox.nodes.device_manager import DeviceManager
from tangram.sandbox.nodes.kubelet import Kubelet, NotReady
from tangram.sandbox.nodes.log_book import LogBook
from tangram.sandbox.nodes.node_keeping import NodeKeeping
from tangram.sandbox.nodes.node_objects import Offered, Said
from tangram.sandbox.nodes.occupying import Occupying
from tangram.sandbox.nodes.parts import Part
from tangram.sandbox.nodes.pod_resources import PodResources
from tangram.sandbox.nodes.pod_specs import kubelet_uid, name_of, namespace_of, uid_of
from tangram.sandbox.nodes.ward import Ward
from tangram.services.gpu_device.agent import Agent
from tangram.services.gpu_device.device_object import MANAGER as DEVICE_MANAGER
from tangram.services.gpu_device.device_object import PATH as DEVICES
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.settings import AgentSettings, Pauses
from tangram.services.gpu_label.looking import Looker
from tangram.services.gpu_label.service import Settings as LabelSettings
from tangram.services.gpu_label.service import serve as serve_labels
from tangram.units.ids import NodeName, PodUid
from tangram.wire.koordinator.device import Device, device_object
from tangram.wire.metax_labels import Choices

COMPONENT: Final = "kubelet"
HEALTH_S: Final = 2.0
"""Between two looks of an agent at its cards."""
LABELS_S: Final = 60.0
WAKING_S: Final = 30.0
_LOOK_S: Final = 0.01

QUIET: Final = Pauses(look_at_least=600.0, look_soon=0.2, look_at_most=0.05, tidy=0.2, publish=0.05, told=0.3)
"""An agent of a sandbox is told of whatever happens, so at rest it need not look; and when it does, a person waits."""

ConnectionFor = Callable[[NodeName, str], Awaitable[Connection]]
"""How a service on a node reaches the API server: node and account (`tangram-gpu-device`, `tangram-gpu-label`) in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the machines of one process share."""

    api: Api
    connection_for: ConnectionFor
    logs: LogBook
    now: Callable[[], dt.datetime]
    clock: Clock
    """Of the cards."""
    next_ip: Callable[[], str]
    writing: asyncio.Semaphore
    port: Callable[[], int]
    """Of the log server."""
    room: Callable[[NodeName], tuple[Mapping[str, int], Mapping[str, str]]]
    """What the API server says that a node has, and its labels."""
    published: Callable[[NodeName], bool]
    """Whether the API server has the word of the node's agent."""
    labels: Choices
    """How the labellers label."""


class Machine:
    """`start` asleep or awake; `wake`, `stop`; and what people do to machines."""

    def __init__(
        self, description: MachineDescription, folder: Path, around: Surroundings, said: Said
    ) -> None:
        self.description: Final = description
        self.folder: Final = folder
        self.said: Final = said
        self._around = around
        self.world: World | None = None
        """Its cards, once it is awake."""
        self.doors: Final[dict[str, Address]] = {}
        """Where its agents tell their figures, by what they are, once it is awake."""
        self._expected = frozenset(resource for resource, count in said.offered.allocatable.items() if count)
        self._has_agent = bool(description.cards.cards)
        self._told = False
        self._ports = ExitStack()
        self._occupying: Occupying | None = None
        self._waking: asyncio.Task[None] | None = None
        self._recorder: Recorder | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.devices: Final = DeviceManager(
            folder / "p",
            living=lambda: [kubelet_uid(pod) for pod in self._living()],
            changed=self._offer_changed,
            sick=self._sick,
        )
        self.containers: Final = Containers(around.logs, around.now, lambda: self._occupying)
        ward = Ward(
            api=around.api,
            containers=self.containers,
            logs=around.logs,
            devices=self.devices,
            cdi=folder / "cdi",
            record=self._record,
            now=around.now,
            next_ip=around.next_ip,
            writing=around.writing,
        )
        resources = PodResources(folder / "r" / "kubelet.sock", self.devices, self._living)
        self.kubelet: Final = Kubelet(ward, resources, room=self._room, woken=self.wake)
        self.keeping: Final = NodeKeeping(
            around.api, description, self._offered, port=around.port, now=around.now
        )
        self.agent: Final = Part(f"gpu-device of {description.node}", self._serve_agent)
        self.labeller: Final = Part(f"gpu-label of {description.node}", self._serve_labels)

    @property
    def name(self) -> NodeName:
        return self.description.node

    @property
    def awake(self) -> bool:
        return self.world is not None

    # ---- life

    async def start(self, *, awake: bool) -> None:
        """Make the node and begin. Raises `ApiError`, `ApiUnreachable` and `NotReady`."""
        # A machine that wakes by itself says so piece by piece, as a real one does; one that sleeps must look awake.
        await self.keeping.register(Said() if awake else self.said)
        if not awake and self.said.device is not None:
            await self._report(self.said.device)
        await self.kubelet.start(sockets=False)
        if awake:
            await self.wake()

    async def wake(self) -> None:
        """Have everything run that a pod with cards needs. Returns at once where it does. Raises `NotReady`."""
        if self._waking is None:
            self._waking = asyncio.create_task(self._wake(), name=f"waking {self.name}")
        await asyncio.shield(self._waking)
        await self.ready()

    async def stop(self) -> None:
        """End everything, the agents first and in good order."""
        if self._waking is not None and not self._waking.done():
            self._waking.cancel()
        await asyncio.gather(self.agent.kill(), self.labeller.kill())
        await self.kubelet.stop()
        await self.containers.stop_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._ports.close()

    async def ready(self, within: float = WAKING_S) -> None:
        """Wait until the kubelet knows every resource that the agent has to offer. Raises `NotReady`."""
        ends = self._around.clock() + within
        while not self._stands():
            if (self._expected and not self.agent.running) or self._around.clock() > ends:
                raise NotReady(
                    f"the agent of node {self.name} does not offer its cards; the sandbox's log says why"
                )
            await asyncio.sleep(_LOOK_S)
        if not self._told:
            self._told = True
            await self.keeping.flush()

    def _stands(self) -> bool:
        """The kubelet knows the cards; and, before anybody is told that the machine is ready, so does the cluster."""
        if self._told:
            # What is offered may be changed later, down to nothing of a resource; its plugin stays.
            return all(self.devices.has_plugin(resource) for resource in self._expected)
        offered = all(self.devices.registered(resource) for resource in self._expected)
        return offered and (not self._has_agent or self._around.published(self.name))

    # ---- what people do to machines

    async def stop_kubelet(self) -> None:
        """Kill it: containers go on, and nobody answers for the node."""
        await self.kubelet.stop()

    async def start_kubelet(self) -> None:
        await self.kubelet.start(sockets=self.awake)

    async def order(self, line: str) -> Answer:
        """A command to the cards, such as `fail GPU-3` or `recover GPU-3`. Raises `DriverError`."""
        await self.wake()
        if self.world is None:
            raise RuntimeError("a machine that is awake has cards")
        return carry_out(self.world, line)

    # ---- inside

    async def _wake(self) -> None:
        self.world = World(self.description.cards, self._around.clock)
        self._occupying = Occupying(self.world)
        self._configure()
        await self.kubelet.open_sockets()
        self._tasks.append(asyncio.create_task(self.keeping.run(), name=f"the node {self.name}"))
        self.doors["gpu-label"] = self._door()
        self.labeller.start()
        if self._has_agent:
            self.doors["gpu-device"] = self._door()
            self.agent.start()

    def _door(self) -> Address:
        return Address(LOOPBACK, self._ports.enter_context(held_port()))

    def _configure(self) -> None:
        # Like /var/run of a machine that boots: the slices that its files name are as gone as they are.
        shutil.rmtree(self.folder / "cdi", ignore_errors=True)
        folder = self.folder / "config"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.description.config.items():
            (folder / name).write_text(text, "utf-8")

    async def _report(self, device: Device) -> None:
        """Write the `Device` in the agent's name, so that it is the agent's own once it wakes."""
        thing = device_object(device, node_uid=self.keeping.uid)
        try:
            await self._around.api.apply(f"{DEVICES}/{self.name}", thing, DEVICE_MANAGER)
        except ApiError as error:
            # Where there is no such kind, an agent writes none either.
            if error.status != NOT_FOUND:
                raise

    async def _serve_agent(self, supervisor: Supervisor) -> int:
        if self.world is None:
            raise RuntimeError("an agent has cards to look after")
        world = self.world
        settings = AgentSettings(
            node=self.name,
            device_plugins=self.folder / "p",
            pod_resources=self.folder / "r" / "kubelet.sock",
            cdi_folder=self.folder / "cdi",
            state_folder=self.folder / "state",
            config_folder=self.folder / "config",
            config_namespace=accounts.NAMESPACE,
            device_infos=self.folder / "device-infos",
            runtime_file=self.folder / "config.toml",
            healthy_interval=HEALTH_S,
            pauses=QUIET,
        )
        connection = await self._around.connection_for(self.name, accounts.AGENT)
        async with Api(connection, agent=accounts.AGENT) as api:
            return await Agent(settings, api, Hardware(lambda: SimulatedDriver(world))).serve(
                supervisor, self.doors["gpu-device"]
            )

    async def _serve_labels(self, supervisor: Supervisor) -> int:
        if self.world is None:
            raise RuntimeError("a labeller has cards to look at")
        world = self.world
        connection = await self._around.connection_for(self.name, accounts.LABELLER)
        looker = Looker(lambda _on_try: SimulatedDriver(world), SimulatedBus(world))
        settings = LabelSettings(
            node=self.name,
            interval=LABELS_S,
            address=self.doors["gpu-label"],
            choices=self._around.labels,
        )
        return await serve_labels(supervisor, settings, connection, looker)

    def _offered(self) -> Offered:
        if not self.kubelet.serving:
            return self.said.offered
        amounts = self.devices.amounts()
        return Offered(amounts.capacity, amounts.allocatable)

    def _living(self) -> list[Object]:
        return self.kubelet.living()

    def _sick(self, pod: PodUid) -> None:
        self.kubelet.sick(pod)

    def _offer_changed(self) -> None:
        self.keeping.due()

    def _room(self) -> tuple[Mapping[str, int], Mapping[str, str]]:
        """What the API server was told, with the kubelet's own word on what is newer here."""
        amounts, labels = self._around.room(self.name)
        own = {
            "cpu": self.description.cpu_milli,
            "memory": self.description.memory,
            "pods": self.description.pods,
        }
        return {**amounts, **own, **self._offered().allocatable}, labels

    def _record(self, pod: Object, reason: str, message: str, *, warning: bool = False) -> None:
        if self._recorder is None:
            self._recorder = Recorder(self._around.api, COMPONENT, str(self.name), self._around.now)
            self._tasks.append(asyncio.create_task(self._recorder.run(), name=f"events of {self.name}"))
        about = About("Pod", name_of(pod), namespace_of(pod), str(uid_of(pod)))
        self._recorder.record(Event(about, reason, message, warning=warning))
