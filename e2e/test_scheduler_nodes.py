"""Which node and which cards: policies, links, health and agents, over nodes that exist only as objects."""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from builders.clusters import card
from e2e.agent_view_kit import GPU, SGPU, VCORE, VMEMORY, WHOLE_GIVEN, cards_in
from e2e.card_nodes_kit import TWO_GROUPS, Pool, agent_node, pooled
from e2e.scheduler_kit import (
    CARD_POLICY,
    NODE_POLICY,
    Placement,
    annotations_of,
    only_card,
    slices_in,
    until_bound,
    until_waiting,
)
from tangram.wire.inventory import INVENTORY
from testbed.api import Object, path_of
from testbed.cluster import Cluster

pytestmark = pytest.mark.xdist_group("scheduler over object nodes")

Unique = Callable[[str], str]
SCOPE = "tangram.dev/required-scope"
CORDONED = "hami.io/device-cordon"
AGENT = "tangram.dev/agent"
SMALL: dict[str, str | int] = {SGPU: 1, VCORE: 10, VMEMORY: 4}


def part(percent: int, gib: int = 1) -> dict[str, str | int]:
    return {SGPU: 1, VCORE: percent, VMEMORY: gib}


def whole(seen: Object) -> list[int]:
    """The numbers of the whole cards a bound pod was given."""
    return sorted(
        int(uuid.rpartition("-")[2]) for row in cards_in(annotations_of(seen)[WHOLE_GIVEN]) for uuid in row
    )


def one_group(numbers: list[int]) -> bool:
    return len({number // 4 for number in numbers}) == 1


@pytest_asyncio.fixture
async def servers(object_fleet: Cluster, unique: Unique) -> AsyncIterator[Pool]:
    """Two servers of eight whole cards in two linked groups, four cards of each in use.

    On the first what is free is split over both groups, on the second it is one group.
    """
    name = unique("servers")
    split, intact = f"{name}-a-split", f"{name}-b-intact"
    nodes = [agent_node(node, 8, whole=True, topology=TWO_GROUPS) for node in (split, intact)]
    async with pooled(object_fleet, name, nodes) as pool:
        for node, across in ((split, True), (intact, False)):
            held = [await pool.fill(f"{node}-{n}", node, {GPU: 2}) for n in range(4)]
            assert all(one_group(whole(each)) for each in held)
            first = held[0]
            others = [each for each in held[1:] if one_group(whole(first) + whole(each)) is not across]
            await pool.end(first, others[0])
        yield pool


# ---- between nodes


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("policy", "nodes"), [pytest.param("binpack", 1, id="binpack"), pytest.param("spread", 3, id="spread")]
)
async def test_the_node_policy_packs_slices_on_one_node_or_spreads_them_over_all(
    object_fleet: Cluster, unique: Unique, policy: str, nodes: int
) -> None:
    name = unique(policy)
    async with pooled(object_fleet, name, [agent_node(f"{name}-{n}") for n in range(3)]) as pool:
        landed = await pool.landed(*(pool.pod(f"{n}", SMALL, **{NODE_POLICY: policy}) for n in range(3)))
        assert len(set(landed)) == nodes


async def test_spread_goes_to_the_node_whose_cards_are_best_connected(servers: Pool) -> None:
    seen = await servers.bound(servers.pod("four", {GPU: 4}, **{NODE_POLICY: "spread"}))
    assert seen["spec"]["nodeName"].endswith("intact")
    assert one_group(whole(seen))


async def test_binpack_goes_where_the_least_is_torn_out_of_what_stays_free(servers: Pool) -> None:
    seen = await servers.bound(servers.pod("two", {GPU: 2}, **{NODE_POLICY: "binpack"}))
    assert seen["spec"]["nodeName"].endswith("split")
    assert one_group(whole(seen))
    # The group of four is still there for whoever needs it.
    seen = await servers.bound(servers.pod("four", {GPU: 4}, **{NODE_POLICY: "binpack"}))
    assert seen["spec"]["nodeName"].endswith("intact")


async def test_a_pod_that_must_have_linked_cards_waits_rather_than_take_others(servers: Pool) -> None:
    linked = {SCOPE: "link"}
    seen = await servers.bound(servers.pod("first", {GPU: 4}, **linked))
    assert one_group(whole(seen))
    second = servers.pod("second", {GPU: 4}, **linked)
    await servers.cluster.api.create(second)
    await until_waiting(servers.cluster, second["metadata"]["name"])
    seen = await servers.bound(servers.pod("anyhow", {GPU: 4}))
    assert not one_group(whole(seen))


async def test_frag_leaves_the_room_that_pods_of_late_could_use(
    fleet_placement: Placement, unique: Unique
) -> None:
    # What it expects it learned from the pods of late; a new one has seen none.
    await fleet_placement.stop()
    await fleet_placement.start()
    name = unique("frag")
    fuller, exact = f"{name}-a", f"{name}-b"
    async with pooled(fleet_placement.cluster, name, [agent_node(fuller), agent_node(exact)]) as pool:
        # 40 % are left on the fuller node, room for one more of the kind that comes; on the other a card has 30 %.
        await pool.fill("a0", fuller, part(40), 0)
        await pool.fill("a0-more", fuller, part(20), 0)
        await pool.fill("a1", fuller, part(100), 1)
        await pool.fill("b0", exact, part(70), 0)
        packed = await pool.bound(
            pool.pod("packed", part(30), **{NODE_POLICY: "binpack", CARD_POLICY: "binpack"})
        )
        assert packed["spec"]["nodeName"] == fuller
        await pool.end(packed)
        kept = await pool.bound(pool.pod("kept", part(30), **{NODE_POLICY: "frag", CARD_POLICY: "binpack"}))
        assert only_card(kept) == f"GPU-{exact}-0"


async def test_a_pods_preference_for_nodes_comes_before_the_policy(
    object_fleet: Cluster, unique: Unique
) -> None:
    name = unique("wish")
    async with pooled(object_fleet, name, [agent_node(f"{name}-{n}") for n in range(3)]) as pool:
        await pool.fill("full", f"{name}-0", SMALL)
        made = pool.pod("wishes", SMALL)
        wish = {
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [f"{name}-2"]}]
        }
        made["spec"]["affinity"] = {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": wish}]
            }
        }
        assert await pool.landed(made) == [f"{name}-2"]


