"""Our scheduler on nodes that Koordinator describes: its annotations and lock, Devices, amounts, debug API."""

import json
import re
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from builders.described_nodes import device_manifest
from e2e.agent_kit import agent_node
from e2e.agent_view_kit import NODE_LOCK, SGPU, empty, running
from e2e.agent_watch_kit import until_counts
from e2e.card_nodes_kit import Pool, pooled
from e2e.card_nodes_kit import agent_node as node_of_an_agent
from e2e.closed_plugin_kit import lock_of
from e2e.explain_kit import Asking
from e2e.scheduler_kit import annotations_of, placing, until_bound, until_waiting
from e2e.scheduling_kit import poll_until
from tangram.wire.koordinator.definition import device_definition
from testbed import kwok
from testbed.api import Object, path_of
from testbed.cluster import Cluster
from testbed.manifests import container, pod
from testbed.options import Options

pytestmark = pytest.mark.xdist_group("koordinator's nodes")

Unique = Callable[[str], str]
DEVICES = "/apis/scheduling.koordinator.sh/v1alpha1/devices"
SUMMARIES = "/apis/v1/plugins/DeviceShare/nodeDeviceSummaries"
ALLOCATED = "scheduling.koordinator.sh/device-allocated"
TENTH: dict[str, str | int] = {
    "koordinator.sh/gpu.shared": 1,
    "koordinator.sh/gpu-core": 10,
    "koordinator.sh/gpu-memory": "4Gi",
    SGPU: 1,
}


@pytest_asyncio.fixture(scope="module")
async def described_fleet() -> AsyncIterator[Cluster]:
    """Nodes as objects, Koordinator's kind of object, and our scheduler."""
    async with Cluster.open(Options(nodes=0, kwok_nodes=1)) as cluster:
        done = await cluster.kubectl("apply", "-f", "-", stdin=json.dumps(device_definition()))
        assert done.status == 0, done.errors

        async def served() -> bool:
            return (await cluster.kubectl("get", "devices")).status == 0

        await poll_until(served, what="the kind Device")
        async with placing(cluster):
            yield cluster


@pytest_asyncio.fixture
async def closed(described_fleet: Cluster, unique: Unique) -> AsyncIterator[Pool]:
    """One node of a closed plugin, called as its pool, of whose two cards only its Device tells."""
    name = unique("described")
    made = kwok.fake_node(1)
    made["metadata"]["name"] = name
    made["metadata"]["labels"]["kubernetes.io/hostname"] = name
    for part in ("allocatable", "capacity"):
        made["status"][part] = made["status"][part] | {SGPU: "32"}
    async with pooled(described_fleet, name, [made]) as pool:
        await described_fleet.api.call("POST", DEVICES, device_manifest(name))
        yield pool
        await described_fleet.api.delete(f"{DEVICES}/{name}")


async def served(pool: Pool) -> None:
    """The plugin has served the last pod."""
    await pool.annotate(pool.name, {NODE_LOCK: None})


def given_minor(seen: Object) -> int:
    (device,) = json.loads(annotations_of(seen)[ALLOCATED])["gpu"]
    return device["minor"]


@pytest.mark.smoke
async def test_a_pod_in_koordinators_words_on_a_described_node_gets_what_koord_scheduler_writes(
    closed: Pool,
) -> None:
    seen = await closed.bound(closed.pod("slice", TENTH))
    written, node = annotations_of(seen), closed.name
    minor = given_minor(seen)
    assert written[ALLOCATED] == (
        f'{{"gpu":[{{"minor":{minor},"resources":{{"koordinator.sh/gpu-core":"10","koordinator.sh/gpu-memory":"4Gi",'
        f'"koordinator.sh/gpu-memory-ratio":"6"}},"id":"GPU-{node}-{minor}"}}]}}'
    )
    assert written["metax-tech.com/gpu-devices-allocated"] == (
        f'[[{{"uuid":"GPU-{node}-{minor}","compute":10,"vRam":4096}}]]'
    )
    assert written["scheduling.koordinator.sh/gpu-minors"] == str(minor)
    assert re.fullmatch(r"[0-9]{19}", written["scheduling.koordinator.sh/bind-timestamp"])
    taken = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9:]{{8}}Z,default,{node}-slice"
    assert re.fullmatch(taken, await lock_of(closed.cluster, node))


