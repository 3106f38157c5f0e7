"""What the dashboard is measured in: an API server with the whole cluster in it, a real scheduler, a real dashboard.

The API server is the sandbox's and runs in this process, so that objects are put into it by the thousand. The scheduler
and the dashboard are processes of their own, started by their commands; what the second weighs and works is read from
/proc.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp

from cluster_manifests import node_name
from cluster_progress import Progress
from dashboard_cluster import NAMESPACES, Object, bound_pods, node_object, waiting_pods
from tangram.kube.api import Api
from tangram.sandbox.apiserver.server import Running, make_certificate, serving_api
from tangram.sandbox.apiserver.store import Spot
from tangram.sandbox.folder import write_pair
from tangram.sandbox.kubeconfig import kubeconfig_text
from tangram.sandbox.loopback import LOOPBACK, held_port

TANGRAM: Final = Path(sys.executable).with_name("tangram")
START_LIMIT_S: Final = 300.0
LOOK_EVERY_S: Final = 0.2
END_S: Final = 10.0
NODES: Final = ("", "nodes")
PODS: Final = ("", "pods")
WATCHERS: Final = "watchers-of-cards"
_RIGHTS: Final = "/apis/rbac.authorization.k8s.io/v1"


class BenchError(Exception):
    """A sentence for people about what did not come up."""


class Program:
    """A command of ours in a process of its own."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self.process = process
        self._log = log

    def memory_mib(self, field: str = "VmRSS") -> float:
        """Resident now; `VmHWM` for the peak."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        line = next(line for line in status.splitlines() if line.startswith(f"{field}:"))
        return int(line.split()[1]) / 1024

    def cpu_seconds(self) -> float:
        """Used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def until_ready(self, http: aiohttp.ClientSession, url: str) -> float:
        """Seconds until `/readyz` says so."""
        began = time.monotonic()
        while not await _is_ready(http, url):
            if self.process.returncode is not None:
                raise BenchError(f"{self.name} ended by itself: {self.last_words()}")
            if time.monotonic() - began > START_LIMIT_S:
                raise BenchError(f"{self.name} was not ready within {START_LIMIT_S:g} s: {self.last_words()}")
            await asyncio.sleep(LOOK_EVERY_S)
        return time.monotonic() - began

    def last_words(self) -> str:
        return self._log.read_text("utf-8", "replace").strip()[-800:] or "it printed nothing"


class Bed:
    """A cluster, its scheduler and its dashboard."""

    def __init__(self, api: Api, running: Running, http: aiohttp.ClientSession) -> None:
        self.api = api
        self.http = http
        self.url = ""
        """Of the dashboard."""
        self.extender = ""
        self._store = running.parts.store

    # --- objects ---------------------------------------------------------------------------------------------------

    def put_node(self, thing: Object) -> None:
        """As an agent or a kubelet would write it."""
        self._put(Spot(NODES, "", thing["metadata"]["name"]), thing)

    def put_pod(self, thing: Object) -> None:
        metadata = thing["metadata"]
        self._put(Spot(PODS, metadata["namespace"], metadata["name"]), thing)

    def remove_pod(self, thing: Object) -> None:
        metadata = thing["metadata"]
        self._store.remove(Spot(PODS, metadata["namespace"], metadata["name"]))

    def _put(self, spot: Spot, thing: Object) -> None:
        metadata = {
            "uid": f"{spot.name}-uid",
            "creationTimestamp": "2025-01-01T00:00:00Z",
            **thing["metadata"],
        }
        self._store.put(spot, {**thing, "metadata": metadata})

    async def ask_about(self, pod: Object, nodes: int) -> None:
        """As a kube-scheduler would: the scheduler remembers why it said no."""
        question = {"Pod": pod, "NodeNames": [node_name(number) for number in range(nodes)]}
        async with self.http.post(f"{self.extender}/filter", json=question) as answer:
            await answer.read()

    # --- people ----------------------------------------------------------------------------------------------------

    async def person(self, name: str, role: str = "", *, namespace: str = "", nodes: bool = False) -> str:
        """The token of an account with this role everywhere or in one namespace, and the right to list nodes."""
        await self.api.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
        bindings = (
            f"{_RIGHTS}/namespaces/{namespace}/rolebindings"
            if namespace
            else f"{_RIGHTS}/clusterrolebindings"
        )
        await self.api.create(bindings, _binding(name, role))
        if nodes:
            await self.api.create(f"{_RIGHTS}/clusterrolebindings", _binding(name, WATCHERS, f"{name}-nodes"))
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        return (await self.api.create(path, {"spec": {"expirationSeconds": 86_400}}))["status"]["token"]


