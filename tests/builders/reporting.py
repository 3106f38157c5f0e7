"""A node's report to Koordinator, on the sandbox's own API server: real applies, real owners of fields, real kinds."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from builders.clusters import metax_node
from builders.controlled import eventually
from builders.waiting import until
from tangram.daemon.running import Supervisor
from tangram.kube.api import JSON, Api, Object
from tangram.kube.connection import Connection
from tangram.kube.errors import ApiError
from tangram.kube.informer import Change, Informer, whole
from tangram.kube.objects import Key
from tangram.model.cards import Card
from tangram.model.nodes import Node
from tangram.sandbox.apiserver.server import make_certificate, serving_api
from tangram.sandbox.kinds import install_kinds
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.described import Described
from tangram.services.gpu_device.koordinator import KoordinatorReports
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.reporter import Reporter
from tangram.services.gpu_device.settings import Pauses
from tangram.units.ids import NodeName
from tangram.wire.koordinator.definition import NAME as DEFINITION
from tangram.wire.koordinator.whereabouts import CardNotes

NODE = "gpu-1"
NODES = "/api/v1/nodes"
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "/api/v1/namespaces/default/pods"
ISSUED = make_certificate()
QUICK = Pauses(look_at_least=0.02, publish=0.002, kinds=0.02, koordlet_gone=0.2)


class WritesCounted(Api):
    """Remembers what was written, as method and path."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.writes: list[tuple[str, str]] = []
        self.forbidden: tuple[str, str] = ("", "")

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = JSON,
        query: Mapping[str, str] | None = None,
        limit: float | None = None,
    ) -> Object:
        if method == self.forbidden[0] and path.startswith(self.forbidden[1]):
            raise ApiError(403, "Forbidden", f"may not {method} {path}")
        if method != "GET":
            self.writes.append((method, path))
        return await super().call(method, path, body, content=content, query=query, limit=limit)


