"""Pods that are of use only together: all of a group find room, or none of it holds any."""

import asyncio
from collections.abc import Callable

import pytest

from e2e.agent_view_kit import GPU
from e2e.agent_watch_kit import until
from e2e.card_nodes_kit import Pool, agent_node, pooled
from e2e.scheduler_kit import until_bound
from e2e.scheduling_kit import scheduled
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.manifests import is_bound

pytestmark = pytest.mark.xdist_group("scheduler over object nodes")

Unique = Callable[[str], str]
GROUP = "pod-group.scheduling.sigs.k8s.io/name"
AT_LEAST = "pod-group.scheduling.sigs.k8s.io/min-available"


def members(pool: Pool, group: str, count: int = 8, *, of: int = 8) -> list[Object]:
    """Pods of one group, each with a card, so many of which are of use only together."""
    made = [pool.pod(f"{group}-{n}", {GPU: 1}) for n in range(count)]
    for each in made:
        each["metadata"]["labels"] |= {GROUP: f"{pool.name}-{group}", AT_LEAST: str(of)}
    return made


async def bound_by_group(pool: Pool) -> dict[str, int]:
    found = {"red": 0, "blue": 0}
    for one in await pool.pods():
        for group in found:
            found[group] += f"-{group}-" in one["metadata"]["name"] and is_bound(one)
    return found


async def test_of_two_groups_of_eight_that_race_for_eight_cards_one_runs_whole_and_the_other_holds_nothing(
    object_fleet: Cluster, unique: Unique
) -> None:
    name = unique("race")
    nodes = [agent_node(f"{name}-{n}", 4, whole=True) for n in range(2)]
    async with pooled(object_fleet, name, nodes) as pool:
        both = zip(members(pool, "red"), members(pool, "blue"), strict=True)
        await asyncio.gather(*(object_fleet.api.create(each) for pair in both for each in pair))

        async def decided() -> bool:
            return 8 in (await bound_by_group(pool)).values()

        await until(decided, "one group runs whole")
        assert sorted((await bound_by_group(pool)).values()) == [0, 8]
        winner = max(await bound_by_group(pool), key=(await bound_by_group(pool)).__getitem__)
        loser = "blue" if winner == "red" else "red"

        async def says_why() -> bool:
            lost = [one for one in await pool.pods() if f"-{loser}-" in one["metadata"]["name"]]
            return all(scheduled(one).get("message") for one in lost)

        await until(says_why, "every pod of the other group says why it waits")
        # Two cards come free: too few for a group, enough for pods that need no company, so they are not held.
        held = [one for one in await pool.pods() if f"-{winner}-" in one["metadata"]["name"]]
        await pool.end(*held[:2])
        await pool.landed(pool.pod("alone-0", {GPU: 1}), pool.pod("alone-1", {GPU: 1}))
        assert (await bound_by_group(pool))[loser] == 0
        everyone = await pool.pods()
        await pool.end(*(one for one in everyone if is_bound(one)))
        for one in everyone:
            if f"-{loser}-" in one["metadata"]["name"]:
                await until_bound(object_fleet, one["metadata"]["name"])


async def test_a_group_that_is_not_complete_holds_nothing_until_its_last_member_comes(
    object_fleet: Cluster, unique: Unique
) -> None:
    name = unique("parts")
    async with pooled(object_fleet, name, [agent_node(f"{name}-0", 8, whole=True)]) as pool:
        *early, last = members(pool, "red")
        await asyncio.gather(*(object_fleet.api.create(each) for each in early))

        async def tried() -> bool:
            return all("7 of 8" in scheduled(one).get("message", "") for one in await pool.pods())

        await until(tried, "every member says how many of them are there")
        # All cards are there for somebody else meanwhile.
        other = await pool.bound(pool.pod("other", {GPU: 8}))
        await pool.end(other)
        await object_fleet.api.create(last)
        for each in (*early, last):
            await until_bound(object_fleet, each["metadata"]["name"])
