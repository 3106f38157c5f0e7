"""The manual of MetaX followed by its commands, with the corrections of our page and no others.

The commands are read from docs/metax-extensions.md, so what the page prints is what has been run. They are typed into
a shell of the control plane, one release from the first to the last.
"""

import re
from collections.abc import AsyncIterator, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.helm_kit import DRIVER, Shipped, load, serve_cards, ship
from e2e.release_kit import everything, lives, nodes_look, resources_left
from e2e.scheduling_kit import poll_until
from testbed.api import path_of
from testbed.box import REPOSITORY
from testbed.cluster import Cluster, Finished
from testbed.manifests import container, is_running, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("helm")

PAGE = REPOSITORY / "docs" / "metax-extensions.md"
CHART = "metax-gpu-extensions"
NAMESPACE = CHART
CARDS = "tangram: cards/v1\ncards: [{server: c500-8-two-groups}]\n"
OURS = f"--set gpuDevice.driver={DRIVER} --set gpuLabel.driver={DRIVER} --set deployExtenderGPUAware=true"
"""What a machine without cards needs, and the manual's option for gpu-aware."""
REMOVAL = (
    f'release=$(helm list -q -f "metax" -n {NAMESPACE}); '
    f'if [ -n "$release" ]; then helm uninstall $release -n {NAMESPACE} --wait; fi'
)
"""As a script, which finds the release by its name (manual, 10.6)."""


@dataclass
class Shell:
    cluster: Cluster

    async def run(self, command: str, env: Mapping[str, str] | None = None) -> Finished:
        programs = [str(Path(self.cluster.programs.path(name)).parent) for name in ("helm", "kubectl")]
        path = ":".join([*programs, "/usr/bin", "/bin"])
        done = await self.cluster.command(["/bin/sh", "-ec", command], env={"PATH": path, **(env or {})})
        assert done.status == 0, f"$ {command}\n{done.output}{done.errors}"
        return done

    async def weight(self, name: str) -> str:
        """What gpu-aware goes by, asked through its Service."""
        where = f"/api/v1/namespaces/{NAMESPACE}/services/gpu-aware-service:8080/proxy/metrics"
        counted = await self.run(f"kubectl get --raw {where}")
        (found,) = re.findall(
            rf'^tangram_gpu_aware_weight{{weight="{name}"}} (\S+)$', counted.output, re.MULTILINE
        )
        return found

    async def until_weight(self, name: str, value: str) -> None:
        async def so() -> bool:
            return await self.weight(name) == value

        await poll_until(so, within=15, what=f"{name} at {value}")


def commands() -> list[str]:
    """The block of the page, a command each."""
    (block,) = re.findall(r"```\n(helm install .*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return block.replace("\\\n", " ").strip().splitlines()


def correction(number: str) -> str:
    """What the page says to write instead."""
    (row,) = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| {number} |")]
    _, _, _, write, *_ = re.split(r"(?<!\\)\|", row)
    return re.sub(r"^`(.*?)`.*$", r"\1", write.strip()).replace("\\|", "|")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shipped]:
    with pytest.MonkeyPatch.context() as patch:
        yield ship(tmp_path_factory.mktemp("manual"), patch)


@pytest_asyncio.fixture(scope="module")
async def shell(shipped: Shipped) -> AsyncIterator[Shell]:
    async with Cluster.open(Options(nodes=1, services=True)) as cluster:
        await load(cluster, shipped)
        await serve_cards(cluster, cluster.nodes[0], CARDS)
        label = {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}
        await cluster.api.patch(path_of("Node", "n1"), label)
        yield Shell(cluster)


async def test_the_manuals_commands_install_verify_and_remove(shell: Shell, shipped: Shipped) -> None:
    cluster = shell.cluster
    nodes, objects = await nodes_look(cluster), await everything(cluster)
    given = (await cluster.api.get(path_of("Node", "n1")))["status"]["allocatable"]

    install, describe, listing, _ = commands()
    chart = str(shipped.chart(CHART))
    typed = install.replace(f"oci://DOMAIN/PROJECT/{CHART}", chart).replace(
        "DOMAIN/PROJECT", "tangram.dev/cloud"
    )
    installed = await shell.run(f"{typed} {OURS}")
    assert "tangram gpu-aware enable" in installed.output
    assert CHART in (await shell.run(listing)).output

    # Verification: figures and labels in the description of the node.
    await cluster.until_node("n1", lambda node: node["status"]["capacity"].get("metax-tech.com/gpu") == "8")
    described = (await shell.run(describe.replace("NODE", "n1"))).output
    assert len(re.findall(r"^ +metax-tech\.com/gpu: +8$", described, re.MULTILINE)) == 2
    assert "metax-tech.com/gpu.product=MXC500" in described

    # gpu-aware: the address by T2, the manual's configuration with T7, and a pod that kube-scheduler asks about.
    address = (await shell.run(correction("T2"))).output.strip()
    assert correction("T7").endswith("kubescheduler.config.k8s.io/v1")
    extender = {
        "urlPrefix": f"http://{address}:8080", "enableHTTPS": False, "filterVerb": "filter",
        "prioritizeVerb": "prioritize", "nodeCacheCapable": False, "ignorable": False, "weight": 500,
    }  # fmt: skip
    await cluster.restart_scheduler({"extenders": [extender]})
    await cluster.api.create(
        pod("train", container(limits={"metax-tech.com/gpu": 2}), scheduler="default-scheduler")
    )
    await cluster.until_pod("train", is_running)

    # Weights, by hand with T3 and then by values: nothing is restarted.
    alive = await lives(cluster, NAMESPACE)
    await shell.run(correction("T3"), {"KUBE_EDITOR": "sed -i 's/score: .*/score: \"2.5\"/'"})
    await shell.until_weight("score", "2.5")
    release = (await shell.run(f"helm list -q -n {NAMESPACE}")).output.strip()
    upgrade = (
        f"helm upgrade {release} {chart} -n {NAMESPACE} --wait --reuse-values --set gpuAware.scoreWeight=4"
    )
    refused = await shell.run(f"if {upgrade}; then exit 1; fi")
    assert 'conflict with "kubectl-edit"' in refused.errors
    await shell.run(f"{upgrade} --force-conflicts")
    await shell.until_weight("score", "4.0")
    assert await lives(cluster, NAMESPACE) == alive
    training = await lives(cluster)

    # Changed otherwise, the one gpu-aware is replaced although its own pods are asked about, too.
    await shell.run(f"{upgrade} --set gpuAware.log.level=debug")
    assert {name for name in await lives(cluster, NAMESPACE) if name in alive} == {
        name for name in alive if "gpu-aware" not in name
    }

    # The other chart would put a second agent on each node.
    beside = await shell.run(f"if helm install t {shipped.chart('tangram')} -n {NAMESPACE}; then exit 1; fi")
    assert f"in namespace {NAMESPACE} (chart {CHART}) runs gpu-" in beside.errors

    await cluster.restart_scheduler()
    removed = await shell.run(REMOVAL)
    assert "metax-tech.com/gpu" in removed.output + removed.errors
    assert await lives(cluster) == training
    assert await nodes_look(cluster) == nodes
    left = {
        f"Namespace /{NAMESPACE}",
        f"ServiceAccount {NAMESPACE}/default",
        f"ConfigMap {NAMESPACE}/kube-root-ca.crt",
    }
    assert await everything(cluster) - objects == left
    assert set((await resources_left(cluster, given)).values()) == {"0"}
