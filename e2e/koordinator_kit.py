"""Koordinator around a real kubelet: its kind of object, its three programs as scripts, pods in its words.

The device-info file is what koord-device-daemon would have written, made from what the driver says and from nothing of
ours; tests in which our agent is to write it leave that file out.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import LOOK, NODE_LOCK, look
from e2e.agent_watch_kit import until
from e2e.restarts_kit import PATIENCE
from tangram.model.cards import Vendor
from tangram.model.devices import Device
from testbed.api import ApiRefused, Object, path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster
from testbed.koord_adapters import METAX_ALLOCATED
from testbed.koord_manager import KoordManager, mutated
from testbed.koord_requests import CORE, MEMORY, RATIO, SCHEDULER, SHARED
from testbed.koord_scheduler import DEVICES, KoordScheduler, Windows
from testbed.koordlet import Koordlet
from testbed.manifests import container, is_running, pod

DEFINITION = REPOSITORY / "deploy" / "crds" / "scheduling.koordinator.sh_devices.yaml"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "koordinator-system"
SGPU = "metax-tech.com/sgpu"
LOOK_EVERY_S = 0.3
QUICK = Windows(backoff=(0.2, 2.0))
"""Failed binds are tried again sooner than the real one does; nothing else differs."""


@dataclass
class Koordinator:
    """The scripted programs over one node with cards."""

    node: AgentNode
    scheduler: KoordScheduler
    koordlet: Koordlet
    manager: KoordManager

    @property
    def cluster(self) -> Cluster:
        return self.node.cluster


def infos_folder(node: AgentNode) -> Path:
    """The folder koordlet reads, as the test sees it: `/var/run` is `/run`."""
    return node.cluster.room(node.names).run / "koordlet" / "xpu-device-infos"


def daemon_file(devices: Iterable[Device]) -> str:
    """What koord-device-daemon would write of these cards; it calls Moore Threads by no name, so by ours."""
    return json.dumps([_info(card) for card in devices if card.virtual_function_of is None], indent=2)


def _info(card: Device) -> Object:
    vendor, model = (
        ("metax", card.product.removeprefix("MX"))
        if card.vendor is Vendor.METAX
        else (
            "mthreads",
            card.product.removeprefix("MTT "),
        )
    )
    return {
        "vendor": vendor,
        "model": model,
        "uuid": card.uuid,
        "minor": str(card.index),
        "resources": {MEMORY: str(card.memory), CORE: "100"},
        "topology": {
            "socketID": "-1",
            "nodeID": str(card.numa),
            "pcieID": f"pci{card.pcie_path[0][:7]}" if card.pcie_path else "",
            "busID": card.bdf,
        },
        "status": {"healthy": True},
    }


async def install_definition(cluster: Cluster) -> None:
    """Have the API server serve `Device` objects."""
    made: Object = yaml.safe_load(DEFINITION.read_text("utf-8"))
    if not await cluster.api.exists(f"{DEFINITIONS}/{made['metadata']['name']}"):
        await cluster.api.call("POST", DEFINITIONS, made)

    async def served() -> bool:
        try:
            await cluster.api.get(DEVICES)
        except ApiRefused:
            # Not known yet, or 429: its storage is being set up.
            return False
        return True

    await until(served, "Device objects are served")


async def withdraw(node: AgentNode) -> None:
    """Delete the Device and wait until koord-manager has taken the amounts away."""
    await node.cluster.api.delete(f"{DEVICES}/{node.name}")
    await node.cluster.until_node(
        str(node.name),
        lambda seen: CORE not in seen["status"]["allocatable"],
        within=PATIENCE,
        what="Koordinator's amounts are gone",
    )


async def have_koordlet_pod(node: AgentNode) -> None:
    """Something that looks like koordlet's pod, by whose label our agent knows that koordlet is here."""
    api = node.cluster.api
    if await api.exists(path_of("Pod", "koordlet", namespace=NAMESPACE)):
        return
    for thing in (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": NAMESPACE},
        },
    ):
        try:
            await api.create(thing)
        except ApiRefused as refused:
            if refused.status != 409:
                raise
    made = pod("koordlet", container(), node=str(node.name), labels={"koord-app": "koordlet"})
    made["metadata"]["namespace"] = NAMESPACE
    # Like the real one; a pod that cannot see the host is not taken for it.
    made["spec"]["volumes"] = [{"name": "run", "hostPath": {"path": "/var/run"}}]
    await api.create(made)
    await node.cluster.until_pod("koordlet", is_running, namespace=NAMESPACE, within=PATIENCE)


