"""How many nodes an extender is offered: a sample, unless kube-scheduler is told to look at every node."""

import asyncio
import itertools
from collections.abc import Callable

import pytest

from e2e.scheduling_kit import ALL_NODES, Scheduling, cleaned, fleet_pod, is_refused, scheduled
from testbed.api import Object, path_of
from testbed.extender import ExtenderCall, Raw
from testbed.extender_answers import accept_only
from testbed.manifests import is_bound

pytestmark = pytest.mark.xdist_group("fleet")
Unique = Callable[[str], str]
FLEET = 300
# 50 % less one for every 125 nodes.
SAMPLE = 144


async def offers(scheduling: Scheduling, names: list[str], scheduler: str) -> list[tuple[str, ...]]:
    """What the extender was offered for each of these pods, one after the other."""
    async with cleaned(scheduling.cluster, *names):
        for name in names:
            await scheduling.api.create(fleet_pod(name, extender="plain", scheduler=scheduler))
        await asyncio.gather(*(scheduling.cluster.until_pod(name, is_bound) for name in names))
    calls = sorted((scheduling.extender.calls(name)[0] for name in names), key=lambda call: call.order)
    return [call.offered for call in calls]


async def first_refusal(scheduling: Scheduling, made: Object) -> Object:
    """The first state of a pod that tells of a refusal, however soon the next try has another outcome."""
    metadata = made["metadata"]
    async with asyncio.timeout(60):
        async for _, state in scheduling.api.watch(
            path_of("Pod"),
            fieldSelector=f"metadata.name={metadata['name']}",
            resourceVersion=metadata["resourceVersion"],
        ):
            if is_refused(state):
                return state
    raise AssertionError("the watch ended before the pod was refused")


@pytest.mark.smoke
async def test_of_300_nodes_an_extender_is_offered_144_and_all_with_a_percentage_of_100(
    scheduling: Scheduling, unique: Unique
) -> None:
    sampled, whole = await asyncio.gather(
        offers(scheduling, [unique("sampled")], "default-scheduler"),
        offers(scheduling, [unique("whole")], ALL_NODES),
    )
    assert [len(set(names)) for names in (*sampled, *whole)] == [SAMPLE, FLEET]


async def test_the_sample_starts_elsewhere_for_every_pod_so_that_each_node_has_its_turn(
    scheduling: Scheduling, unique: Unique
) -> None:
    """Nodes are looked at by many workers at once, so a busy machine may take a few rounds to come by all of them."""
    seen: list[tuple[str, ...]] = []
    while len(set[str]().union(*seen)) < FLEET and len(seen) < 10 * FLEET // SAMPLE:
        names = [unique(f"turn-{len(seen) + number}") for number in range(4)]
        seen += await offers(scheduling, names, "default-scheduler")
    assert {len(names) for names in seen} == {SAMPLE}
    assert all(set(one) != set(following) for one, following in itertools.pairwise(seen))
    assert len(set[str]().union(*seen)) == FLEET


async def test_a_pod_is_refused_although_a_node_outside_its_sample_would_do(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("outside")
    everyone = {node["metadata"]["name"] for node in await scheduling.api.list(path_of("Node"))}
    would_do: list[str] = []

    async def only_a_node_of_the_other_half(call: ExtenderCall) -> Object | list[Object] | Raw:
        would_do[:] = would_do or sorted(everyone - set(call.offered))[:1]
        return await accept_only(*would_do)(call)

    scheduling.extender.script(name, "filter", only_a_node_of_the_other_half)
    async with cleaned(scheduling.cluster, name):
        made = await scheduling.api.create(fleet_pod(name, extender="plain"))
        refused = await first_refusal(scheduling, made)
    assert would_do
    assert would_do[0] not in scheduling.extender.calls(name)[0].offered
    assert f"{SAMPLE} not wanted by the test" in scheduled(refused)["message"]


async def test_what_the_scheduler_itself_can_check_is_searched_for_on_all_nodes(
    scheduling: Scheduling, unique: Unique
) -> None:
    """The sample is of the nodes that pass its own checks, here a node selector."""
    wanted = ["kwok-00001", "kwok-00150", "kwok-00299"]
    names = [unique(f"selected-{node}") for node in wanted]
    async with cleaned(scheduling.cluster, *names):
        for name, node in zip(names, wanted, strict=True):
            await scheduling.api.create(fleet_pod(name, extender="plain", on=node))
        await asyncio.gather(*(scheduling.cluster.until_pod(name, is_bound) for name in names))
    assert [scheduling.extender.calls(name)[0].offered for name in names] == [(node,) for node in wanted]
