"""The cluster the benchmark runs on: a real API server and a real kube-scheduler over nodes that are only objects.

No controllers and no kubelets: nothing but the scheduler and its extender acts on pods, so every write that is counted
is theirs. Pods are made, removed and watched here; what is made of it is measured elsewhere.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from cluster_manifests import node_object, scheduler_configuration
from cluster_progress import Progress
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.options import Options

EXTENDER: Final = "127.0.0.1:9446"
AT_ONCE: Final = 32
CALL_LIMIT_S: Final = 60.0
STALL_LIMIT_S: Final = 90.0
"""A burst of which nothing more happens for so long has come to its end."""
SETTLE_S: Final = 2.0
"""For whatever is still written behind a burst, and for caches to see it gone."""
API_SERVER: Final = (
    # Nothing would ever take away the taint that new nodes are given.
    "--disable-admission-plugins=TaintNodesByCondition",
    "--enable-priority-and-fairness=false",
    "--max-requests-inflight=3000",
    "--max-mutating-requests-inflight=1000",
    "--delete-collection-workers=8",
)
ONLY_BOUND: Final = {"fieldSelector": "spec.nodeName!="}
READER: Final = "reader-of-metrics"


class Bound:
    """Which pods are bound, to which node and since when, as the API server tells it."""

    def __init__(self) -> None:
        self.nodes: dict[str, str] = {}
        self.last = 0.0
        self._more = asyncio.Event()

    def took(self, pod: Object) -> None:
        name: str = pod["metadata"]["name"]
        if name not in self.nodes:
            self.nodes[name] = pod["spec"]["nodeName"]
            self.last = time.monotonic()
            self._more.set()

    async def until(self, count: int, tell: Callable[[int], None] = lambda _done: None) -> bool:
        """Whether so many were bound before things came to a stand."""
        while len(self.nodes) < count:
            self._more.clear()
            try:
                async with asyncio.timeout(STALL_LIMIT_S):
                    await self._more.wait()
            except TimeoutError:
                return False
            tell(len(self.nodes))
        return True


class Bed:
    """One cluster with so many nodes."""

    def __init__(self, cluster: Cluster, http: aiohttp.ClientSession, nodes: int, progress: Progress) -> None:
        self.cluster = cluster
        self.nodes = nodes
        self.progress = progress
        self._http = http

    @classmethod
    @asynccontextmanager
    async def open(cls, nodes: int, progress: Progress) -> AsyncGenerator[Bed]:
        """A cluster whose nodes all exist and whose scheduler knows where its extender will be."""
        options = Options(
            nodes=0,
            controllers=False,
            scheduler=scheduler_configuration(f"http://{EXTENDER}"),
            api_server_flags=API_SERVER,
        )
        async with Cluster.open(options, say=progress.say) as cluster:
            connector = aiohttp.TCPConnector(ssl=False, limit=0, socket_factory=_sockets_of(cluster))
            limit = aiohttp.ClientTimeout(total=CALL_LIMIT_S)
            async with aiohttp.ClientSession(connector=connector, timeout=limit) as http:
                bed = cls(cluster, http, nodes, progress)
                await bed.create((node_object(number) for number in range(nodes)), nodes, "nodes")
                yield bed

    async def create(self, things: Iterable[Object], count: int, what: str) -> None:
        """Make them as fast as the API server takes them, some at a time."""
        self.progress.say(f"making {count} {what}")
        waiting, done = iter(things), 0

        async def work() -> None:
            nonlocal done
            for thing in waiting:
                await self.cluster.api.create(thing)
                done += 1
                self.progress.count(what, done, count)

        async with asyncio.TaskGroup() as together:
            for _ in range(AT_ONCE):
                together.create_task(work())

    @asynccontextmanager
    async def watching(self) -> AsyncGenerator[Bound]:
        """The pods that get bound meanwhile. Only those come by, each once, so that watching costs little."""
        bound, api, path = Bound(), self.cluster.api, path_of("Pod")

        async def follow() -> None:
            # The API server ends the watch of a reader that falls behind, which on a busy machine this one does.
            while True:
                listed = await api.get(path, **ONLY_BOUND)
                for pod in listed["items"]:
                    bound.took(pod)
                begun.set()
                version = listed["metadata"]["resourceVersion"]
                async for kind, pod in api.watch(path, **ONLY_BOUND, resourceVersion=version):
                    if kind != "DELETED":
                        bound.took(pod)

        begun = asyncio.Event()
        async with asyncio.TaskGroup() as together:
            following = together.create_task(follow())
            await begun.wait()
            yield bound
            following.cancel()

    async def remove_pods(self) -> None:
        """Every pod, and wait until the scheduler can have seen it."""
        self.progress.say("removing the pods")
        api, path = self.cluster.api, path_of("Pod")
        while (await api.get(path, limit="1"))["items"]:
            await api.call("DELETE", path, gracePeriodSeconds="0")
        await asyncio.sleep(SETTLE_S)

    async def api_metrics(self) -> str:
        """What the API server has counted."""
        return (await self.cluster.api.get("/metrics"))["message"]

    async def fetch(
        self, url: str, body: bytes | None = None, *, headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Status and text of a page inside the box, or of the answer to a body posted there. Status 0: nobody there."""
        method = "GET" if body is None else "POST"
        try:
            async with self._http.request(method, url, data=body, headers=headers) as response:
                return response.status, await response.text()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return 0, f"{type(error).__name__}: {error}"

    async def make_reader(self) -> str:
        """The token of an account that may read everything, metrics included."""
        account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": READER}}
        await self.cluster.api.create(account)
        await self.cluster.api.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": READER},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "cluster-admin",
                },
                "subjects": [{"kind": "ServiceAccount", "name": READER, "namespace": "default"}],
            }
        )
        asked: Object = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = await self.cluster.api.call("POST", path_of("ServiceAccount", READER) + "/token", asked)
        return made["status"]["token"]


def _sockets_of(cluster: Cluster) -> Callable[[object], socket.socket]:
    def make(_address: object) -> socket.socket:
        made = cluster.box.make_socket()
        made.settimeout(0)
        return made

    return make