@asynccontextmanager
async def koordinator(
    node: AgentNode, windows: Windows = QUICK, *, file: bool = True
) -> AsyncGenerator[Koordinator]:
    """All of Koordinator, until the block ends; without `file` our agent has to write the device-info file."""
    folder = infos_folder(node)
    folder.mkdir(parents=True, exist_ok=True)
    await have_koordlet_pod(node)
    await install_definition(node.cluster)
    daemon = folder / "ic-device"
    if file:
        daemon.write_text(daemon_file(look(node).devices))
    api = node.cluster.api
    scheduler = KoordScheduler(api, windows)
    koordlet = Koordlet(api, str(node.name), folder, LOOK_EVERY_S)
    manager = KoordManager(api)
    async with AsyncExitStack() as stack:
        stack.callback(daemon.unlink, missing_ok=True)
        await stack.enter_async_context(manager.serve())
        stack.push_async_callback(withdraw, node)
        await stack.enter_async_context(koordlet.serve())
        await stack.enter_async_context(scheduler.serve())
        running = Koordinator(node, scheduler, koordlet, manager)
        await until_offered(node)
        yield running
        # For whoever reads why a test failed: pytest shows it then and only then.
        print(scheduler.failures, scheduler.waiting.stuck, koordlet.troubles, manager.troubles)  # noqa: T201


async def until_offered(node: AgentNode) -> None:
    """The node states Koordinator's amounts, so the pipeline works up to here."""
    await node.cluster.until_node(
        str(node.name),
        lambda seen: {CORE, MEMORY, RATIO, SHARED} <= seen["status"].get("allocatable", {}).keys(),
        within=PATIENCE,
        what="the node states Koordinator's amounts",
    )


# ---- pods


def koord_pod(
    name: str, limits: Mapping[str, str | int], *, annotations: Mapping[str, str] | None = None
) -> Object:
    """A pod for koord-scheduler as its webhook hands it on."""
    made = pod(name, container(script=LOOK, limits=limits), scheduler=SCHEDULER, annotations=annotations)
    return mutated(made)


def share(core: int, memory: str, *, trigger: str = SGPU) -> dict[str, str | int]:
    """A slice in the words of Koordinator's page."""
    return {SHARED: 1, CORE: core, MEMORY: memory, trigger: 1}


def whole(count: int, *, trigger: str = SGPU) -> dict[str, str | int]:
    """Whole cards; the webhook adds how many."""
    return {CORE: 100 * count, RATIO: 100 * count, trigger: count}


def metax_rows(seen: Object) -> list[tuple[str, int, int]]:
    """Card, MiB and percent, as the adapter wrote them: one list for the pod."""
    (row,) = json.loads(seen["metadata"]["annotations"][METAX_ALLOCATED])
    return [(card["uuid"], card["vRam"], card["compute"]) for card in row]


async def until_unlocked(node: AgentNode, *, within: float = PATIENCE) -> None:
    """Nobody holds the node any more."""
    await node.cluster.until_node(
        str(node.name),
        lambda seen: NODE_LOCK not in seen["metadata"].get("annotations", {}),
        within=within,
        what="the lock is given back",
    )


async def create_all(cluster: Cluster, pods: Iterable[Object]) -> None:
    await asyncio.gather(*(cluster.api.create(made) for made in pods))