class Reporting:
    """One agent's report after another, about one node."""

    def __init__(self, api: Api, folder: Path, connection: Connection) -> None:
        self.api = api
        self.folder = folder
        self.node = metax_node(NODE, 2)
        self.notes: dict[str, CardNotes] = {}
        self.events: list[str] = []
        self.moment = dt.datetime(2026, 11, 15, 21, 15, 10, tzinfo=dt.UTC)
        self.pauses = QUICK
        self._supervisor: Supervisor | None = None
        self._agent = WritesCounted(connection)
        self.reports = self._made()

    # ---- the agent

    def _made(self) -> KoordinatorReports:
        pods = BoundPods(lambda: Inventory(node=NodeName(NODE)), self._happened)
        self._pods = Informer(
            self._agent,
            "/api/v1/pods",
            pods.told,
            keep=whole,
            query={"fieldSelector": f"spec.nodeName={NODE}"},
        )
        self._nodes = Informer(self._agent, NODES, self._node_told, keep=whole)
        return KoordinatorReports(
            self._agent,
            NodeName(NODE),
            present=lambda: self._nodes.objects.get(Key("", NODE)),
            pods=pods,
            described=self._described,
            folder=self.folder,
            pauses=self.pauses,
            told=self.events.append,
            now=lambda: self.moment,
        )

    def _happened(self) -> None:
        self.reports.due()

    def _node_told(self, _change: Change[Object]) -> None:
        self.reports.due()

    def _described(self) -> Described | None:
        ready = self._pods.synced.is_set()
        notes = {card.uuid: self.notes.get(str(card.uuid), CardNotes()) for card in self.node.cards}
        return Described(self.node, notes) if ready else None

    def start(self) -> None:
        self._agent.writes.clear()
        self.reports = self._made()
        self._supervisor = Supervisor()
        for name, task in (
            ("pods", self._pods.run()),
            ("node", self._nodes.run()),
            ("device", self.reports.device.run()),
            ("reports", self.reports.run()),
        ):
            self._supervisor.vital(name, task)

    async def stop(self) -> None:
        if self._supervisor is not None:
            self._supervisor.stop()
            assert await self._supervisor.until_stopped() == 0
            self._supervisor = None

    async def close(self) -> None:
        await self.stop()
        await self._agent.close()

    def forbid(self, method: str, below: str = "/") -> None:
        """The agent's account may not do this any more; nothing is forbidden by an empty method."""
        self._agent.forbidden = (method, below)

    @property
    def pods_here(self) -> int:
        return len(self._pods.objects)

    @property
    def writes(self) -> list[tuple[str, str]]:
        return self._agent.writes

    def set_cards(self, *cards: Card) -> None:
        topology = self.node.topology if len(cards) == len(self.node.cards) else None
        self.set_node(replace(self.node, cards=cards, topology=topology))

    def set_node(self, node: Node) -> None:
        self.node = node
        self.reports.due()

    async def is_(self, reporter: Reporter) -> None:
        await until(lambda: self.reports.reporter is reporter)

    async def looked(self, times: int = 20) -> None:
        """Wait until the agent has looked so often, and was not interrupted by anything."""
        for _ in range(times):
            assert await self.reports.look()
            await asyncio.sleep(0.001)

    # ---- the cluster

    async def device(self) -> Object | None:
        try:
            return await self.api.get(f"{DEVICES}/{NODE}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def until_device(self, says: Callable[[Object], bool] = lambda _device: True) -> Object:
        async def look() -> Object | None:
            found = await self.device()
            return found if found is not None and says(found) else None

        return await eventually(look)

    async def own(self) -> Object:
        return await self.api.get(f"{NODES}/{NODE}")

    async def until_node(self, says: Callable[[Object], bool]) -> Object:
        async def look() -> Object | None:
            found = await self.own()
            return found if says(found) else None

        return await eventually(look)

    async def state_amounts(self, amounts: Mapping[str, str | None], manager: str = "kubelet") -> None:
        """As somebody else who writes the node's status."""
        change = {"status": {"capacity": amounts, "allocatable": amounts}}
        await self.api.merge(f"{NODES}/{NODE}/status", change, fieldManager=manager)

    async def register(self) -> Object:
        made = await self.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        await self.state_amounts({"cpu": "8", "metax-tech.com/sgpu": "32"})
        return made

    async def write_device(self, change: Mapping[str, object], manager: str) -> Object:
        """An update, as koordlet does it: read, change, write back."""
        present = await self.api.get(f"{DEVICES}/{NODE}")
        return await self.api.call(
            "PUT", f"{DEVICES}/{NODE}", {**present, **change}, content=JSON, query={"fieldManager": manager}
        )

    async def install_kind(self) -> None:
        await install_kinds(self.api)

    async def remove_kind(self) -> None:
        await self.api.delete(f"{DEFINITIONS}/{DEFINITION}")

    async def put_pod(self, name: str, app: str, container: str, *, on_host: bool = True) -> None:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"koord-app": app}},
            "spec": {
                "nodeName": NODE,
                "containers": [{"name": container, "image": "i"}],
                "volumes": [
                    {"name": "run", **({"hostPath": {"path": "/run"}} if on_host else {"emptyDir": {}})}
                ],
            },
        }
        await self.api.create(PODS, pod)

    async def koordlet(self) -> None:
        await self.put_pod("koordlet", "koordlet", "koordlet")

    async def daemon(self) -> None:
        """koord-device-daemon as its own manifest has it, with koordlet's label."""
        await self.put_pod("daemon", "koordlet", "koord-device-daemon")

    async def delete_pod(self, name: str) -> None:
        await self.api.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})


@asynccontextmanager
async def reporting(folder: Path, *, kind: bool = True, begin: bool = True) -> AsyncGenerator[Reporting]:
    """A cluster with one node and the kind `Device`, and an agent that reports."""
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(serving_api(issued=ISSUED))
        api = await stack.enter_async_context(Api(running.connection()))
        run = Reporting(api, folder, running.connection())
        stack.push_async_callback(run.close)
        await run.register()
        if kind:
            await run.install_kind()
        if begin:
            run.start()
        yield run
