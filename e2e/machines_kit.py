"""Simulated machines of the sandbox under a real control plane: they run in the test's own process, their connections
in the box's network.
"""

import asyncio
import shutil
import socket
import ssl
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tangram.daemon.certificates import Pair
from tangram.kube import api as kube_api
from tangram.kube.api import Api
from tangram.kube.connection import Connection, from_kubeconfig
from tangram.sandbox import accounts
from tangram.sandbox.nodes.described import default_machines
from tangram.sandbox.nodes.machines import Machines
from tangram.units.ids import NodeName
from testbed import linux
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import binding, is_gone

LIMIT_S = 30.0
NOBODY = "placed-by-test"


@dataclass
class Sandboxed:
    """A real control plane, and the machines under it."""

    cluster: Cluster
    machines: Machines

    async def place(self, made: Object, node: str, annotations: Mapping[str, str] | None = None) -> Object:
        """Create a pod and bind it, with what a scheduler would write."""
        made["spec"]["schedulerName"] = NOBODY
        created = await self.cluster.api.create(made)
        name = created["metadata"]["name"]
        body = binding(name, node, annotations=annotations or {}, uid=created["metadata"]["uid"])
        await self.cluster.api.call("POST", f"{path_of('Pod', name)}/binding", body)
        return created

    async def until_phase(self, name: str, *phases: str) -> Object:
        return await self.cluster.until_pod(
            name, lambda seen: seen.get("status", {}).get("phase") in phases, within=LIMIT_S
        )

    async def log(self, name: str, *more: str) -> str:
        """What kubectl shows, through the API server."""
        shown = await self.cluster.kubectl("logs", name, *more)
        assert shown.status == 0, shown.errors
        return shown.output

    async def remove(self, *names: str) -> None:
        for name in names:
            await self.cluster.api.delete(path_of("Pod", name))
        for name in names:
            await self.cluster.until_pod(name, is_gone, within=LIMIT_S)

    def uuid(self, node: str, card: int) -> str:
        world = self.machines.machine(node).world
        assert world is not None
        return str(world.devices()[card].uuid)


@asynccontextmanager
async def machines_under(cluster: Cluster, patch: pytest.MonkeyPatch) -> AsyncGenerator[Sandboxed]:
    """The six usual machines, ready, until the block ends."""
    plain = kube_api.lively_socket

    def inside(address: tuple[object, ...]) -> socket.socket:
        with linux.inside_network(cluster.box.network()):
            return plain(address)

    patch.setattr(kube_api, "lively_socket", inside)
    served = cluster.credentials.authority.issue("sandbox-kubelets", "sandbox", addresses=["127.0.0.1"])
    pair = Pair(served.certificate.read_bytes(), served.key.read_bytes())
    administrator = from_kubeconfig(cluster.box.folder.admin_kubeconfig)
    # Without the administrator's certificate, which would count for more than a token.
    tls = ssl.create_default_context(cafile=str(cluster.credentials.authority.certificate))
    folder = Path(tempfile.mkdtemp(prefix="tangram-"))
    async with Api(administrator) as api:

        async def connection_for(node: NodeName, account: str) -> Connection:
            return Connection(
                administrator.server, tls, token=await accounts.token_for(api, account, str(node))
            )

        await accounts.make_accounts(api)
        machines = Machines(
            default_machines(),
            api=api,
            connection_for=connection_for,
            folder=folder,
            certificate=pair,
            listener=cluster.box.listen("127.0.0.1"),
        )
        try:
            async with asyncio.timeout(LIMIT_S):
                await machines.start()
            yield Sandboxed(cluster, machines)
        finally:
            await machines.stop()
            shutil.rmtree(folder, ignore_errors=True)