# ---- between cards


async def test_slices_of_two_cards_go_where_the_policy_says_or_where_the_links_are(
    object_fleet: Cluster, unique: Unique
) -> None:
    name = unique("links")
    node = f"{name}-0"
    async with pooled(object_fleet, name, [agent_node(node, 8, topology=TWO_GROUPS)]) as pool:
        for number in (0, 1, 2, 4, 5, 6):
            await pool.fill(f"used-{number}", node, SMALL, number)
        two = {SGPU: 2, VCORE: 10, VMEMORY: 4}

        async def groups(policy: str) -> int:
            seen = await pool.bound(pool.pod(policy, two, **{CARD_POLICY: policy}))
            (row,) = slices_in(seen)
            await pool.end(seen)
            return len({int(uuid.rpartition("-")[2]) // 4 for uuid, _, _ in row})

        # The two least used cards are of different groups.
        assert await groups("spread") == 2
        assert await groups("topology-aware") == 1


async def test_a_cordoned_card_and_a_failed_one_get_no_pods_until_they_are_back(
    object_fleet: Cluster, unique: Unique
) -> None:
    name = unique("health")
    node = f"{name}-0"
    cards = [card(node, number, healthy=number != 1) for number in range(3)]
    announced = agent_node(node, cards=cards)
    announced["metadata"]["annotations"][CORDONED] = f"GPU-{node}-0"
    async with pooled(object_fleet, name, [announced]) as pool:
        half = part(50)
        assert only_card(await pool.bound(pool.pod("one", half))) == f"GPU-{node}-2"
        assert only_card(await pool.bound(pool.pod("two", half))) == f"GPU-{node}-2"
        third = pool.pod("three", half)
        await object_fleet.api.create(third)
        await until_waiting(object_fleet, third["metadata"]["name"])
        await pool.annotate(node, {CORDONED: None})
        assert only_card(await until_bound(object_fleet, third["metadata"]["name"])) == f"GPU-{node}-0"
        well = agent_node(node, cards=[card(node, number) for number in range(3)])
        await pool.annotate(node, {INVENTORY: annotations_of(well)[INVENTORY]})
        await pool.until_node_says(node, INVENTORY, annotations_of(well)[INVENTORY])
        full = pool.pod("four", part(100))
        await object_fleet.api.create(full)
        assert only_card(await until_bound(object_fleet, full["metadata"]["name"])) == f"GPU-{node}-1"


# ---- agents


async def test_a_node_whose_agent_is_about_to_stop_gets_no_pods(
    object_fleet: Cluster, unique: Unique
) -> None:
    name = unique("leaving")
    leaving, staying = f"{name}-a", f"{name}-b"
    nodes = [agent_node(leaving), agent_node(staying)]
    nodes[0]["metadata"]["annotations"][AGENT] = "stopping"
    async with pooled(object_fleet, name, nodes) as pool:
        assert await pool.landed(*(pool.pod(f"{n}", part(100)) for n in range(2))) == [staying, staying]
        late = pool.pod("late", part(100))
        await object_fleet.api.create(late)
        await until_waiting(object_fleet, late["metadata"]["name"])
        await pool.annotate(leaving, {AGENT: "serving"})
        assert (await until_bound(object_fleet, late["metadata"]["name"]))["spec"]["nodeName"] == leaving


async def test_what_ended_pods_held_is_there_for_others_though_their_objects_stay(
    object_fleet: Cluster, unique: Unique
) -> None:
    name = unique("ended")
    async with pooled(object_fleet, name, [agent_node(f"{name}-0", 1)]) as pool:
        first = await pool.bound(pool.pod("first", part(100, 64)))
        second = pool.pod("second", part(100, 64))
        await object_fleet.api.create(second)
        await until_waiting(object_fleet, second["metadata"]["name"])
        path = path_of("Pod", first["metadata"]["name"]) + "/status"
        await object_fleet.api.patch(path, {"status": {"phase": "Succeeded"}})
        await until_bound(object_fleet, second["metadata"]["name"])


async def test_a_pod_that_is_refused_while_room_is_freed_is_not_left_parked(
    object_fleet: Cluster, unique: Unique
) -> None:
    # kube-scheduler asks the moment it hears, at times before our own copy has; each round is another chance for that.
    name = unique("parked")
    nodes = [agent_node(f"{name}-{n}", 1) for n in range(20)]
    async with pooled(object_fleet, name, nodes) as pool:
        full = part(100, 64)
        held = [await pool.fill(f"held-{n}", f"{name}-{n}", full) for n in range(20)]
        for number, one in enumerate(held):
            late = pool.pod(f"late-{number}", full)
            await object_fleet.api.create(late)
            await until_waiting(object_fleet, late["metadata"]["name"])
            await object_fleet.api.delete(path_of("Pod", one["metadata"]["name"]), grace=0)
            await until_bound(object_fleet, late["metadata"]["name"])
