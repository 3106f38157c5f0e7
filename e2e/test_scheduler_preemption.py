"""Room for the more important, over nodes that exist only as objects: who goes, who stays, and who gets the room.

Whole cards and slots are counted by kube-scheduler: it names victims, and our verb corrects them. Shares are counted by
us alone, and there our scheduler evicts by itself.
"""

from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from builders.clusters import grouped
from e2e.agent_view_kit import GPU, SGPU, VCORE, VMEMORY, WHOLE_GIVEN, cards_in
from e2e.card_nodes_kit import Pool, agent_node, pooled
from e2e.priorities_kit import (
    HIGH,
    LOW,
    MIDDLE,
    POLITE,
    budget,
    held,
    make_priorities,
    name_of,
    names_left,
    ranked,
    until_gone,
)
from e2e.scheduler_kit import Placement, annotations_of, only_card, until_bound, until_waiting
from testbed.api import Object, path_of
from testbed.cluster import Cluster

pytestmark = pytest.mark.xdist_group("preemption over object nodes")

Unique = Callable[[str], str]
USE = "metax-tech.com/use-gpuuuid"
SCOPE = "tangram.dev/required-scope"
PAIRS = grouped(4, [(0, 1), (2, 3)])


def part(percent: int, gib: int = 1) -> dict[str, str | int]:
    return {SGPU: 1, VCORE: percent, VMEMORY: gib}


def whole(seen: Object) -> list[int]:
    """The numbers of the whole cards a bound pod was given."""
    return sorted(
        int(uuid.rpartition("-")[2]) for row in cards_in(annotations_of(seen)[WHOLE_GIVEN]) for uuid in row
    )


@pytest_asyncio.fixture(scope="module")
async def fleet_with_ranks(fleet_placement: Placement) -> AsyncIterator[Cluster]:
    await make_priorities(fleet_placement.cluster.api)
    yield fleet_placement.cluster


async def nobody_went_for(pool: Pool, made: Object, beside: str) -> None:
    """The pod waits, and nobody has to go for it: one that came after it has had its victim on another node since."""
    await until_waiting(pool.cluster, name_of(made))
    await held(pool, "victim", beside, part(100))
    await held(pool, "marker", beside, part(100), priority=HIGH)
    seen = await pool.cluster.api.get(path_of("Pod", name_of(made)))
    assert not seen["spec"].get("nodeName")


# ---- what kube-scheduler counts


