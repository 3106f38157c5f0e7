"""Why a pod waits, where it would go and what runs, asked of a live cluster: of the pod itself, by the command, over
the scheduler's own door with real tokens.
"""

import functools
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from builders.clusters import card
from e2e.agent_view_kit import SGPU, VCORE, VMEMORY
from e2e.card_nodes_kit import CARD_MIB, Pool, agent_node, empty, pooled
from e2e.explain_kit import Asking, Person, emptied, let_read_pods, let_scrape, only
from e2e.restarts_kit import PATIENCE
from e2e.scheduler_kit import NODE_POLICY, Placement, events_of, slices_in, until_waiting
from e2e.scheduling_kit import is_refused, poll_until
from testbed import kwok
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.manifests import is_bound

pytestmark = pytest.mark.xdist_group("explain")

Unique = Callable[[str], str]
FAILED = "FilteringFailed"
WRITES, PROMISES = "tangram_scheduler_api_writes_total", "tangram_scheduler_promises_total"
CORDONED = "hami.io/device-cordon"
QOS = "metax-tech.com/sgpu-qos-policy"


def part(percent: int, gib: int = 1, cards: int = 1) -> dict[str, str | int]:
    return {SGPU: cards, VCORE: percent, VMEMORY: gib}


@pytest_asyncio.fixture(scope="module")
async def asking(
    fleet_placement: Placement, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Asking]:
    asked = Asking(fleet_placement.cluster, tmp_path_factory.mktemp("asking"))
    await asked.begin()
    yield asked


# ---- why it waits


