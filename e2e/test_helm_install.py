"""The chart on a real cluster with a real helm: from nothing to an installation, over an upgrade and back, to nothing.

One long story, because each chapter is about what the one before has left: the pods that run while all this goes on.
"""

from collections.abc import AsyncIterator, Generator, Mapping

import pytest
import pytest_asyncio
import yaml

from e2e.audit_kit import auditing_accounts, questions
from e2e.helm_kit import DRIVER, LEFT_BEHIND, NAMESPACE, Helm, Shipped, load, load_examples, serve_cards, ship
from e2e.release_kit import (
    PARTS,
    Life,
    allocation_of,
    everything,
    life_of,
    lives,
    nodes_look,
    pods_of,
    refused_by_kubelets,
    resources_left,
    slice_pod,
    streaming,
)
from e2e.scheduling_kit import poll_until
from e2e.sums_kit import summed
from e2e.test_preflight import asked
from tangram.model.allocations import Tenant
from tangram.units.memory import memory_text
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_gone, is_running
from testbed.options import Options
from tour.expected import TOUR
from tour.records import Example, Refused, Runs

pytestmark = pytest.mark.xdist_group("helm")

CARDS = {
    "n1": "tangram: cards/v1\ncards: [{server: c500-4}]\n",
    "n2": "tangram: cards/v1\ncards: [{server: c500-4}, {product: S4000, count: 2}]\n",
}
VALUES: dict[str, object] = {
    "gpuDevice": {
        "driver": DRIVER,
        "deviceConfig": {
            "version": "v1",
            "cluster-config": {"mode": "sgpu"},
            "nodes-config": [{"nodeName": "n2", "mode": "mixed", "slicedCards": [0, 1]}],
        },
    },
    "gpuLabel": {"driver": DRIVER},
}
SPREAD = {"scheduler": {"config": {"tangram": "scheduler/v1", "nodePolicy": "spread"}}}
FORTY = 40
EXAMPLES = ("10-share-a-card", "12-slices-of-two-cards", "20-several-containers")
STAYING = ("13-whole-card", "26-moore-threads-slices")
"""Examples whose pods run to the end of the story: what they hold has no part in the sums of slices."""
"""The namespace is not the release's to delete."""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shipped]:
    with pytest.MonkeyPatch.context() as patch:
        yield ship(tmp_path_factory.mktemp("shipped"), patch)