@pytest.mark.smoke
async def test_the_one_whose_card_is_wanted_goes_and_not_the_one_that_kube_scheduler_named(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("wanted")
    node = f"{name}-0"
    async with pooled(fleet_with_ranks, name, [agent_node(node, 2, whole=True)]) as pool:
        await held(pool, "cheap", node, {GPU: 1}, 0)
        dear = await held(pool, "dear", node, {GPU: 1}, 1, priority=MIDDLE)
        seen = await pool.bound(ranked(pool.pod("urgent", {GPU: 1}, **{USE: f"GPU-{node}-1"}), HIGH))
        await until_gone(pool.cluster, dear)
        assert whole(seen) == [1]
        assert await names_left(pool) == {"cheap", "urgent"}


async def test_those_go_whose_cards_are_linked_though_kube_scheduler_named_others(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("linked")
    node = f"{name}-0"
    async with pooled(fleet_with_ranks, name, [agent_node(node, 4, whole=True, topology=PAIRS)]) as pool:
        for number, priority in enumerate((LOW, MIDDLE, LOW, HIGH)):
            await held(pool, f"p{number}", node, {GPU: 1}, number, priority=priority)
        seen = await pool.bound(ranked(pool.pod("pair", {GPU: 2}, **{SCOPE: "link"}), HIGH))
        assert whole(seen) == [0, 1]
        assert await names_left(pool) == {"p2", "p3", "pair"}


async def test_a_slot_is_freed_where_the_share_is_and_nobody_goes_for_a_slot_alone(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("slots")
    node = agent_node(f"{name}-0", 1)
    for amounts in ("allocatable", "capacity"):
        node["status"][amounts][SGPU] = "3"
    async with pooled(fleet_with_ranks, name, [node]) as pool:
        for number in range(2):
            await held(pool, f"small-{number}", f"{name}-0", part(20))
        await held(pool, "large", f"{name}-0", part(60), priority=MIDDLE)
        await pool.bound(ranked(pool.pod("urgent", part(50)), HIGH))
        assert await names_left(pool) == {"small-0", "small-1", "urgent"}


async def test_a_node_where_nobodys_going_would_help_is_out_of_the_question(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("useless")
    useless, useful = f"{name}-a", f"{name}-b"
    nodes = [agent_node(node, 1, whole=True) for node in (useless, useful)]
    async with pooled(fleet_with_ranks, name, nodes) as pool:
        await held(pool, "cheap", useless, {GPU: 1})
        await held(pool, "dear", useful, {GPU: 1}, priority=MIDDLE)
        seen = await pool.bound(ranked(pool.pod("urgent", {GPU: 1}, **{USE: f"GPU-{useful}-0"}), HIGH))
        assert seen["spec"]["nodeName"] == useful
        assert await names_left(pool) == {"cheap", "urgent"}


async def test_nobody_goes_when_the_wanted_card_is_held_by_an_equal(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("equal")
    node, beside = f"{name}-0", f"{name}-1"
    async with pooled(
        fleet_with_ranks, name, [agent_node(node, 2, whole=True), agent_node(beside, 1)]
    ) as pool:
        await held(pool, "cheap", node, {GPU: 1}, 0)
        await held(pool, "equal", node, {GPU: 1}, 1, priority=HIGH)
        urgent = ranked(pool.pod("urgent", {GPU: 1}, **{USE: f"GPU-{node}-1"}), HIGH)
        await pool.cluster.api.create(urgent)
        await nobody_went_for(pool, urgent, beside)
        assert await names_left(pool) == {"cheap", "equal", "urgent", "marker"}


# ---- shares, which kube-scheduler does not see


async def test_of_shares_the_fewest_and_of_those_the_least_important_go(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("fewest")
    a, b, c = (f"{name}-{word}" for word in "abc")
    async with pooled(fleet_with_ranks, name, [agent_node(node, 1) for node in (a, b, c)]) as pool:
        await held(pool, "a-half", a, part(50))
        await held(pool, "a-other-half", a, part(50))
        await held(pool, "b-all", b, part(100), priority=MIDDLE)
        await held(pool, "c-all", c, part(100), priority=HIGH)
        urgent = await pool.bound(ranked(pool.pod("all", part(100)), HIGH))
        assert only_card(urgent) == f"GPU-{b}-0", "one pod goes rather than two"
        assert await names_left(pool) == {"a-half", "a-other-half", "c-all", "all"}
        await pool.bound(ranked(pool.pod("half", part(50)), HIGH))
        assert len(await names_left(pool) & {"a-half", "a-other-half"}) == 1


async def test_somebody_goes_when_there_are_free_cards_enough_and_they_are_the_wrong_ones(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("wrong")
    node = f"{name}-0"
    async with pooled(fleet_with_ranks, name, [agent_node(node, 4, whole=True, topology=PAIRS)]) as pool:
        for number, priority in ((1, MIDDLE), (3, LOW)):
            await held(pool, f"p{number}", node, {GPU: 1}, number, priority=priority)
        seen = await pool.bound(ranked(pool.pod("pair", {GPU: 2}, **{SCOPE: "link"}), HIGH))
        assert whole(seen) == [2, 3]
        assert await names_left(pool) == {"p1", "pair"}


async def test_a_budget_spares_the_cheapest_and_when_only_it_would_help_nobody_goes_before_the_budget_does(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("budget")
    node, beside = f"{name}-0", f"{name}-1"
    async with pooled(fleet_with_ranks, name, [agent_node(node, 1), agent_node(beside, 1)]) as pool:
        labels = {"app": name}
        await held(pool, "kept", node, part(50), labels=labels)
        await held(pool, "free", node, part(50), priority=MIDDLE)
        async with budget(pool.cluster, name, labels, 1, allowed=0, healthy=1):
            first = ranked(pool.pod("first", part(50)), HIGH)
            first["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node
            await pool.bound(first)
            assert await names_left(pool) == {"kept", "first"}
            second = ranked(pool.pod("second", part(50)), HIGH)
            second["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node
            await pool.cluster.api.create(second)
            await nobody_went_for(pool, second, beside)
            assert await names_left(pool) == {"kept", "first", "second", "marker"}
        # The budget is gone, and nobody has to ask again.
        await until_bound(pool.cluster, name_of(second))
        assert await names_left(pool) == {"first", "second", "marker"}


async def test_a_budget_is_not_spent_on_half_of_what_is_needed(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("spent")
    node, beside = f"{name}-0", f"{name}-1"
    async with pooled(fleet_with_ranks, name, [agent_node(node, 1), agent_node(beside, 1)]) as pool:
        labels = {"app": name}
        for number in range(2):
            await held(pool, f"one-of-two-{number}", node, part(50), labels=labels)
        async with budget(pool.cluster, name, labels, 1, allowed=1, healthy=2):
            everything = ranked(pool.pod("everything", part(100)), HIGH)
            everything["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node
            await pool.cluster.api.create(everything)
            await nobody_went_for(pool, everything, beside)
            assert {"one-of-two-0", "one-of-two-1"} < await names_left(pool)


async def test_a_pod_whose_policy_is_never_waits_in_its_turn_and_nobody_goes(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("polite")
    node, beside = f"{name}-0", f"{name}-1"
    async with pooled(fleet_with_ranks, name, [agent_node(node, 1), agent_node(beside, 1)]) as pool:
        low = await held(pool, "low", node, part(100))
        polite = ranked(pool.pod("polite", part(100)), POLITE)
        polite["spec"]["nodeSelector"]["kubernetes.io/hostname"] = node
        await pool.cluster.api.create(polite)
        await nobody_went_for(pool, polite, beside)
        assert await names_left(pool) == {"low", "polite", "marker"}
        await pool.end(low)
        await until_bound(pool.cluster, name_of(polite))


async def test_no_more_go_than_the_many_who_came_at_once_need(
    fleet_with_ranks: Cluster, unique: Unique
) -> None:
    name = unique("many")
    async with pooled(fleet_with_ranks, name, [agent_node(f"{name}-{n}", 2) for n in range(2)]) as pool:
        for number in range(8):
            await held(pool, f"low-{number}", f"{name}-{number // 4}", part(50))
        urgent = [ranked(pool.pod(f"urgent-{number}", part(50)), HIGH) for number in range(3)]
        for one in urgent:
            await pool.cluster.api.create(one)
        for one in urgent:
            await until_bound(pool.cluster, name_of(one))
        left = await names_left(pool)
        assert len([one for one in left if one.startswith("low")]) == 5