async def crowded(pool: Pool) -> None:
    """Fill the nodes whose names say what is lacking there."""
    fixed = {QOS: "fixed-share"}
    for word, limits, annotations in (
        ("memory", part(10, 40), fixed),
        ("compute", part(80, 1), fixed),
        ("policy", part(10, 1), {QOS: "burst-share"}),
        ("slots", part(10, 1), fixed),
    ):
        for number in range(2):
            made = pool.pod(f"{word}-{number}", limits, **annotations)
            node = f"{pool.name}-{word}"
            made["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node
            made["metadata"]["annotations"]["metax-tech.com/use-gpuuuid"] = f"GPU-{node}-{number}"
            await pool.bound(made)


def lacking(name: str) -> list[Object]:
    """A node for each reason why two slices may not be had; `crowded` and `wanting` do the rest."""
    nodes = [agent_node(f"{name}-{word}") for word in ("memory", "compute", "policy", "excluded")]
    cordoned = agent_node(f"{name}-cordoned")
    cordoned["metadata"]["annotations"][CORDONED] = ",".join(f"GPU-{name}-cordoned-{n}" for n in range(2))
    bare = kwok.fake_node(1)
    bare["metadata"]["name"] = bare["metadata"]["labels"]["kubernetes.io/hostname"] = f"{name}-bare"
    nodes += [cordoned, bare, agent_node(f"{name}-whole", whole=True), agent_node(f"{name}-single", 1)]
    for word, kind in (
        ("ill", functools.partial(card, healthy=False)),
        ("other", functools.partial(card, product="MXC280")),
        ("slots", functools.partial(card, slots=1)),
    ):
        node = f"{name}-{word}"
        nodes.append(agent_node(node, cards=[kind(node, number) for number in range(2)]))
    for node in nodes:
        # kube-scheduler counts slots; every node has enough, so that all are offered to us.
        for amounts in ("allocatable", "capacity"):
            node["status"][amounts] = node["status"][amounts] | {SGPU: "32"}
    return nodes


def wanting(pool: Pool, name: str, percent: int = 50) -> Object:
    made = pool.pod(name, part(percent, 32, cards=2), **{QOS: "fixed-share"})
    made["metadata"]["annotations"] |= {
        "metax-tech.com/nouse-gputype": "MXC280",
        "metax-tech.com/nouse-gpuuuid": ",".join(f"GPU-{pool.name}-excluded-{n}" for n in range(2)),
    }
    return made


async def test_a_pod_that_waits_says_why_on_itself_and_to_whoever_asks_and_what_is_suggested_works(
    object_fleet: Cluster, asking: Asking, unique: Unique
) -> None:
    name = unique("why")
    async with pooled(object_fleet, name, lacking(name)) as pool:
        await crowded(pool)
        pod = wanting(pool, "waits")
        pod_name = pod["metadata"]["name"]
        await object_fleet.api.create(pod)
        message = await until_waiting(object_fleet, pod_name)

        # kube-scheduler joins what each node was refused for.
        told = re.findall(r"\d+ ((?:Card|Node)\w+ \([^)]*\)|other reasons)", message)
        assert len(told) == len(set(told)) == 8, message
        assert "CardInsufficientMemory (cards have too little free memory)" in told
        assert "NodeInsufficientDevice (too few cards of the kind asked)" in told
        assert "other reasons" in told
        events = await failures_told(object_fleet, pod_name, f"1 nodes CardInsufficientMemory({name}-memory)")
        assert any(one.startswith("no available node, 11 nodes") for one in events)
        assert len(events) <= 9

        local = only(await asking.locally(pod_name, "-o", "json"), status=1)
        person = await asking.person(name, "reader")
        await let_read_pods(object_fleet.api, person)
        asked = only(await asking.server(person, pod_name, "-n", "default", "-o", "json"), status=1)
        assert (local["verdict"], local["reasons"]) == (asked["verdict"], asked["reasons"])
        assert local["verdict"] == "waits"
        assert asked["last"]["stage"] == "filter"
        assert asked["last"]["words"]["CardInsufficientMemory"] == 1
        assert asked["last"]["words"]["NodeInsufficientDevice"] == 3
        assert "cards have too little free memory" in asked["last"]["sentence"]
        cards = {each["node"]: each["cards"] for each in asked["nodes"]}
        assert {each["verdict"] for each in cards[f"{name}-memory"]} == {"memory"}
        assert cards[f"{name}-memory"][0]["have"] == 24 << 30

        (advice,) = [one for one in asked["suggestions"] if "20 compute" in one["sentence"]]
        seen = await pool.bound(wanting(pool, "advised", 20))
        assert seen["spec"]["nodeName"] == advice["node"] == f"{name}-compute"


async def failures_told(cluster: Cluster, pod_name: str, one_of_them: str) -> list[str]:
    """What `kubectl describe` shows of our refusals, once it shows all: events are written after the answer."""
    found: list[str] = []

    async def told() -> bool:
        events = await events_of(cluster, pod_name)
        found[:] = [one["message"] for one in events if one["reason"] == FAILED]
        return one_of_them in found and any(one.startswith("no available node") for one in found)

    await poll_until(told, within=PATIENCE, what="the events of the refusal")
    return found


# ---- who may ask


async def test_a_tenant_is_told_about_its_own_pod_and_never_the_names_of_others(
    object_fleet: Cluster, asking: Asking, unique: Unique
) -> None:
    name = unique("tenants")
    mine, theirs = f"{name}-mine", f"{name}-theirs"
    tenant, neighbour = await asking.person(mine, "tenant"), await asking.person(theirs, "neighbour")
    await let_read_pods(object_fleet.api, tenant, mine)
    async with (
        pooled(object_fleet, name, [agent_node(f"{name}-0", 1)]) as pool,
        emptied(object_fleet, mine, theirs),
    ):
        holder = in_namespace(pool.pod("secret-project", part(100, 64)), theirs)
        await object_fleet.api.create(holder)
        await object_fleet.until_pod(
            holder["metadata"]["name"], is_bound, namespace=theirs, within=PATIENCE, what="the holder bound"
        )
        waits = in_namespace(pool.pod("waits", part(50)), mine)
        await object_fleet.api.create(waits)
        pod_name = waits["metadata"]["name"]
        await object_fleet.until_pod(
            pod_name, is_refused, namespace=mine, within=PATIENCE, what="the pod waiting"
        )
        for form in ("json", "table"):
            told = await asking.server(tenant, pod_name, "-n", mine, "-o", form, "--all-cards")
            assert told.status == 1, told.errors
            assert "secret" not in told.output
            assert theirs not in told.output
        holders = [
            holder
            for node in only(await asking.server(tenant, pod_name, "-n", mine, "-o", "json"), status=1)[
                "nodes"
            ]
            for each in node["cards"]
            for holder in each["holders"]
        ]
        assert holders == ["a pod of another namespace"]

        # Not of the neighbour's pods, whether they exist or not, nor by a manifest for the neighbour's namespace.
        for word in ("secret-project", "no-such-pod"):
            refused = await asking.server(tenant, f"{name}-{word}", "-n", theirs)
            assert refused.status == 2
            assert f"answers 403: '{tenant.user}' may not get pods in namespace '{theirs}'" in refused.errors
        manifest = json.dumps(in_namespace(pool.pod("trojan", part(10)), theirs))
        refused = await asking.server(tenant, "-f", "-", stdin=manifest)
        assert refused.status == 2
        assert "answers 403" in refused.errors
        # An account without rights, and one that this cluster does not know.
        refused = await asking.server(neighbour, holder["metadata"]["name"], "-n", theirs)
        assert f"'{neighbour.user}' may not get pods in namespace '{theirs}'" in refused.errors
        neighbour.token_file.write_text("made.up.token")
        refused = await asking.server(neighbour, holder["metadata"]["name"], "-n", theirs)
        assert "answers 401" in refused.errors
        assert "the token is not one of this cluster" in refused.errors


# ---- a dry run


@pytest.mark.parametrize("policy", ["binpack", "spread"])
async def test_where_a_manifest_is_said_to_go_is_where_it_goes(
    object_fleet: Cluster, asking: Asking, unique: Unique, policy: str
) -> None:
    name = unique(f"dry-{policy}")
    reader = await asking.person(name, "reader")
    await let_read_pods(object_fleet.api, reader)
    async with pooled(object_fleet, name, [agent_node(f"{name}-{n}", 2) for n in range(3)]) as pool:
        await pool.fill("some", f"{name}-1", part(30, 20), 0)
        before = len(await pool.pods())
        made = pool.pod("new", part(20, 8, cards=2), **{NODE_POLICY: policy})
        manifest = json.dumps(made)
        said = [
            only(await asking.locally("-f", "-", "-o", "json", stdin=manifest), status=0),
            only(await asking.server(reader, "-f", "-", "-o", "json", stdin=manifest), status=0),
        ]
        assert len(await pool.pods()) == before, "nothing was made"
        seen = await pool.bound(made)
        given = {(uuid, mib << 20, percent) for row in slices_in(seen) for uuid, mib, percent in row}
        for each in said:
            (main,) = each["containers"]
            assert each["node"] == seen["spec"]["nodeName"]
            assert {(one["uuid"], one["memory"], one["cores"]) for one in main["cards"]} == given
        runs = only(
            await asking.server(reader, made["metadata"]["name"], "-n", "default", "-o", "json"), status=0
        )
        assert (runs["verdict"], runs["node"]) == ("runs", seen["spec"]["nodeName"])


async def test_a_manifest_that_would_wait_or_be_refused_says_so_before_it_is_made(
    object_fleet: Cluster, asking: Asking, unique: Unique
) -> None:
    name = unique("dry-no")
    async with pooled(object_fleet, name, [agent_node(f"{name}-0", 1)]) as pool:
        large = pool.pod("large", part(10, 65))
        said = only(await asking.locally("-f", "-", "-o", "json", stdin=json.dumps(large)), status=1)
        assert said["verdict"] == "waits"
        await object_fleet.api.create(large)
        message = await until_waiting(object_fleet, large["metadata"]["name"])
        assert "CardInsufficientMemory" in message
        odd = pool.pod("odd", {SGPU: 1, VCORE: 101})
        said = only(await asking.locally("-f", "-", "-o", "json", stdin=json.dumps(odd)), status=1)
        assert said["verdict"] == "refused"


# ---- what runs


async def test_metrics_need_the_right_to_read_them_and_their_sums_are_what_runs(
    object_fleet: Cluster, asking: Asking, unique: Unique
) -> None:
    name = unique("metrics")
    scraper, other = await asking.person(name, "scraper"), await asking.person(name, "other")
    await let_scrape(object_fleet.api, scraper)
    async with pooled(object_fleet, name, [agent_node(f"{name}-{n}", 2) for n in range(2)]) as pool:
        before = await samples(asking, scraper)
        for number, limits in enumerate((part(20, 8), part(30, 16), part(50, 4, cards=2))):
            await pool.bound(pool.pod(f"{number}", limits))
        late = pool.pod("late", part(10, 65))
        await object_fleet.api.create(late)
        await until_waiting(object_fleet, late["metadata"]["name"])
        page = await samples(asking, scraper)
        held = [row for one in await pool.pods() if is_bound(one) for row in slices_in(one)]
        by_pod = page["hami_vgpu_memory_allocated_bytes"]
        assert by_pod.total() == sum(mib << 20 for row in held for _, mib, _ in row)
        assert page["hami_gpu_memory_allocated_bytes"].total() == by_pod.total()
        assert page["hami_gpu_core_allocated_ratio"].total() == sum(
            cores for row in held for _, _, cores in row
        )
        assert page["hami_gpu_memory_limit_bytes"].total() == 4 * (CARD_MIB << 20)
        assert page["hami_gpu_shared_count"].total() == sum(len(row) for row in held)
        labels = next(one for one in by_pod if f'pod="{name}-0"' in one)
        assert 'namespace="default"' in labels
        assert f'node="{name}-' in labels
        for family, labels in ((WRITES, '{object="binding"}'), (PROMISES, '{end="bound"}')):
            assert page[family][labels] - before[family][labels] == 3
        assert page[WRITES].total() - before[WRITES].total() == 3, "each came alone, and was written once"
        assert page["tangram_scheduler_waiting_pods"].total() == 1
        assert page["tangram_scheduler_pending_pods"]['{reason="CardInsufficientMemory"}'] == 1

    for person, status, sentence in (
        (other, "403", f"'{other.user}' may not get the non-resource URL /metrics"),
        (None, "401", "no token was sent"),
    ):
        done = await asking.page("/metrics", person)
        assert done.output.startswith(status)
        assert sentence in done.output


async def samples(asking: Asking, person: Person) -> dict[str, Counter[str]]:
    """The page of metrics: by name, the value of each set of labels."""
    status, _, page = (await asking.page("/metrics", person)).output.partition("\n")
    assert status == "200", page
    found: dict[str, Counter[str]] = {}
    for line in page.splitlines():
        if line and not line.startswith("#"):
            head, value = line.rsplit(" ", 1)
            name, brace, labels = head.partition("{")
            found.setdefault(name, Counter())[brace + labels] = round(float(value))
    return found


# ---- policies


async def test_an_edit_of_the_policy_counts_for_the_next_pods_and_a_slip_changes_nothing(
    fleet_placement: Placement, asking: Asking, unique: Unique
) -> None:
    name, placement = unique("policy"), fleet_placement
    scraper = await asking.person(name, "scraper")
    await let_scrape(placement.cluster.api, scraper)
    file = asking.folder / "scheduler.yaml"
    file.write_text("tangram: scheduler/v1\nnodePolicy: binpack\n")
    await placement.stop()
    await placement.start("--config", str(file))
    try:
        async with pooled(placement.cluster, name, [agent_node(f"{name}-{n}") for n in range(3)]) as pool:

            async def nodes_of_three(word: str) -> int:
                landed = await pool.landed(*(pool.pod(f"{word}-{n}", part(10)) for n in range(3)))
                await empty(pool)
                return len(set(landed))

            async def until_counted(how: str) -> Counter[str]:
                async def counted() -> bool:
                    page = await samples(asking, scraper)
                    return page["tangram_scheduler_config_reloads_total"][f'{{outcome="{how}"}}'] == 1

                await poll_until(counted, within=PATIENCE, what=f"an edit {how}")
                return (await samples(asking, scraper))["tangram_scheduler_config_refused"]

            assert await nodes_of_three("packed") == 1
            replace(file, "tangram: scheduler/v1\nnodePolicy: spread\n")
            assert (await until_counted("taken")).total() == 0
            assert await nodes_of_three("spread") == 3
            replace(file, "tangram: scheduler/v1\nnodePolicy: tidy\n")
            assert (await until_counted("refused")).total() == 1
            assert "200 OK" in await placement.page("/readyz")
            assert await nodes_of_three("still-spread") == 3
            assert "tidy" in placement.log()
    finally:
        await placement.stop()
        await placement.start()


def replace(file: Path, text: str) -> None:
    """As the kubelet does: another file in its place."""
    beside = file.with_suffix(".new")
    beside.write_text(text)
    beside.replace(file)


def in_namespace(made: Object, namespace: str) -> Object:
    made["metadata"]["namespace"] = namespace
    return made