@asynccontextmanager
async def open_bed(
    folder: Path, nodes: int, pods: int, waiting: int, progress: Progress
) -> AsyncGenerator[tuple[Bed, Program]]:
    """The bed, and its dashboard, which has read everything."""
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(serving_api())
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(
            kubeconfig_text(running.address, running.issued.authority, running.token), encoding="utf-8"
        )
        api = await stack.enter_async_context(Api(running.connection()))
        http = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False))
        )
        bed = Bed(api, running, http)
        await _fill(bed, nodes, pods, waiting, progress)
        progress.say("starting the scheduler")
        pair = write_pair(folder, "scheduler", make_certificate())
        extender, door, page = (stack.enter_context(held_port()) for _ in range(3))
        bed.extender = f"http://{LOOPBACK}:{extender}"
        common = ("--kubeconfig", str(kubeconfig), "--log-dir", "", "--log-level", "warning")
        scheduler = await _start(
            stack, folder, "scheduler", "--lease", "none",
            "--extender-address", f"{LOOPBACK}:{extender}", "--https-address", f"{LOOPBACK}:{door}",
            "--tls-cert", str(pair.certificate), "--tls-key", str(pair.key), *common,
        )  # fmt: skip
        await scheduler.until_ready(http, bed.extender)
        progress.say("asking it about pods that wait")
        for pod in waiting_pods(waiting):
            await bed.ask_about(pod, nodes)
        progress.say("starting the dashboard")
        bed.url = f"http://{LOOPBACK}:{page}"
        dashboard = await _start(
            stack, folder, "dashboard", "--address", f"{LOOPBACK}:{page}", "--sign-in", "token",
            "--server", f"https://{LOOPBACK}:{door}", "--server-ca", str(pair.authority), *common,
        )  # fmt: skip
        seconds = await dashboard.until_ready(http, bed.url)
        progress.say(f"the dashboard has read everything, after {seconds:.1f} s")
        yield bed, dashboard


async def _fill(bed: Bed, nodes: int, pods: int, waiting: int, progress: Progress) -> None:
    progress.say(f"making {nodes} nodes and {pods} pods")
    role = {
        "metadata": {"name": WATCHERS},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}],
    }
    await bed.api.create(f"{_RIGHTS}/clusterroles", role)
    for name in NAMESPACES:
        await bed.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    for number in range(nodes):
        bed.put_node(node_object(number))
        if number % 500 == 0:
            await asyncio.sleep(0)
    for pod in bound_pods(nodes, pods):
        bed.put_pod(pod)
    for pod in waiting_pods(waiting):
        bed.put_pod(pod)


async def _start(stack: AsyncExitStack, folder: Path, command: str, *words: str) -> Program:
    log = folder / f"{command}.log"
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            str(TANGRAM), command, *words, stdout=file, stderr=asyncio.subprocess.STDOUT, cwd=folder
        )
    stack.push_async_callback(_end, process)
    return Program(command, process, log)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


async def _is_ready(http: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with http.get(f"{url}/readyz") as answer:
            return answer.status == 200
    except (aiohttp.ClientError, OSError):
        return False


def _binding(account: str, role: str, name: str = "") -> Object:
    return {
        "metadata": {"name": name or account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
    }