@pytest_asyncio.fixture(scope="module")
async def cluster(shipped: Shipped, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """Two nodes with cards of both vendors, the images, and an API server that writes down who asks for what."""
    policy = tmp_path_factory.mktemp("audit") / "policy.json"
    audited = auditing_accounts(policy, NAMESPACE)
    async with Cluster.open(Options(nodes=2, services=True, api_server_flags=audited)) as running:
        await load(running, shipped)
        for node in running.nodes:
            await serve_cards(running, node, CARDS[node.name])
        yield running


async def test_a_release_is_installed_upgraded_rolled_back_and_removed_while_pods_run(
    cluster: Cluster, shipped: Shipped
) -> None:
    helm = Helm(cluster)
    nodes, objects = await nodes_look(cluster), await everything(cluster)
    resources = (await cluster.api.get(path_of("Node", "n1")))["status"]["allocatable"]

    # From nothing.
    await helm.install(shipped.chart("tangram"), VALUES)
    said = await asked(cluster, "verify", "--pod", status=0)
    assert {finding["outcome"] for finding in said["findings"]} == {"ok"}
    for example in TOUR:
        if example.name in EXAMPLES + STAYING:
            await play(cluster, example, stays=example.name in STAYING)
    await forty_run(cluster)
    before = await running(cluster)
    assert len(before) == FORTY + 3

    # To the next version, and back, while further pods are made.
    async with streaming(cluster, "upgraded") as stream:
        await helm.upgrade(shipped.next_chart("tangram"), VALUES)
    assert stream.refused == []
    await stream.all_run()
    await nothing_lost(cluster, before)
    before = await running(cluster)
    async with streaming(cluster, "back") as stream:
        await helm.rollback()
    assert stream.refused == []
    await stream.all_run()
    await nothing_lost(cluster, before)

    # What processes follow by themselves restarts none of them.
    ours = await lives(cluster, NAMESPACE)
    assert len(ours) == 6
    await helm.upgrade(shipped.chart("tangram"), {**VALUES, **SPREAD})
    assert await lives(cluster, NAMESPACE) == ours
    # So far nobody asked for what the chart gives no right to. When it goes, its roles go before its pods have ended.
    assert [each for each in questions(cluster) if each.refused] == []

    # Away with it, and nobody who holds a card notices.
    before = await running(cluster)
    told = (await helm.uninstall()).errors
    await nothing_lost(cluster, before)
    assert await nodes_look(cluster) == nodes
    assert "Allocatable is 0 at once" in told
    assert f"{len(before)} pods" in told
    assert set((await resources_left(cluster, resources)).values()) <= {"0"}

    # Here again: what is held is known, and not given to anybody else.
    await helm.install(shipped.chart("tangram"), VALUES)
    await asked(cluster, "verify", "--pod", status=0)
    async with streaming(cluster, "again") as stream:
        await poll_until(lambda: _made(stream.made), what="some pods' being made")
    await stream.all_run()
    await nothing_lost(cluster, before)

    # And to nothing.
    await remove_all(cluster)
    told = (await helm.uninstall()).errors
    assert await nodes_look(cluster) == nodes
    assert "Not done" not in told

    async def gone() -> bool:
        return await everything(cluster) - objects == LEFT_BEHIND

    await poll_until(gone, what=f"the end of {await everything(cluster) - objects}")


async def _made(names: list[str]) -> bool:
    return len(names) > 3


async def test_a_second_release_and_the_other_chart_are_refused_where_one_runs(
    cluster: Cluster, shipped: Shipped
) -> None:
    first = Helm(cluster)
    chart, other = shipped.chart("tangram"), shipped.chart("metax-gpu-extensions")
    await first.install(chart, {})
    try:
        second = Helm(cluster, release="second", namespace="elsewhere")
        said = await second.install(chart, {}, status=1)
        assert 'must equal "second": current value is "tangram"' in said.errors
        beside = Helm(cluster, release="metax", namespace="elsewhere")
        said = await beside.install(other, {}, status=1)
        assert (
            "release tangram in namespace tangram (chart tangram) runs gpu-label already: a node has one; "
            "uninstall that release first, which does all that this one would."
        ) in said.errors
        findings = (await asked(cluster, "preflight", "-n", "elsewhere", status=1))["findings"]
        (installed,) = [each for each in findings if each["check"] == "installed"]
        assert "Deployment tangram/tangram-scheduler" in installed["why"]
        assert (await first.run("list", "-A", "-o", "json")).output.count('"name"') == 1
    finally:
        await first.uninstall()

    await beside.install(other, {})
    try:
        said = await first.install(chart, {}, status=1)
        assert (
            "release metax in namespace elsewhere (chart metax-gpu-extensions) runs gpu-label already: a node has "
            "one; uninstall that release first, or write gpuLabel.enabled=false."
        ) in said.errors
    finally:
        await beside.uninstall()


# ---- the pods of the story


async def play(cluster: Cluster, example: Example, *, stays: bool) -> None:
    """An example as its page shows it; its pods hold as much of as many cards as in the tour."""
    for step in example.steps:
        file = example.folder / getattr(step, "file")  # noqa: B009 - each step that is played has one
        things = list(yaml.safe_load_all(file.read_text("utf-8")))
        await load_examples(cluster, *things)
        applied = await cluster.kubectl("apply", "-f", str(file))
        if isinstance(step, Refused):
            assert step.says in applied.errors
            continue
        assert applied.status == 0, applied.errors
        assert isinstance(step, Runs)
        for name, (expected,) in step.pods.items():
            await cluster.until_pod(name, is_running, what=f"pod {name} of {example.name} running")
            parts = [part for part in expected.containers.values() for _ in part.cards]
            assert await held(cluster, name) == sorted((part.memory, part.compute) for part in parts)
        if not stays:
            await cluster.kubectl("delete", "-f", str(file), "--grace-period=1")


async def held(cluster: Cluster, name: str) -> list[tuple[str, int]]:
    """How much of each of its cards a pod holds."""
    seen = await cluster.api.get(path_of("Pod", name))
    node = read_node(await cluster.api.get(path_of("Node", seen["spec"]["nodeName"]))).node
    tenant = read_tenant(read_pod(seen), node)
    assert isinstance(tenant, Tenant)
    shares = [share for one in tenant.allocation.containers for share in one.shares]
    return sorted((memory_text(share.memory), share.cores) for share in shares)


async def forty_run(cluster: Cluster) -> None:
    names = [f"slice-{number}" for number in range(FORTY)]
    for name in names:
        await cluster.api.create(slice_pod(name))
    for name in names:
        await cluster.until_pod(name, is_running, within=120, what=f"pod {name} running")


async def running(cluster: Cluster) -> dict[str, tuple[Life, Mapping[str, str]]]:
    """Every pod that runs, with what must not change while it does."""
    return {
        name: (life_of(one), allocation_of(one))
        for name, one in (await pods_of(cluster)).items()
        if is_running(one)
    }


async def nothing_lost(cluster: Cluster, before: Mapping[str, tuple[Life, Mapping[str, str]]]) -> None:
    """No pod was touched, none was refused by a kubelet, and of no card was more given than it has."""
    now = await running(cluster)
    assert {name: now.get(name) for name in before} == before
    assert await refused_by_kubelets(cluster) == []
    seen = await pods_of(cluster)
    slices = [one for one in seen.values() if PARTS.items() <= one["metadata"]["labels"].items()]
    nodes = await cluster.api.list(path_of("Node"))
    if any("tangram.dev/node-inventory" in node["metadata"].get("annotations", {}) for node in nodes):
        summed(nodes, slices)


async def remove_all(cluster: Cluster) -> None:
    seen: dict[str, Object] = await pods_of(cluster)
    for name in seen:
        await cluster.api.delete(path_of("Pod", name), grace=1)
    for name in seen:
        await cluster.until_pod(name, is_gone)
