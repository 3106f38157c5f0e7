"""Pairs of kube-scheduler and `tangram scheduler` that share a Lease: one is active, the other is warm.

A kube-scheduler calls itself after its host, and all pairs of a box are on one. So each has a host name of its own, in
a namespace that holds nothing else.
"""

import asyncio
import json
import signal
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from e2e.agent_kit import TANGRAM
from e2e.agent_watch_kit import until
from e2e.scheduler_kit import ask, configured, until_page
from testbed import controlplane
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import SCHEDULER as KUBE_SCHEDULER
from testbed.cluster import Cluster

LEASE_NAMESPACE, LEASE_NAME = "kube-system", "tangram-scheduler"
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases/{LEASE_NAME}"
# As short as it goes: no Binding is sent in the last four seconds of a Lease.
LEASE: Object = {
    "leaderElect": True,
    "resourceLock": "leases",
    "resourceNamespace": LEASE_NAMESPACE,
    "resourceName": LEASE_NAME,
    "leaseDuration": "6s",
    "renewDeadline": "4s",
    "retryPeriod": "500ms",
}
_NAMED = 'hostname "$1" && shift && exec "$@"'


@dataclass
class Pair:
    """One kube-scheduler and the scheduler beside it."""

    cluster: Cluster
    number: int
    kubeconfig: Path
    extra: Sequence[str] = ()

    @property
    def name(self) -> str:
        return f"pair-{self.number}"

    @property
    def kube(self) -> str:
        return f"kube-scheduler-{self.name}"

    @property
    def ours(self) -> str:
        return f"tangram-scheduler-{self.name}"

    @property
    def port(self) -> int:
        return 8280 + self.number

    async def start(self) -> None:
        """Start whatever of it does not run."""
        running = {each["name"] for each in await self.cluster.box.programs() if each["status"] is None}
        if self.ours not in running:
            await self.start_ours()
        if self.kube not in running:
            await self.start_kube()

    async def start_ours(self) -> None:
        command = [
            TANGRAM, "scheduler", "--kubeconfig", self.kubeconfig, "--lease", f"{LEASE_NAMESPACE}/{LEASE_NAME}",
            "--identity", self.name, "--extender-address", f"127.0.0.1:{self.port}",
            "--https-address", f"127.0.0.1:{self.port + 1000}", "--log-dir", "", "--log-format", "text", *self.extra,
        ]  # fmt: skip
        await self.cluster.box.start(self.ours, command)

    async def start_kube(self) -> None:
        cluster = self.cluster
        command = controlplane.scheduler(
            cluster.programs,
            cluster.box.folder,
            cluster.credentials,
            cluster.options,
            {**configured(self.port), "leaderElection": LEASE},
            name=self.name,
            port=controlplane.SCHEDULER_PORT + self.number,
        )
        await cluster.box.start(
            self.kube, ["/usr/bin/unshare", "--uts", "/bin/sh", "-c", _NAMED, "sh", self.name, *command]
        )

    async def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """End both, as the end of their pod does: at once when killed, together otherwise."""
        running = {each["name"] for each in await self.cluster.box.programs() if each["status"] is None}
        here = [name for name in (self.kube, self.ours) if name in running]
        for name in here:
            await self.cluster.box.send(name, by)
        for name in here:
            await self.cluster.box.wait(name)

    async def ready(self) -> None:
        await until_page(self.cluster, self.ours, self.port)

    async def ask(self, path: str, body: object) -> Object:
        """What its extender answers to a question."""
        return json.loads((await ask(self.cluster, self.port, path, body)).partition("\r\n\r\n")[2])

    async def metric(self, name: str, token: str) -> float:
        """A figure of its metrics page, which only those may see who have the right."""
        page = await _secure_page(self.cluster, self.port + 1000, "/metrics", token)
        (line,) = [line for line in page.splitlines() if line.startswith(f"{name} ")]
        return float(line.split()[1])

    def log(self) -> str:
        return self.cluster.box.log(self.ours)


