"""The operator on real nodes: bare cards and a kernel without a driver, payload images, a release, and what to look at.

The cards and the kernel of a node are one simulation in its room, which outlives every pod, as hardware does. Drivers
and MXMACA are images on the nodes under the names that the chart asks for: there is no registry.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from e2e.agent_kit import TANGRAM
from e2e.helm_kit import DRIVER, Helm, Shipped, load, serve_cards
from e2e.logs_kit import keep_logs
from e2e.operator_view_kit import GPU, condition_of, serves
from e2e.scheduling_kit import poll_until
from shipping.image.building import REPOSITORY
from tangram.wire.operator import names
from testbed.api import ApiRefused, Object, path_of
from testbed.cluster import Cluster, Finished
from testbed.images.archive import architecture
from testbed.images.payloads import driver_image, maca_image
from testbed.manifests import SLEEP, container, is_over, is_running, pod
from testbed.options import Options

NAMESPACE = "metax-operator"
CHART = "metax-operator"
REGISTRY = REPOSITORY.rpartition("/")[0]
OLD, NEW = "2.32.0", "2.33.0"
"""Versions of the driver."""
MACA = "3.0.0"
MACA_IMAGE = f"maca-c500:{MACA}-ubuntu22.04-{architecture()}"
OBJECT = f"/apis/{names.API_VERSION}/{names.PLURAL}/{names.OBJECT}"
BARE = "tangram: cards/v1\nmodule: none\ncards: [{product: C500, count: 2, sriov: on}]\n"
PARTS = ("gpu-label", "container-runtime", "payloads", "driver-manager", "gpu-device")
CONTROLLER = "metax-operator-controller"
OPEN: list[Cluster] = []
"""The clusters of this worker, for those who keep what was printed there."""


def values(driver: str = OLD, **more: object) -> dict[str, Any]:
    """Of a release that brings this driver, on simulated cards and kernels."""
    made: dict[str, Any] = {
        "driver": {"payload": {"version": driver}, "loader": DRIVER, "log": {"level": "debug"}},
        "maca": {"payload": {"images": [MACA_IMAGE]}},
        "gpuDevice": {"driver": DRIVER},
        "gpuLabel": {"driver": DRIVER},
    }
    for path, value in more.items():
        place = made
        *above, last = path.split("__")
        for step in above:
            place = place.setdefault(step, {})
        place[last] = value
    return made


async def ctl(cluster: Cluster, node: str, *words: str) -> Object:
    """Tell the simulated cards and kernel of a node something."""
    socket = cluster.box.folder.of_room(node).run / "tangram" / "cards.sock"
    running = await asyncio.create_subprocess_exec(
        str(TANGRAM), "simulate-cards", "ctl", "--socket", str(socket), *words,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, errors = await running.communicate()
    assert running.returncode == 0, errors.decode()
    return json.loads(output)


def driver_name(version: str) -> str:
    """The image of a driver, as the operator asks for it."""
    return f"{REGISTRY}/driver-image:{version}"


def maca_name(image: str = MACA_IMAGE) -> str:
    return f"{REGISTRY}/{image}"


@dataclass
class Operated:
    """A cluster with a release of the operator, or about to have one."""

    cluster: Cluster
    shipped: Shipped
    helm: Helm

    async def install(self, chosen: Mapping[str, Any], *more: str, status: int = 0) -> Finished:
        return await self.helm.install(self.shipped.chart(CHART), chosen, *more, status=status)

    async def begin(self, chosen: Mapping[str, Any]) -> Finished:
        """Install without waiting for the nodes."""
        file = self.cluster.box.folder.path / "values-begin.json"
        file.write_text(json.dumps(chosen), encoding="utf-8")
        return await self.helm.run(
            *("install", self.helm.release, self.shipped.chart(CHART), "--create-namespace"),
            *("-n", self.helm.namespace, "-f", file),
        )

    async def upgrade(self, chosen: Mapping[str, Any]) -> Finished:
        """Without waiting: what the nodes do with it is what a test looks at."""
        file = self.cluster.box.folder.path / "values-upgrade.json"
        file.write_text(json.dumps(chosen), encoding="utf-8")
        return await self.helm.run(
            "upgrade", self.helm.release, self.shipped.chart(CHART), "-n", self.helm.namespace, "-f", file
        )

    async def ask(self, change: Mapping[str, Any]) -> None:
        """Change the spec of the object `cluster-operator`, as an administrator would by hand."""
        await self.cluster.api.patch(OBJECT, {"spec": change})

    async def want_driver(self, version: str) -> None:
        await self.ask({"driver": {"payload": {"version": version}}})

    async def nodes(self) -> dict[str, Object]:
        return {one["metadata"]["name"]: one for one in await self.cluster.api.list(path_of("Node"))}

    async def pods(self, part: str, node: str = "") -> list[Object]:
        """Of a part, in the order of their nodes."""
        found = await self.cluster.api.list(
            path_of("Pod", namespace=NAMESPACE), labelSelector=f"app.kubernetes.io/component={part}"
        )
        mine = [one for one in found if not node or one["spec"].get("nodeName") == node]
        return sorted(mine, key=lambda one: one["spec"].get("nodeName", ""))

    async def ctl(self, node: str, *words: str) -> Object:
        return await ctl(self.cluster, node, *words)

    async def seen_by(self, made: Object) -> str:
        """What a pod that looks round has printed."""
        name = made["metadata"]["name"]
        await self.cluster.api.create(made)
        await self.cluster.until_pod(name, is_over)
        said = await self.cluster.pod_log(name)
        await removed(self.cluster, name)
        return said

    async def loaded(self, node: str) -> str:
        """The version of the driver that the kernel of a node has; empty for none."""
        module = (await self.ctl(node, "module"))["module"]
        return module["version"] if module else ""

    async def tangram(self, *words: str) -> Finished:
        """Our own command, as an administrator runs it."""
        return await self.cluster.command([TANGRAM, *words])

    async def status(self) -> Finished:
        return await self.tangram("status", "operator")

    async def events(self, reason: str = "") -> list[str]:
        """What was told, in any namespace: events of things without a namespace are in `default`."""
        return [
            f"{one.get('reason')} {one['involvedObject'].get('name')}: {one.get('message')}"
            for one in await self.cluster.api.list("/api/v1/events")
            if not reason or one.get("reason") == reason
        ]

    async def until_all(self, true: Callable[[Object], bool], *, within: float = 120.0, what: str) -> None:
        for node in self.cluster.nodes:
            await self.cluster.until_node(node.name, true, within=within, what=f"{node.name} {what}")

    async def until_any(self, true: Callable[[Object], bool], *, within: float = 120.0, what: str) -> None:
        async def seen() -> bool:
            return any(true(node) for node in (await self.nodes()).values())

        await poll_until(seen, within=within, what=f"a node that {what}")

    async def until_ready(self, driver: str = OLD, within: float = 120.0) -> None:
        """Every node runs that driver and offers its cards."""
        await self.until_all(lambda node: serves(node, driver), within=within, what=f"serves with {driver}")

    async def condition(self, kind: str) -> Object:
        return condition_of(await self.cluster.api.get(OBJECT), kind)


# ---- pods with and without cards


def gpu_pod(name: str, *, cards: int = 1, seconds: int = 0, node: str = "") -> Object:
    """A pod with cards, which ends by itself after so many seconds if any are given."""
    script = f"sleep {seconds}" if seconds else SLEEP
    return _on(node, pod(name, container(limits={GPU: cards}, script=script)))


LOOK = (
    "ls -d /opt/* /dev/mxcd 2>/dev/null; cat /opt/maca/version /opt/mxdriver/version 2>/dev/null; "
    "touch /opt/maca/mine 2>/dev/null && echo written; true"
)
"""What a container sees of MXMACA, the driver's programs and the device that every card needs."""


