"""`tangram gpu-aware` beside a real kube-scheduler, which is started as its static manifest says.

No kubelet runs here: what one would do with the manifest (start the program with those words, and start it again when
they change) is done by the test.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from e2e.agent_kit import TANGRAM
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import ask
from testbed.api import MERGE_PATCH, Object, path_of
from testbed.cluster import SCHEDULER, Cluster, Finished
from testbed.firstprocess import CONTROL
from testbed.manifests import container, pod, tolerates_kwok

GPU = "metax-tech.com/gpu"
SCORES, LOSSES = "metax-tech.com/gpu.topology.scores", "metax-tech.com/gpu.topology.losses"
WEIGHTS = "gpu-aware-weight"
PORT = 8080
URL = f"http://127.0.0.1:{PORT}"
AWARE = "gpu-aware"
SECOND = "gpu-aware-second"

_MANIFEST = """\
# A note that must stay.
apiVersion: v1
kind: Pod
metadata:
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - command:
    - {program}
    - --kubeconfig={kubeconfig}
    - --authentication-kubeconfig={kubeconfig}
    - --authorization-kubeconfig={kubeconfig}
    - --bind-address=127.0.0.1
    - --leader-elect=false
    image: registry.k8s.io/kube-scheduler:{version}
    name: kube-scheduler
    volumeMounts:
    - mountPath: {kubeconfig}
      name: kubeconfig
      readOnly: true
  volumes:
  - hostPath:
      path: {kubeconfig}
      type: FileOrCreate
    name: kubeconfig
"""


@dataclass(frozen=True, slots=True)
class Aware:
    """A cluster whose kube-scheduler runs by a manifest, and gpu-aware beside it."""

    cluster: Cluster

    @property
    def manifest(self) -> Path:
        return self.cluster.box.folder.of_room(CONTROL).etc / "manifests" / "kube-scheduler.yaml"

    @property
    def config(self) -> Path:
        return self.cluster.box.folder.of_room(CONTROL).etc / "metax" / "extender.yaml"

    def write_manifest(self) -> None:
        self.manifest.parent.mkdir(exist_ok=True)
        kubeconfig = self.cluster.box.folder.of_room(CONTROL).etc / "kube-scheduler.conf"
        program = self.cluster.programs.path("kube-scheduler")
        version = self.cluster.programs.version("kubernetes")
        written = _MANIFEST.format(program=program, kubeconfig=kubeconfig, version=version)
        self.manifest.write_text(written)

    async def switch(self, verb: str, *more: str) -> Finished:
        """`tangram gpu-aware enable` or `disable`, on the manifest."""
        words = (AWARE, verb, "--manifest", self.manifest, "--config", self.config, "--yes")
        return await self.cluster.command([TANGRAM, *words, *more])

    async def restart_scheduler(self) -> None:
        """What the kubelet does when the manifest changed."""
        await self.cluster.box.stop(SCHEDULER)
        await self.start_scheduler()

    async def start_scheduler(self) -> None:
        """What the kubelet does where none runs."""
        read = yaml.safe_load(self.manifest.read_text())
        await self.cluster.box.start(SCHEDULER, read["spec"]["containers"][0]["command"])

    async def start(self, *more: str) -> None:
        command = [
            TANGRAM, AWARE, "--address", f"127.0.0.1:{PORT}", "--log-dir", "", "--log-format", "text",
            "--kubeconfig", self.cluster.box.folder.admin_kubeconfig, *more,
        ]  # fmt: skip
        await self.cluster.box.start(AWARE, command)
        async with asyncio.timeout(PATIENCE):
            while "200 OK" not in await ask(self.cluster, PORT, "/readyz"):
                await asyncio.sleep(0.05)

    async def start_as(self, token: str, weights: str) -> None:
        """A second one beside the first, with nothing but the rights of that token."""
        admin = self.cluster.box.folder.admin_kubeconfig
        limited: Object = json.loads(admin.read_text())
        limited["users"] = [{"name": "user", "user": {"token": token}}]
        file = admin.with_name("gpu-aware.conf")
        file.write_text(json.dumps(limited))
        command = [
            TANGRAM, AWARE, "--address", "127.0.0.1:0", "--log-dir", "", "--log-format", "text",
            "--kubeconfig", file, "--weights-configmap", weights,
        ]  # fmt: skip
        await self.cluster.box.start(SECOND, command)

    async def stop(self) -> None:
        await self.cluster.box.stop(AWARE)

    async def metric(self, name: str) -> float:
        """The sum of all samples of that name (and beginning, with labels)."""
        lines = (await ask(self.cluster, PORT, "/metrics")).splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))

    async def until_metric(self, name: str, value: float) -> None:
        async with asyncio.timeout(PATIENCE):
            while await self.metric(name) != value:
                await asyncio.sleep(0.05)

    async def weigh(self, **data: str) -> None:
        """Edit the ConfigMap, as a person would."""
        await self.cluster.api.patch(path_of("ConfigMap", WEIGHTS), {"data": data}, content=MERGE_PATCH)

    async def equip(self, node: str, cards: int, annotations: Mapping[str, str | None]) -> None:
        """Give a node cards, and what its plugin publishes about them."""
        change = {"metadata": {"annotations": dict(annotations)}}
        await self.cluster.api.patch(path_of("Node", node), change)
        amounts = {"capacity": {GPU: str(cards)}, "allocatable": {GPU: str(cards)}}
        await self.cluster.api.patch(f"{path_of('Node', node)}/status", {"status": amounts})


@asynccontextmanager
async def aware_cluster(cluster: Cluster) -> AsyncGenerator[Aware]:
    """Usual weights, gpu-aware, and a kube-scheduler whose manifest was enabled."""
    aware = Aware(cluster)
    aware.write_manifest()
    await cluster.api.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": WEIGHTS},
            "data": {"score": "1.0", "loss": "0.5"},
        }
    )
    await aware.start("--weights-configmap", f"default/{WEIGHTS}")
    try:
        done = await aware.switch("enable", "--extender-url", URL)
        assert done.status == 0, done.errors
        await aware.restart_scheduler()
        yield aware
    finally:
        await aware.stop()


def card_pod(name: str, cards: int = 0) -> Object:
    """A pod for nodes that are only objects, asking for whole cards."""
    return pod(name, container(limits={GPU: cards} if cards else {}), tolerations=tolerates_kwok())


def figures(scores: Mapping[int, int], losses: Mapping[int, int]) -> dict[str, str]:
    """Both annotations of MetaX's plugin."""

    def written(by_count: Mapping[int, int]) -> str:
        return "{" + ",".join(f'"{count}":{figure}' for count, figure in by_count.items()) + "}"

    return {SCORES: written(scores), LOSSES: written(losses)}
