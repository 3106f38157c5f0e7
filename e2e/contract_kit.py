"""A real control plane to put the cases of the contract to."""

import socket
import ssl
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from contract.hooks import Hooks
from contract.world import Server
from testbed.box import Box
from testbed.certificates import Authority, Pair
from testbed.cluster import Cluster
from testbed.controlplane import ETCD, SERVER
from testbed.inside_server import serve_inside
from testbed.rooms import CONTROL_ADDRESS

ADMINISTRATOR = "kubernetes-admin"


@asynccontextmanager
async def real_server(cluster: Cluster) -> AsyncGenerator[Server]:
    """The API server of a cluster, its administrator called as in the sandbox, and webhooks inside its box."""
    authority = cluster.credentials.authority
    admin = authority.issue("contract-admin", ADMINISTRATOR, groups=["system:masters"])
    hooks = Hooks()
    with tempfile.TemporaryDirectory() as folder:
        own = Authority(Path(folder), "hooks")
        identity = own.issue("hooks", "hooks", addresses=[CONTROL_ADDRESS])
        async with (
            serve_inside(cluster.box, hooks.handle, identity=identity) as address,
            _session(cluster.box, authority, admin) as administrator,
            _session(cluster.box, authority, None) as stranger,
        ):
            hooks.served_at(address, own.certificate.read_bytes())
            await _forget_the_past(cluster.box, administrator)
            yield Server(administrator, stranger, hooks)


def _session(box: Box, authority: Authority, user: Pair | None) -> aiohttp.ClientSession:
    context = ssl.create_default_context(cafile=str(authority.certificate))
    if user is not None:
        context.load_cert_chain(user.certificate, user.key)
    return aiohttp.ClientSession(
        SERVER, connector=aiohttp.TCPConnector(ssl=context, limit=0, socket_factory=_sockets_in(box))
    )


async def _forget_the_past(box: Box, administrator: aiohttp.ClientSession) -> None:
    """Have etcd forget all that was before: by itself it does so every five minutes, and no case waits so long."""
    async with administrator.get("/api/v1/namespaces") as response:
        now = (await response.json())["metadata"]["resourceVersion"]
    connector = aiohttp.TCPConnector(socket_factory=_sockets_in(box))
    async with (
        aiohttp.ClientSession(ETCD, connector=connector) as etcd,
        etcd.post("/v3/kv/compaction", json={"revision": now, "physical": True}) as response,
    ):
        response.raise_for_status()


def _sockets_in(box: Box) -> Callable[[object], socket.socket]:
    def make(_address: object) -> socket.socket:
        made = box.make_socket()
        made.settimeout(0)
        return made

    return make
