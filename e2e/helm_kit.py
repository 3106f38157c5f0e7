"""Charts installed with a real helm on real nodes: the packages people get, the image they name, and cards to offer.

Everything is made from a copy of the sources, under the version they have and under the one after it, so that an
upgrade is one from a release to the next. Nothing here knows what a chart should contain.
"""

import asyncio
import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.agent_kit import TANGRAM
from e2e.image_kit import Made, as_image, copy_sources, make
from shipping.charts.packing import FOLDER, pack
from shipping.image.building import REPOSITORY
from shipping.image.platforms import of_this_machine
from testbed.api import Object
from testbed.cluster import Cluster, Finished
from testbed.containerd_settings import CONTAINERD_SOCKET
from testbed.errors import BedError
from testbed.images import program_image
from testbed.images.busybox import BUSYBOX_NAME
from testbed.node import NodeNames

NAMESPACE = "tangram"
LEFT_BEHIND = frozenset(
    {
        f"Namespace /{NAMESPACE}",
        f"ServiceAccount {NAMESPACE}/default",
        f"ConfigMap {NAMESPACE}/kube-root-ca.crt",
    }
)
"""Of an installation that is gone: what Kubernetes itself keeps in its namespace."""
RELEASE = "tangram"
PATIENCE = "150s"
CARDS = "/run/tangram/cards.sock"
"""Where the nodes' pods find the simulated cards: in a folder that gpu-device's pods see anyway."""
DRIVER = f"simulated:unix:{CARDS}"


@dataclass(frozen=True, slots=True)
class Shipped:
    """What a release is made of, as far as a cluster needs it, and the same as the next release."""

    image: Made
    charts: Path
    next_charts: Path
    next_version: str

    def chart(self, name: str) -> Path:
        return self.charts / f"{name}-{self.image.version}.tgz"

    def next_chart(self, name: str) -> Path:
        return self.next_charts / f"{name}-{self.next_version}.tgz"


def ship(folder: Path, patch: pytest.MonkeyPatch) -> Shipped:
    """Make the image and the charts of the sources as they are now."""
    sources = copy_sources(folder / "sources", patch)
    image = make(sources, folder / "dist")
    pack(folder / "dist", sources)
    later = folder / "next"
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        later.mkdir(exist_ok=True)
        shutil.copy(sources / name, later / name)
    for name in ("src", "shipping", "requirements", FOLDER):
        shutil.copytree(sources / name, later / name, symlinks=True)
    next_version = _after(image.version)
    for file in (later / "pyproject.toml", *(later / FOLDER).glob("*/Chart.yaml")):
        file.write_text(_renumbered(file.read_text("utf-8"), image.version, next_version))
    pack(folder / "next-dist", later)
    return Shipped(image, folder / "dist", folder / "next-dist", next_version)


def _after(version: str) -> str:
    numbers, _, last = version.rpartition(".")
    return f"{numbers}.{int(last) + 1}"


def _renumbered(text: str, old: str, new: str) -> str:
    """Only where a line gives a version: another figure may look the same."""
    return re.sub(
        rf'(?m)^(\W*(?:app)?[vV]ersion\s*[:=]\s*"?){re.escape(old)}("?)$', rf"\g<1>{new}\g<2>", text
    )


@dataclass
class Helm:
    """helm, at work on one cluster and one release of it."""

    cluster: Cluster
    release: str = RELEASE
    namespace: str = NAMESPACE
    files: int = 0
    """Of values, written so far."""

    async def run(self, *words: str | Path, status: int = 0) -> Finished:
        """Any command, which must end like this. What it says is printed: pytest shows it when a test fails."""
        began = time.monotonic()
        done = await self.cluster.command([self.cluster.programs.path("helm"), *words])
        took = time.monotonic() - began
        print(f"$ helm {' '.join(map(str, words))}  # {took:.1f} s\n{done.output}{done.errors}")  # noqa: T201
        assert done.status == status, done.output + done.errors
        return done

    async def install(
        self, chart: Path, values: Mapping[str, object], *more: str, status: int = 0
    ) -> Finished:
        return await self.run(
            *("install", self.release, chart, "--create-namespace", "-n", self.namespace, "--wait"),
            *("--timeout", PATIENCE, "-f", self._file(values), *more),
            status=status,
        )

    async def upgrade(self, chart: Path, values: Mapping[str, object], *more: str) -> Finished:
        return await self.run(
            *("upgrade", self.release, chart, "-n", self.namespace, "--wait", "--timeout", PATIENCE),
            *("-f", self._file(values), *more),
        )

    async def rollback(self, *more: str) -> Finished:
        return await self.run(
            "rollback", self.release, *more, "-n", self.namespace, "--wait", "--timeout", PATIENCE
        )

    async def uninstall(self, *more: str) -> Finished:
        return await self.run(
            "uninstall", self.release, "-n", self.namespace, "--wait", "--timeout", PATIENCE, *more
        )

    def _file(self, values: Mapping[str, object]) -> Path:
        self.files += 1
        file = self.cluster.box.folder.path / f"values-{self.release}-{self.files}.json"
        file.write_text(json.dumps(values), encoding="utf-8")
        return file


async def load(cluster: Cluster, shipped: Shipped) -> None:
    """Put on every node what the chart names: the image, under both versions, and the cluster's own kube-scheduler."""
    version = cluster.programs.version("kubernetes")
    kube_scheduler = program_image(
        f"registry.k8s.io/kube-scheduler:{version}", cluster.programs.path("kube-scheduler")
    )
    made = shipped.image
    await cluster.load_image(as_image(made, made.archive_of(of_this_machine())), kube_scheduler)
    await tag(cluster, made.record.image, f"{REPOSITORY}:{shipped.next_version}")


async def load_examples(cluster: Cluster, *manifests: Object) -> None:
    """Give the images that examples name, which nobody has, to the nodes: each is busybox."""
    named = {one["image"] for thing in manifests for one in _containers(thing)}
    await tag(cluster, BUSYBOX_NAME, *sorted(named))


def _containers(thing: Object) -> Sequence[Object]:
    spec = thing["spec"]
    return (
        [*spec["containers"], *spec.get("initContainers", [])]
        if "containers" in spec
        else (_containers(spec["template"]))
    )


async def tag(cluster: Cluster, image: str, *names: str) -> None:
    """Give an image further names, on every node."""
    for node in cluster.nodes:
        command = [
            cluster.programs.path("ctr"), "-a", CONTAINERD_SOCKET, "-n", "k8s.io", "images", "tag", "--force",
            image, *names,
        ]  # fmt: skip
        await cluster.box.start(f"tag-{node.name}", command, room=node.name)
        if await cluster.box.wait(f"tag-{node.name}"):
            raise BedError(f"{node.name} does not know {image}: {cluster.box.log(f'tag-{node.name}')}")


async def serve_cards(cluster: Cluster, node: NodeNames, description: str) -> None:
    """Cards in a node's room, in a process of their own: they outlive every agent, as hardware does."""
    folder = cluster.room(node).run / "tangram"
    folder.mkdir(exist_ok=True)
    (folder / "cards.yaml").write_text(description, encoding="utf-8")
    command = [
        "/usr/bin/nice", "-n", "-10",
        TANGRAM, "simulate-cards", "serve", "--cards", "/run/tangram/cards.yaml", "--socket", CARDS,
        "--device-root", "/dev", "--name", node.name,
    ]  # fmt: skip
    await cluster.box.start(f"cards-{node.name}", command, room=node.name)
    async with asyncio.timeout(20):
        while not (folder / "cards.sock").exists():
            await asyncio.sleep(0.02)
