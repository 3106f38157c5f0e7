"""A cluster with the operator in it: the embedded API server and its controllers, and hands that play the agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from builders.controlled import Controlled, controlled, eventually, node
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.election import LeaseName
from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Object
from tangram.services.operator.parts.pods import COMPONENT, Site
from tangram.services.operator.service import Operator, Settings
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.definition import operator_definition
from tangram.wire.operator.names import (
    API_VERSION,
    DRIVER_READY,
    DRIVER_STATE,
    GROUP,
    KIND,
    MACA_READY,
    OBJECT,
    PLURAL,
    RUNTIME_READY,
    RUNTIME_STATE,
    VERSION,
)
from tangram.wire.operator.node_states import DriverState, Phase, RuntimeState, Source, state_text
from tangram.wire.operator.status import Status, read_status

NAMESPACE: Final = "metax-operator"
OBJECTS: Final = f"/apis/{GROUP}/{VERSION}/{PLURAL}"
NEVER: Final[Mapping[str, Any]] = {"driver": {"deployPolicy": "Never"}}
PAYLOADS: Final[Mapping[str, Any]] = {
    "image": {"registry": "registry.example/gpu"},
    "driver": {"payload": {"version": "2.32.0"}},
    "maca": {"payload": {"images": ["maca-c500:2.18.0.3"]}},
}
SITE: Final = Site(namespace=NAMESPACE, image="registry.example/gpu/tangram:1.2.3", version="1.2.3")
ACCOUNTS: Final = ("gpu-label", "gpu-device", "driver-manager", "container-runtime", "payloads")


class Operated:
    """`cluster` is seen from the operator's namespace."""

    def __init__(self, cluster: Controlled) -> None:
        self.cluster: Final = cluster
        self.api: Final = cluster.api
        self.operators: list[Operator] = []

    # ---- the one object

    async def ask_for(self, spec: Mapping[str, Any], name: str = OBJECT) -> Object:
        metadata = {"name": name}
        body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": dict(spec)}
        return await self.api.create(OBJECTS, body)

    async def object(self) -> Object:
        try:
            return await self.api.get(f"{OBJECTS}/{OBJECT}")
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return {}

    async def delete(self) -> None:
        await self.api.delete(f"{OBJECTS}/{OBJECT}")

    async def edit(self, spec: Mapping[str, Any]) -> None:
        await self.api.merge(f"{OBJECTS}/{OBJECT}", {"spec": dict(spec)})

    async def status(self, true: Callable[[Status], bool] = lambda _status: True) -> Status:
        async def look() -> Status | None:
            thing = await self.object()
            status = read_status(thing) if thing else Status()
            return status if true(status) else None

        return await eventually(look)

    # ---- objects of ours

    async def daemon_set(self, part: str, true: Callable[[Object], bool] = bool) -> Object:
        return await self.cluster.until("daemonsets", f"metax-{part}", true)

    async def events(self) -> list[tuple[str, str]]:
        every = await self.api.list_all("/api/v1/namespaces/default/events")
        return [(each["reason"], each["message"]) for each in every if each["involvedObject"]["kind"] == KIND]

    async def event(self, reason: str) -> str:
        async def look() -> str | None:
            return next((message for word, message in await self.events() if word == reason), None)

        return await eventually(look)

    # ---- nodes and those who work there

    async def add_node(self, name: str) -> None:
        await self.cluster.create("nodes", node(name))
        labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        await self.cluster.change("nodes", name, {"metadata": {"labels": labels}})

    async def label(self, name: str, **labels: str | None) -> None:
        await self.cluster.change("nodes", name, {"metadata": {"labels": labels}})

    async def found_cards(self, name: str, *, there: bool = True) -> None:
        """What gpu-label writes."""
        await self.label(name, **{INSTALLED: str(there).lower()})

    async def until_labelled(self, name: str, key: str, value: str | None) -> None:
        await self.cluster.until(
            "nodes", name, lambda seen: seen["metadata"].get("labels", {}).get(key) == value
        )

    async def run_pods(self, part: str, count: int) -> list[Object]:
        """The kubelets run so many pods of a part."""
        pods = await self.place_pods(part, count)
        await self.cluster.run(pods)
        if part == "gpu-device":
            for pod in pods:
                offer: Object = {"status": {"allocatable": {"metax-tech.com/gpu": "8"}}}
                await self.cluster.change("nodes", pod["spec"]["nodeName"], offer, "/status")
        return pods

    async def place_pods(self, part: str, count: int) -> list[Object]:
        """So many pods of a part, each on the node that its DaemonSet means."""
        pods = await self.cluster.pods(count, lambda pod: pod["metadata"]["labels"].get(COMPONENT) == part)
        for pod in pods:
            if "nodeName" not in pod["spec"]:
                name = pod["metadata"]["name"]
                target = {"apiVersion": "v1", "kind": "Node", "name": _meant_for(pod)}
                body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
                await self.api.create(f"{self.cluster.path('pods', name)}/binding", body)
        return [await self.cluster.get("pods", pod["metadata"]["name"]) for pod in pods]

    async def runtime_done(self, name: str) -> None:
        """What container-runtime writes."""
        state = state_text(RuntimeState(phase=Phase.READY, engine="containerd"))
        await self.write(name, {RUNTIME_READY: "true"}, {RUNTIME_STATE: state})

    async def driver_done(self, name: str, state: DriverState | None = None, *, ready: bool = True) -> None:
        """What driver-manager writes."""
        told = state or DriverState(phase=Phase.READY, running="2.32.0", source=Source.HOST)
        labels = {DRIVER_READY: str(ready).lower(), MACA_READY: str(ready).lower()}
        await self.write(name, labels, {DRIVER_STATE: state_text(told)})

    async def write(self, name: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> None:
        metadata = {"labels": dict(labels), "annotations": dict(annotations)}
        await self.cluster.change("nodes", name, {"metadata": metadata})

    async def bring_up(self, *nodes: str) -> None:
        """All agents of these nodes do their work."""
        await self.run_pods("gpu-label", len(nodes))
        for name in nodes:
            await self.found_cards(name)
        for part in ("container-runtime", "driver-manager"):
            await self.run_pods(part, len(nodes))
        for name in nodes:
            await self.runtime_done(name)
            await self.driver_done(name)
        await self.run_pods("gpu-device", len(nodes))


def _meant_for(pod: Object) -> str:
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]


@asynccontextmanager
async def operated(*, with_kind: bool = True) -> AsyncGenerator[Operated]:
    """The cluster, without an operator yet."""
    async with controlled() as whole:
        cluster = await whole.elsewhere(NAMESPACE)
        for account in ACCOUNTS:
            body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": f"metax-{account}"}}
            await cluster.create("serviceaccounts", body)
        if with_kind:
            await cluster.create("customresourcedefinitions", operator_definition())
        yield Operated(cluster)


@asynccontextmanager
async def operator_on(scene: Operated, identity: str = "operator_1") -> AsyncGenerator[Operator]:
    """The operator, for as long as the block; it gives its Lease back."""
    supervisor = Supervisor()
    settings = Settings(site=SITE, lease=LeaseName(NAMESPACE, "metax-operator"), identity=identity)
    async with Api(scene.api.connection) as api:
        operator = Operator(settings, api)
        await operator.start(supervisor)
        try:
            yield operator
        finally:
            supervisor.stop()
            await supervisor.until_stopped(operator.release)
            assert not supervisor.unhealthy(), supervisor.unhealthy()
