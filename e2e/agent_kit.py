"""The node agent on a real kubelet: simulated cards, their device nodes, and `tangram gpu-device` beside the kubelet.

Cards live in a process of their own, so they and what was made on them outlive the agent, as hardware does. Pods are
placed by the test: it decides as a scheduler would, through the same engine and the same codecs, and binds.
"""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tangram.drivers.simulated.client import SimulatedClient, connected
from tangram.units.ids import NodeName
from testbed.api import Object, path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.manifests import binding
from testbed.node import NodeNames

TANGRAM = REPOSITORY / ".venv" / "bin" / "tangram"
AGENT = "gpu-device"
CARDS = "cards"


@dataclass
class AgentNode:
    """One node with cards and an agent."""

    cluster: Cluster
    names: NodeNames
    config: Path | None = None
    extra: Sequence[str] = ()
    number: int = field(default=0)
    kubeconfig: Path | None = None
    """As whom the agent asks the API server; an administrator if not given."""
    way: str = "simulated:unix:/run/cards.sock"
    """How the agent reaches the cards."""
    launcher: Sequence[str] = ()
    """Words before the agent's own command."""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> NodeName:
        return NodeName(self.names.name)

    @property
    def socket(self) -> Path:
        """The simulation's socket, as the node sees it and as the test does."""
        return self.cluster.room(self.names).run / "cards.sock"

    @property
    def driver(self) -> SimulatedClient:
        return connected(self.socket)

    def program(self, what: str) -> str:
        return f"{what}-{self.names.name}"

    async def start_cards(self, description: str) -> None:
        file = self.cluster.room(self.names).run / "cards.yaml"
        file.write_text(description)
        command = [
            # Cards take no part in the competition for the processor.
            "/usr/bin/nice", "-n", "-10",
            TANGRAM, "simulate-cards", "serve", "--cards", "/run/cards.yaml", "--socket", "/run/cards.sock",
            "--device-root", "/dev", "--name", self.names.name,
        ]  # fmt: skip
        await self.cluster.box.start(self.program(CARDS), command, room=self.names.name)
        while not self.socket.exists():
            await asyncio.sleep(0.02)

    async def start_agent(self, *more: str, suffix: str = "") -> None:
        command: list[str | Path] = [
            *self.launcher, TANGRAM, "gpu-device", "--node-name", self.names.name, "--driver", self.way,
            "--kubeconfig", self.kubeconfig or self.cluster.box.folder.admin_kubeconfig,
            "--log-dir", "", "--log-format", "text",
            "--root", "/", *self.extra, *more,
        ]  # fmt: skip
        if self.config is not None:
            command += ["--config", self.config]
        await self.cluster.box.start(
            self.program(AGENT) + suffix, command, room=self.names.name, env=self.environment
        )

    async def stop_agent(self, by: signal.Signals = signal.SIGTERM, suffix: str = "") -> int:
        return await self.cluster.box.stop(self.program(AGENT) + suffix, by=by)

    def log(self, suffix: str = "") -> str:
        return self.cluster.box.log(self.program(AGENT) + suffix)

    async def until_allocatable(self, resource: str, count: int, within: float = 30.0) -> Object:
        return await self.cluster.until_node(
            self.names.name,
            lambda node: node["status"].get("allocatable", {}).get(resource) == str(count),
            within=within,
            what=f"{count} {resource} allocatable",
        )

    async def place(self, pod: Object, annotations: Mapping[str, str]) -> Object:
        """Create the pod unbound and bind it here with what a scheduler would write."""
        pod["spec"]["schedulerName"] = "placed-by-test"
        made = await self.cluster.api.create(pod)
        await self.bind(made, annotations)
        return made

    async def bind(self, made: Object, annotations: Mapping[str, str]) -> None:
        """Bind a pod here, with annotations, in one call."""
        name = made["metadata"]["name"]
        await self.cluster.api.call(
            "POST",
            f"{path_of('Pod', name)}/binding",
            binding(name, self.names.name, annotations=annotations, uid=made["metadata"]["uid"]),
        )

    async def metrics(self) -> str:
        """What the agent counts, asked from inside the node's network."""
        connection = self.cluster.box.make_socket(self.names.name)
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", 9394))
        reader, writer = await asyncio.open_connection(sock=connection)
        writer.write(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
        try:
            return (await reader.read()).decode()
        finally:
            writer.close()


def slices(*containers: Sequence[tuple[str, int, int]]) -> dict[str, str]:
    """MetaX's allocation annotation: per container, cards with MiB and percent."""
    rows = [
        [{"uuid": uuid, "compute": cores, "vRam": memory} for uuid, memory, cores in cards]
        for cards in containers
    ]
    return {"metax-tech.com/gpu-devices-allocated": json.dumps(rows, separators=(",", ":"))}


def device_config(cluster: Cluster, names: NodeNames, mode: str) -> Path:
    """The agent's ConfigMap as a volume shows it, and where the node sees that."""
    folder = cluster.room(names).run / "device-config"
    folder.mkdir(exist_ok=True)
    (folder / "version").write_text("v1")
    (folder / "cluster-config").write_text(mode)
    return Path("/run/device-config")


@asynccontextmanager
async def agent_node(
    cluster: Cluster, description: str, *, mode: str = "", extra: Sequence[str] = ()
) -> AsyncGenerator[AgentNode]:
    """Cards and an agent on the cluster's first node, gone again afterwards."""
    names = cluster.nodes[0]
    node = AgentNode(cluster, names, device_config(cluster, names, mode) if mode else None, extra)
    await node.start_cards(description)
    try:
        await node.start_agent()
        try:
            yield node
        finally:
            await node.stop_agent()
    finally:
        await cluster.box.stop(node.program(CARDS))