@dataclass
class Pairs:
    """All pairs of a cluster."""

    cluster: Cluster
    members: list[Pair] = field(default_factory=list[Pair])

    async def identity(self) -> str:
        """What the holder of the Lease calls itself, whether or not it has run out."""
        try:
            lease = await self.cluster.api.get(LEASE_PATH)
        except ApiRefused:
            return ""
        return lease["spec"].get("holderIdentity") or ""

    async def holder(self) -> Pair | None:
        """Whose the Lease is by name; a process that has just been started has the name of the one before it."""
        holder = await self.identity()
        return next((pair for pair in self.members if holder.startswith(f"{pair.name}_")), None)

    async def until_held(self, by: Pair | None = None) -> Pair:
        """The holder, once there is one, or once it is this one."""
        found: list[Pair] = []

        async def held() -> bool:
            holder = await self.holder()
            found[:] = [] if holder is None else [holder]
            return bool(found) and by in (None, holder)

        await until(held, "the Lease is held")
        return found[0]

    def standby_of(self, active: Pair) -> Pair:
        return next(pair for pair in self.members if pair is not active)

    async def restart_fallen(self) -> None:
        """What a kubelet does: kube-scheduler ends itself when it cannot renew its Lease."""
        for pair in self.members:
            await pair.start()


@asynccontextmanager
async def pairs(
    cluster: Cluster, *, count: int = 2, kubeconfig: Path | None = None, extra: Sequence[str] = ()
) -> AsyncGenerator[Pairs]:
    """So many pairs in place of the cluster's own kube-scheduler, for as long as the cluster lives."""
    await cluster.box.stop(KUBE_SCHEDULER)
    file = kubeconfig or cluster.box.folder.admin_kubeconfig
    made = Pairs(cluster, [Pair(cluster, number, file, extra) for number in range(1, count + 1)])
    try:
        for pair in made.members:
            await pair.start()
        for pair in made.members:
            await pair.ready()
        await made.until_held()
        yield made
    finally:
        for pair in made.members:
            print(pair.log()[-6000:])  # noqa: T201 - pytest shows it when a test fails, and only then
            await pair.stop(signal.SIGKILL)


# ---- metrics


async def reader_token(cluster: Cluster) -> str:
    """A token of an account that may read metrics."""
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    version = "rbac.authorization.k8s.io/v1"
    metadata = {"name": "metrics-reader"}
    role = {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
    given = {
        "apiVersion": version,
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics-reader"},
        "subjects": [subject],
    }
    for each in (role, given):
        await cluster.api.create(each)
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600},
    }
    made = await cluster.api.call("POST", path_of("ServiceAccount", "default") + "/token", asked)
    return made["status"]["token"]


async def _secure_page(cluster: Cluster, port: int, path: str, token: str) -> str:
    connection = cluster.box.make_socket()
    connection.settimeout(0)
    await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(sock=connection, ssl=trusting, server_hostname="localhost")
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    writer.write(head.encode())
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()


# ---- connections that can be cut


class Cutter:
    """A way to the API server that can be cut: what goes over it ends in the middle, as a broken network ends it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._open: set[asyncio.StreamWriter] = set()
        self._listening = cluster.box.listen("127.0.0.1")
        self.kubeconfig = cluster.box.folder.path / "cut.conf"
        port = self._listening.getsockname()[1]
        told = json.loads(cluster.box.folder.admin_kubeconfig.read_text("utf-8"))
        told["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        self.kubeconfig.write_text(json.dumps(told), encoding="utf-8")

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["Cutter"]:
        server = await asyncio.start_server(self._pass_on, sock=self._listening)
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await server.wait_closed()

    def cut(self) -> int:
        """End every connection without a word; how many there were."""
        count = len(self._open)
        for writer in self._open:
            writer.transport.abort()
        return count // 2

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self._cluster.box.make_socket()
        connection.settimeout(0)
        try:
            await asyncio.get_running_loop().sock_connect(
                connection, (controlplane.CONTROL_ADDRESS, controlplane.PORT)
            )
        except OSError:
            connection.close()
            writer.transport.abort()
            return
        there, onward = await asyncio.open_connection(sock=connection)
        both = {writer, onward}
        self._open |= both
        try:
            await asyncio.gather(_copy(reader, onward), _copy(there, writer))
        finally:
            self._open -= both
            for each in both:
                each.transport.abort()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError):
        while some := await source.read(65536):
            target.write(some)
            await target.drain()
    target.transport.abort()