def looking_pod(name: str, *, cards: int = 0, node: str = "") -> Object:
    """A pod that says what it sees, and ends."""
    return _on(node, pod(name, container(script=LOOK, limits={GPU: cards} if cards else {})))


def _on(node: str, made: Object) -> Object:
    """By a label, so that the scheduler has its say: whoever is bound by hand also lands on a cordoned node."""
    if node:
        made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return made


# ---- the cluster


@asynccontextmanager
async def operated(
    shipped: Shipped,
    options: Options | None = None,
    *,
    cards: str | Mapping[str, str] = BARE,
    drivers: Sequence[str] = (OLD, NEW),
) -> AsyncGenerator[Operated]:
    """Nodes with cards, by their name or all alike, and without anything else, and the images that a release needs."""
    async with Cluster.open(options or Options(nodes=3)) as cluster:
        await load(cluster, shipped)
        await cluster.load_image(*(driver_image(driver_name(version)) for version in drivers))
        await cluster.load_image(maca_image(maca_name(), version=MACA))
        for node in cluster.nodes:
            await serve_cards(cluster, node, cards if isinstance(cards, str) else cards[node.name])
        OPEN.append(cluster)
        try:
            yield Operated(cluster, shipped, Helm(cluster, release="metax-operator", namespace=NAMESPACE))
        except BaseException:
            keep_logs(cluster, "operator")
            raise
        finally:
            OPEN.remove(cluster)


async def removed(cluster: Cluster, *pods: str) -> None:
    """Delete pods of the default namespace and wait until they are gone."""
    for name in pods:
        try:
            await cluster.api.delete(path_of("Pod", name), grace=0)
        except ApiRefused as refused:
            if refused.status != 404:
                raise
    for name in pods:
        await cluster.until_pod(name, lambda seen: not seen)


async def runs(cluster: Cluster, made: Object) -> Object:
    """Create a pod and wait until it runs."""
    await cluster.api.create(made)
    return await cluster.until_pod(made["metadata"]["name"], is_running)
