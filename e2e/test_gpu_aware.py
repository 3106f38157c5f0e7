"""gpu-aware beside a kube-scheduler that people keep: a real one, a real ConfigMap, and its manifest edited by us."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from builders.clusters import metax_node
from e2e.gpu_aware_kit import GPU, SECOND, URL, Aware, aware_cluster, card_pod, figures
from e2e.restarts_kit import PATIENCE
from e2e.scheduling_kit import cleaned, is_refused, scheduled
from tangram.engine.usage import Hold
from tangram.model.cards import CardMode
from tangram.wire.inventory import INVENTORY
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.metax_topology import ZONES
from tangram.wire.publication import publication
from testbed.api import path_of
from testbed.box import REPOSITORY
from testbed.cluster import SCHEDULER, Cluster
from testbed.manifests import is_bound
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("gpu-aware")
Unique = Callable[[str], str]

PAGE_NAMESPACE = "metax-gpu"
GOOD, MILD, PLAIN = "kwok-00001", "kwok-00002", "kwok-00003"
NO_LIST = dict.fromkeys((INVENTORY, NODE_DEVICES, ZONES))
"""Only figures are published."""
USUAL = {"score": "1.0", "loss": "0.5"}


@pytest_asyncio.fixture(scope="module")
async def standing() -> AsyncIterator[Aware]:
    async with (
        Cluster.open(Options(nodes=0, kwok_nodes=5)) as cluster,
        aware_cluster(cluster) as ready,
    ):
        yield ready


@pytest_asyncio.fixture
async def aware(standing: Aware) -> AsyncIterator[Aware]:
    """Three nodes of eight cards: the first joins two cards best, the second loses least, the third says nothing."""
    await standing.equip(GOOD, 8, {**NO_LIST, **figures({1: 0, 2: 200}, {1: 50, 2: 100})})
    await standing.equip(MILD, 8, {**NO_LIST, **figures({1: 0, 2: 110}, {1: 50, 2: 0})})
    await standing.equip(PLAIN, 8, {})
    await standing.weigh(**USUAL)
    await standing.until_metric('tangram_gpu_aware_weight{weight="loss"}', 0.5)
    yield standing


async def chosen(aware: Aware, name: str, cards: int = 0) -> str:
    """Where kube-scheduler puts a pod, which is gone again afterwards."""
    async with cleaned(aware.cluster, name):
        await aware.cluster.api.create(card_pod(name, cards))
        return (await aware.cluster.until_pod(name, is_bound))["spec"]["nodeName"]


@pytest.mark.smoke
async def test_an_edit_of_the_config_map_sends_the_next_pod_to_the_other_node_without_a_restart(
    aware: Aware, unique: Unique
) -> None:
    assert [await chosen(aware, unique(f"before-{number}"), 2) for number in range(3)] == [GOOD] * 3
    await aware.weigh(loss="5")
    await aware.until_metric('tangram_gpu_aware_weight{weight="loss"}', 5)
    assert [await chosen(aware, unique(f"after-{number}"), 2) for number in range(3)] == [MILD] * 3
    await aware.weigh(loss="a lot")
    await aware.until_metric("tangram_gpu_aware_weights_refused", 1)
    assert await chosen(aware, unique("refused"), 2) == MILD
    await aware.weigh(**USUAL)
    await aware.until_metric("tangram_gpu_aware_weights_refused", 0)
    assert await chosen(aware, unique("back"), 2) == GOOD


async def test_a_node_that_cannot_serve_the_count_is_refused_with_its_reason_on_the_pod(
    aware: Aware, unique: Unique
) -> None:
    """All three have eight cards by count; two of them publish figures for no more than two that are free."""
    await aware.equip(PLAIN, 2, {})
    name = unique("too-many")
    async with cleaned(aware.cluster, name):
        await aware.cluster.api.create(card_pod(name, 4))
        refused = await aware.cluster.until_pod(name, is_refused)
        assert f"2 fewer than 4 {GPU} free on it" in scheduled(refused)["message"]
        # The plugin publishes that cards became free: any change of a node wakes the pod.
        await aware.equip(MILD, 8, figures({1: 0, 2: 110, 4: 660}, {1: 50, 2: 0, 4: 0}))
        seen = await aware.cluster.until_pod(name, is_bound)
    assert seen["spec"]["nodeName"] == MILD


async def test_a_pod_without_cards_is_asked_about_and_passes_unchanged(aware: Aware, unique: Unique) -> None:
    passed = 'tangram_gpu_aware_calls_total{outcome="passed"'
    before = await aware.metric(passed)
    assert await chosen(aware, unique("plain"))
    assert await aware.metric(passed) == before + 2
    assert await aware.metric('tangram_gpu_aware_calls_total{outcome="refused"') == 0


@pytest.mark.parametrize(
    "cards", [pytest.param(4, id="figure 2.2 of the manual"), pytest.param(2, id="figure 2.3")]
)
@pytest.mark.parametrize(("better", "worse"), [(GOOD, MILD), (MILD, GOOD)], ids=["one way", "the other"])
async def test_of_two_servers_the_one_that_serves_the_manuals_figures_is_chosen(
    aware: Aware, unique: Unique, cards: int, better: str, worse: str
) -> None:
    """Two cards are in use on each: on the better they are of one group, on the worse one of each."""
    node = metax_node("server", mode=CardMode.WHOLE)
    for name, busy in ((better, (0, 1)), (worse, (0, 4))):
        held = {node.cards[at].uuid: Hold(1, 100, 1) for at in busy}
        await aware.equip(name, 8, publication(node.cards, node.topology, held).annotations)
    assert await chosen(aware, unique(f"cards-{cards}"), cards) == better


async def test_without_gpu_aware_every_pod_waits_and_goes_on_when_it_is_back(
    aware: Aware, unique: Unique
) -> None:
    """`ignorable: false`, as the manual has it."""
    name = unique("waiting")
    await aware.stop()
    async with cleaned(aware.cluster, name):
        await aware.cluster.api.create(card_pod(name))
        state = await aware.cluster.until_pod(
            name, lambda seen: scheduled(seen).get("reason") == "SchedulerError"
        )
        assert "connection refused" in scheduled(state)["message"]
        await aware.start("--weights-configmap", "default/gpu-aware-weight")
        await aware.cluster.until_pod(name, is_bound)


async def test_names_alone_are_judged_by_one_that_follows_the_cluster(aware: Aware, unique: Unique) -> None:
    """`nodeCacheCapable: true`: kube-scheduler then sends names."""
    await aware.stop()
    await aware.start("--weights-configmap", "default/gpu-aware-weight", "--follow-cluster")
    written = aware.config.read_text()
    aware.config.write_text(written.replace("nodeCacheCapable: false", "nodeCacheCapable: true"))
    await aware.restart_scheduler()
    try:
        assert await chosen(aware, unique("named"), 2) == GOOD
        await aware.weigh(loss="5")
        await aware.until_metric('tangram_gpu_aware_weight{weight="loss"}', 5)
        assert await chosen(aware, unique("named-too"), 2) == MILD
    finally:
        aware.config.write_text(written)
        await aware.restart_scheduler()


async def test_disabled_again_the_manifest_is_what_it_was_and_nobody_asks_any_more(
    aware: Aware, unique: Unique
) -> None:
    on = aware.manifest.read_text()
    done = await aware.switch("disable")
    assert done.status == 0, done.errors
    aware_text = aware.manifest.read_text()
    aware.write_manifest()
    assert aware.manifest.read_text() == aware_text
    await aware.restart_scheduler()
    try:
        before = await aware.metric("tangram_gpu_aware_calls_total")
        assert await chosen(aware, unique("unasked"), 2)
        assert await aware.metric("tangram_gpu_aware_calls_total") == before
    finally:
        again = await aware.switch("enable", "--extender-url", URL)
        assert again.status == 0, again.errors
        await aware.restart_scheduler()
    assert aware.manifest.read_text() == on


async def test_the_manuals_version_ends_this_kube_scheduler_and_enable_writes_the_one_that_it_reads(
    aware: Aware, unique: Unique
) -> None:
    """The manual has `v1beta3`, which is gone; and where the tag says nothing, a person names the version."""
    box, written, manifest = aware.cluster.box, aware.config.read_text(), aware.manifest.read_text()
    aware.config.write_text(written.replace("k8s.io/v1\n", "k8s.io/v1beta3\n"))
    await box.stop(SCHEDULER)
    await aware.start_scheduler()
    assert await box.wait(SCHEDULER) != 0
    said = box.log(SCHEDULER).replace("\\", "")
    assert 'is registered for version "kubescheduler.config.k8s.io/v1beta3"' in said
    version = aware.cluster.programs.version("kubernetes")
    aware.manifest.write_text(manifest.replace(f":{version}", "@sha256:00"))
    refused = await aware.switch("enable")
    assert (refused.status, "--scheduler-version" in refused.errors) == (2, True)
    done = await aware.switch("enable", "--scheduler-version", version)
    assert done.status == 0, done.errors
    assert "only when it starts" in done.errors
    assert aware.config.read_text() == written
    aware.manifest.write_text(manifest)
    await aware.start_scheduler()
    assert await chosen(aware, unique("again"), 2) == GOOD


async def test_the_manifests_of_the_page_are_taken_and_give_all_the_rights_it_needs(aware: Aware) -> None:
    page = (REPOSITORY / "docs" / "gpu-aware.md").read_text()
    manifests = page.partition("```yaml\n")[2].partition("```")[0]
    cluster, kubectl = aware.cluster, aware.cluster.kubectl
    assert (await kubectl("create", "namespace", PAGE_NAMESPACE)).status == 0
    try:
        applied = await kubectl("apply", "-f", "-", stdin=manifests)
        assert (applied.status, applied.errors) == (0, "")
        assert len(applied.output.splitlines()) == 6
        token = await kubectl("create", "token", "gpu-aware", "-n", PAGE_NAMESPACE)
        assert token.status == 0, token.errors
        await aware.start_as(token.output.strip(), f"{PAGE_NAMESPACE}/gpu-aware-weight")
        change = {"data": {"loss": "3"}}
        await cluster.api.patch(path_of("ConfigMap", "gpu-aware-weight", namespace=PAGE_NAMESPACE), change)
        async with asyncio.timeout(PATIENCE):
            while "the weights are now score 1.0, loss 3" not in cluster.box.log(SECOND):
                await asyncio.sleep(0.05)
        assert "cannot be followed" not in cluster.box.log(SECOND)
    finally:
        await cluster.box.stop(SECOND)
        assert (await kubectl("delete", "namespace", PAGE_NAMESPACE, "--wait=false")).status == 0
