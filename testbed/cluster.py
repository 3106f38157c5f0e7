"""A real Kubernetes in a box: etcd, the API server, the controllers, the scheduler, one to three real nodes, and any
number of nodes that exist only as objects.

    async with Cluster.open(Options(nodes=2)) as cluster:
        await cluster.api.create(pod("hello"))

A cluster is usable when the block begins: every node is Ready and a pod would be scheduled and started. It is gone,
with everything it made, when the block or the process ends.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from testbed import controlplane, kwok, node, proxy, watchers
from testbed.api import Api, ApiRefused, NotInTime, Object, path_of
from testbed.binaries import Binaries, find_binaries
from testbed.box import ENVIRONMENT, Box
from testbed.containerd_settings import CONTAINERD_SOCKET
from testbed.controlplane import Credentials
from testbed.errors import BedError
from testbed.firstprocess import CONTROL
from testbed.images import Image, busybox_image, pause_image
from testbed.node import NodeNames
from testbed.options import Options
from testbed.places import ClusterFolder, RoomFolder

SCHEDULER = "kube-scheduler"
START_LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command printed and how it ended."""

    status: int
    output: str
    errors: str


class Cluster:
    """A running cluster. `api` speaks as its administrator."""

    def __init__(self, box: Box, options: Options, programs: Binaries, credentials: Credentials) -> None:
        self.box = box
        self.options = options
        self.programs = programs
        self.credentials = credentials
        self.nodes = tuple(NodeNames(number) for number in range(1, options.nodes + 1))
        self.api = Api(box, credentials.authority, credentials.admin)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, options: Options | None = None, *, say: Callable[[str], None] = lambda _step: None
    ) -> AsyncGenerator["Cluster"]:
        """Start a cluster and wait until it is usable."""
        async with AsyncExitStack() as stack:
            asked = options or Options()
            box = await stack.enter_async_context(Box.open(watchers=watchers.needed(asked.nodes)))
            yield await stack.enter_async_context(cls.start_in(box, asked, say=say))

    @classmethod
    @asynccontextmanager
    async def start_in(
        cls, box: Box, options: Options, *, say: Callable[[str], None]
    ) -> AsyncGenerator["Cluster"]:
        """Start a cluster in a box that somebody else keeps."""
        programs = find_binaries()
        credentials = controlplane.make_credentials(box.folder)
        cluster = cls(box, options, programs, credentials)
        async with cluster.api:
            try:
                async with asyncio.timeout(START_LIMIT):
                    await cluster._start(say)
            except (TimeoutError, NotInTime):
                reason = await cluster._last_words()
                raise BedError(f"the cluster was not usable within {START_LIMIT:g} s: {reason}") from None
            yield cluster

    async def _start(self, say: Callable[[str], None]) -> None:
        say("etcd and the API server")
        await self.box.start("etcd", controlplane.etcd(self.programs, self.box.folder, self.options))
        await self.box.start(
            "kube-apiserver", controlplane.api_server(self.programs, self.credentials, self.options)
        )
        async with asyncio.TaskGroup() as together:
            for names in self.nodes:
                together.create_task(self._prepare_node(names))
            together.create_task(self._until(self._api_answers, "the API server answers"))
        say("the controllers, the scheduler and the nodes")
        if self.options.controllers:
            await self.box.start(
                "kube-controller-manager",
                controlplane.controller_manager(
                    self.programs, self.box.folder, self.credentials, self.options
                ),
            )
        await self.start_scheduler(self.options.scheduler, wait=False)
        for names in self.nodes:
            await self.start_kubelet(names)
        await self._make_default_account()
        say("waiting until every node is ready")
        for names in self.nodes:
            await self.until_node(names.name, _is_usable, within=START_LIMIT)
        await self._until(self._scheduler_answers, "the scheduler answers")
        if self.options.services:
            await self._start_proxies()
        if self.options.kwok_nodes:
            await self.box.start("kwok", kwok.command(self.programs, self.box.folder))
            say(f"{self.options.kwok_nodes} kwok nodes")
            await kwok.create_nodes(self.api, self.options.kwok_nodes)
            await self._until(self._kwok_nodes_ready, "the kwok nodes are ready")

    async def _prepare_node(self, names: NodeNames) -> None:
        room = await self.box.add_room(names.name, names.number)
        command = node.containerd(self.programs, room, names, self.options, self.programs.cni_folder)
        await self.box.start(
            names.containerd, command, room=names.name, env=node.containerd_environment(self.programs)
        )
        images = await asyncio.gather(asyncio.to_thread(pause_image), asyncio.to_thread(busybox_image))

        async def listening() -> bool:
            return (room.run / "containerd" / "containerd.sock").exists()

        await self._until(listening, f"containerd of {names.name} listens")
        await self.load_image(*images, nodes=[names])

    async def _start_proxies(self) -> None:
        """After the nodes, which a proxy would wait for in steps of a second."""
        rooms = {CONTROL: self.nodes[0].name, **{names.name: names.name for names in self.nodes}}
        for room, name in rooms.items():
            await self.box.start(f"route-{room}", proxy.route(room), room=room)
            if await self.box.wait(f"route-{room}"):
                raise BedError(f"{room} takes no route to Services: {_tail(self.box.log(f'route-{room}'))}")
            files = self.box.folder.of_room(room)
            command = proxy.command(self.programs, self.box.folder, self.credentials, files, name)
            await self.box.start(f"{proxy.PROGRAM}-{room}", command, room=room)

    async def _api_answers(self) -> bool:
        try:
            await self.api.get("/readyz")
        except (aiohttp.ClientError, ApiRefused):
            return False
        return True

    async def _scheduler_answers(self) -> bool:
        # Its own health port: with TLS of its own making, so only the connection counts.
        probe = self.box.make_socket()
        probe.settimeout(0)
        try:
            await asyncio.get_running_loop().sock_connect(probe, ("127.0.0.1", 10259))
        except OSError:
            return False
        finally:
            probe.close()
        return True

    async def _kwok_nodes_ready(self) -> bool:
        return await kwok.ready(self.api) >= self.options.kwok_nodes

    async def _make_default_account(self) -> None:
        """The controllers make it too, but only after some seconds, and no pod can be created before."""
        await self._until(self._default_namespace_exists, "the namespace 'default' exists")
        try:
            await self.api.create(
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            )
        except ApiRefused as refused:
            if refused.reason != "AlreadyExists":
                raise

    async def _default_namespace_exists(self) -> bool:
        return await self.api.exists(path_of("Namespace", "default"))

    async def _until(self, true: Callable[[], Awaitable[bool]], what: str) -> None:
        """Poll; a component that has ended meanwhile ends the wait with its last words."""
        while not await true():
            dead = [program for program in await self.box.programs() if program["status"] not in {None, 0}]
            if dead:
                raise BedError(f"waiting until {what}: {await self._last_words()}")
            await asyncio.sleep(0.05)

    async def _last_words(self) -> str:
        ended = [program for program in await self.box.programs() if program["status"] not in {None, 0}]
        words = [
            f"{program['name']} ended with status {program['status']}: {_tail(self.box.log(program['name']))}"
            for program in ended
        ]
        return "\n".join(words) or "every component still runs"

    # -- what tests do to a running cluster ----------------------------------------------------------------------

    def room(self, names: NodeNames) -> RoomFolder:
        """The node's private files, among them its device-plugin folder and /run/cdi."""
        return self.box.folder.of_room(names.name)

    async def load_image(self, *images: Image, nodes: Sequence[NodeNames] = ()) -> None:
        """Put images on nodes (all of them unless said)."""
        for names in nodes or self.nodes:
            program = f"import-{names.name}"
            for image in images:
                command = [
                    self.programs.path("ctr"),
                    "-a",
                    CONTAINERD_SOCKET,
                    "-n",
                    "k8s.io",
                    "images",
                    "import",
                    "--local",
                    str(image.tarball),
                ]
                await self.box.start(program, command, room=names.name)
                if await self.box.wait(program):
                    raise BedError(
                        f"node {names.name} did not take the image {image.name}: {_tail(self.box.log(program))}"
                    )

    async def start_scheduler(self, configuration: Mapping[str, Any], *, wait: bool = True) -> None:
        """Start kube-scheduler with these fields of its configuration."""
        command = controlplane.scheduler(
            self.programs, self.box.folder, self.credentials, self.options, configuration
        )
        await self.box.start(SCHEDULER, command)
        if wait:
            await self._until(self._scheduler_answers, "the scheduler answers")

    async def restart_scheduler(self, configuration: Mapping[str, Any] | None = None) -> None:
        """End kube-scheduler and start it with another configuration (the cluster's own unless given)."""
        await self.box.stop(SCHEDULER)
        await self.start_scheduler(self.options.scheduler if configuration is None else configuration)

    async def start_kubelet(self, names: NodeNames) -> None:
        room = self.room(names)
        command = node.kubelet(self.programs, room, names, self.credentials.authority, self.options)
        await self.box.start(names.kubelet, command, room=names.name)

    async def stop_kubelet(self, names: NodeNames, *, by: signal.Signals = signal.SIGTERM) -> None:
        await self.box.stop(names.kubelet, by=by)

    async def restart_kubelet(self, names: NodeNames, *, by: signal.Signals = signal.SIGTERM) -> None:
        """Containers keep running; the kubelet forgets every plugin and deletes their sockets."""
        await self.stop_kubelet(names, by=by)
        await self.start_kubelet(names)

    async def until_node(
        self, name: str, true: Callable[[Object], bool], *, within: float = 60.0, what: str = ""
    ) -> Object:
        return await self.api.until(
            path_of("Node", name), true, within=within, what=what or f"node {name} as wanted"
        )

    async def until_pod(
        self,
        name: str,
        true: Callable[[Object], bool],
        *,
        namespace: str = "default",
        within: float = 60.0,
        what: str = "",
    ) -> Object:
        return await self.api.until(
            path_of("Pod", name, namespace=namespace),
            true,
            within=within,
            what=what or f"pod {namespace}/{name} as wanted",
        )

    async def pod_log(self, name: str, container: str = "", *, namespace: str = "default") -> str:
        query = {"container": container} if container else {}
        return (await self.api.call("GET", path_of("Pod", name, namespace=namespace) + "/log", **query)).get(
            "message", ""
        )

    async def command(
        self, argv: Sequence[str | Path], *, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> Finished:
        """Run a program of this machine in the control plane's network and wait for it."""
        running = await asyncio.create_subprocess_exec(
            *self.box.enter_network(),
            *(str(word) for word in argv),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**ENVIRONMENT, **client_environment(self.box.folder), **(env or {})},
        )
        output, errors = await running.communicate(stdin.encode())
        return Finished(
            running.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")
        )

    async def kubectl(self, *words: str, stdin: str = "", program: str = "kubectl") -> Finished:
        return await self.command([self.programs.path(program), *words], stdin=stdin)


def client_environment(folder: ClusterFolder) -> dict[str, str]:
    """Variables that point kubectl and helm at a cluster and keep their caches in its folder."""
    return {
        "KUBECONFIG": str(folder.admin_kubeconfig),
        "KUBECACHEDIR": str(folder.path / "kubectl-cache"),
        "HELM_CACHE_HOME": str(folder.path / "helm"),
        "HELM_CONFIG_HOME": str(folder.path / "helm"),
        "HELM_DATA_HOME": str(folder.path / "helm"),
    }


def _is_usable(seen: Object) -> bool:
    conditions = {one["type"]: one["status"] for one in seen.get("status", {}).get("conditions", [])}
    blocked = [
        taint for taint in seen.get("spec", {}).get("taints", []) if taint["effect"] != "PreferNoSchedule"
    ]
    return conditions.get("Ready") == "True" and not blocked


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-8:]) or "it printed nothing"