async def test_a_card_that_its_device_calls_sick_is_avoided_though_the_node_said_nothing(
    closed: Pool,
) -> None:
    first = given_minor(await closed.bound(closed.pod("first", TENTH)))
    await served(closed)
    before = (await closed.cluster.api.get(path_of("Node", closed.name)))["metadata"]["resourceVersion"]
    sick = device_manifest(closed.name, sick=[first])["spec"]
    await closed.cluster.api.patch(f"{DEVICES}/{closed.name}", {"spec": sick})
    found = (await closed.cluster.api.get(path_of("Node", closed.name)))["metadata"]["resourceVersion"]
    assert found == before
    assert given_minor(await closed.bound(closed.pod("second", TENTH))) == 1 - first
    await served(closed)
    sick = device_manifest(closed.name, sick=[0, 1])["spec"]
    await closed.cluster.api.patch(f"{DEVICES}/{closed.name}", {"spec": sick})
    waiting = closed.pod("third", TENTH)
    await closed.cluster.api.create(waiting)
    await until_waiting(closed.cluster, waiting["metadata"]["name"])
    await closed.cluster.api.patch(f"{DEVICES}/{closed.name}", {"spec": device_manifest(closed.name)["spec"]})
    await until_bound(closed.cluster, waiting["metadata"]["name"])


async def test_a_pod_in_metaxs_words_tells_koord_scheduler_what_it_holds(closed: Pool) -> None:
    limits: dict[str, str | int] = {SGPU: 1, "metax-tech.com/vcore": 5, "metax-tech.com/vmemory": 5}
    seen = await closed.bound(closed.pod("slice", limits))
    (device,) = json.loads(annotations_of(seen)[ALLOCATED])["gpu"]
    assert device["resources"] == {
        "koordinator.sh/gpu-core": "5",
        "koordinator.sh/gpu-memory": "5Gi",
        "koordinator.sh/gpu-memory-ratio": "8",
    }


async def test_the_debug_api_tells_of_every_node_with_cards_to_those_who_may_read_them(
    closed: Pool, unique: Unique, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cluster, other = closed.cluster, unique("agents")
    asked = Asking(cluster, tmp_path_factory.mktemp("asking"))
    await asked.begin()
    person = await asked.person("watchers", "reader")
    async with pooled(cluster, other, [node_of_an_agent(other, 1)]):
        seen = await closed.bound(closed.pod("slice", TENTH))
        refused = (await asked.page(SUMMARIES, person)).output
        assert refused.startswith("403\n")
        assert "may not list nodes and list pods of all namespaces" in refused
        for words in (
            ("clusterrole", "watcher", "--verb=get,list", "--resource=nodes,pods"),
            ("clusterrolebinding", "watcher", "--clusterrole=watcher", "--serviceaccount=watchers:reader"),
        ):
            assert (await cluster.kubectl("create", *words)).status == 0

        async def allowed() -> bool:
            return (await asked.page(SUMMARIES, person)).output.startswith("200\n")

        await poll_until(allowed, what="the right to read nodes")
        every = json.loads((await asked.page(SUMMARIES, person)).output.partition("\n")[2])
        assert set(every) == {closed.name, other}
        assert every[other]["deviceTotal"]["koordinator.sh/gpu-core"] == "100"
        one = json.loads((await asked.page(f"{SUMMARIES}/{closed.name}", person)).output.partition("\n")[2])
        taken = {
            "koordinator.sh/gpu-core": "10",
            "koordinator.sh/gpu-memory": "4Gi",
            "koordinator.sh/gpu-memory-ratio": "6",
        }
        assert one == every[closed.name]
        assert one["allocateSet"] == {
            "gpu": {f"default/{closed.name}-slice": {str(given_minor(seen)): taken}}
        }
        missing = (await asked.page(f"{SUMMARIES}/nowhere", person)).output
        assert missing.startswith("404\n")
        assert "cannot find node nowhere" in missing


async def test_what_the_kubelet_would_refuse_is_not_placed_and_goes_once_the_node_states_enough(
    bed: Cluster,
) -> None:
    cards = "tangram: cards/v1\ncards:\n- {product: C500, count: 1, sliced: true}\n"
    core = "koordinator.sh/gpu-core"

    async def state(amount: str | None) -> None:
        change = {"status": {"allocatable": {core: amount}, "capacity": {core: amount}}}
        await bed.api.patch(f"{path_of('Node', node.name)}/status", change)

    async with placing(bed), agent_node(bed, cards, mode="mode: sgpu\n") as node:
        await until_counts(node, SGPU, 16, 16, fresh=True)
        await state("5")
        try:
            bypassing = pod("bypassing", container(limits=TENTH), node=str(node.name))
            await bed.api.create(bypassing)
            failed = await bed.until_pod("bypassing", lambda seen: seen["status"].get("phase") == "Failed")
            assert failed["status"]["reason"] == f"OutOf{core}"
            await bed.api.create(pod("placed", container(limits=TENTH), scheduler="tangram-scheduler"))
            told = await until_waiting(bed, "placed", "NodeInsufficientKoordinatorAmount")
            assert "OutOf" not in told
            await state("100")
            await running(node, "placed")
        finally:
            await empty(node)
            await state(None)
