"""HAMi places, our agent serves: slices, whole cards, Moore Threads, restarts of either."""

import asyncio

import pytest

from e2e.agent_kit import AgentNode
from e2e.agent_view_kit import NODE_LOCK, all_slices, inside, metax, mthreads, room_on
from e2e.agent_watch_kit import (
    annotations,
    listed_cards,
    pod_annotations,
    until,
    until_annotation,
    until_counts,
)
from e2e.scheduler_kit import slices_in
from peers.hami import NAME, Hami
from peers.world import (
    CORE,
    GPU,
    MEMORY,
    QOS,
    SGPU,
    SLICED_CARDS,
    USE,
    VGPU,
    World,
    asking,
    cards_with,
    exclusive,
    moore_index,
    slice_of,
    uuids_in,
    whole_nodes,
)
from tangram.model.cards import QosPolicy
from testbed.api import path_of
from testbed.manifests import is_bound

pytestmark = pytest.mark.usefixtures("hami")

PHASE = "hami.io/bind-phase"
GIB = 1 << 30
POLICIES = {policy.value: policy for policy in QosPolicy}


@pytest.fixture(autouse=True)
async def left_as_it_was(world: World) -> None:
    """A story begins on empty nodes; what it leaves behind is a fault of its own."""
    await world.empty()


async def unlocked(node: AgentNode) -> None:
    await until_annotation(node, NODE_LOCK, lambda value: not value, "the lock is given back")


async def phase(world: World, name: str, value: str) -> None:
    async def so() -> bool:
        return (await pod_annotations(world.sliced, name)).get(PHASE) == value

    await until(so, f"{PHASE} of {name} is {value}")


async def test_a_slice_is_made_as_asked_and_hami_gets_its_lock_and_phase_back(world: World) -> None:
    (seen,) = await world.run(slice_of("one", gib=8, cores=30))
    assert seen["spec"]["schedulerName"] == NAME, "HAMi's webhook took it"
    assert seen["spec"]["nodeName"] == str(world.sliced.name)
    ((uuid, mib, cores),) = slices_in(seen)[0]
    (part,) = all_slices(world.sliced)
    assert (part.card, part.memory, part.cores) == (uuid, mib << 20, cores) == (uuid, 8 * GIB, 30)
    assert await uuids_in(world, seen) == {uuid}
    await phase(world, "one", "success")
    await unlocked(world.sliced)
    await world.sound()


async def test_twenty_slices_at_once_all_run_and_no_card_is_sold_twice(world: World) -> None:
    await world.run(*(slice_of(f"p{number}", gib=8, cores=15) for number in range(20)))
    assert len(all_slices(world.sliced)) == 20
    await world.sound()


@pytest.mark.parametrize("count", [1, 2, 4])
async def test_whole_cards_are_given_as_many_as_asked(world: World, count: int) -> None:
    first, second = await world.run(asking("a", {GPU: count}), asking("b", {GPU: count}))
    cards = metax(world.whole)
    given = [cards_with(cards, await whole_nodes(world, seen)) for seen in (first, second)]
    assert [len(each) for each in given] == [count, count]
    assert not {card.uuid for card in given[0]} & {card.uuid for card in given[1]}
    await world.sound()


@pytest.mark.parametrize(
    ("limits", "cards", "memory"),
    [
        pytest.param({VGPU: 1, MEMORY: 32, CORE: 8}, 1, 16 * GIB, id="part of a card"),
        pytest.param({VGPU: 1}, 1, 48 * GIB, id="one card"),
        pytest.param({VGPU: 2}, 2, 48 * GIB, id="two cards"),
    ],
)
async def test_moore_threads_pods_find_what_they_asked_for(
    world: World, limits: dict[str, int], cards: int, memory: int
) -> None:
    (seen,) = await world.run(asking("m", limits))
    assert seen["spec"]["nodeName"] == str(world.moore.name)
    found = (await inside(world.moore, "m")).env
    assert len(moore_index(world, found)) == cards <= len(mthreads(world.moore))
    assert int(found["MTHREADS_QOS_MEMORY_LIMIT"]) == memory


async def test_a_slice_never_goes_to_a_node_with_whole_cards_though_it_is_the_only_one_left(
    world: World,
) -> None:
    """It did, and ran there without any card while the card was sold whole."""
    assert "metax-tech.com/node-gpu-devices" not in await annotations(world.whole)
    await world.run(*(exclusive(f"e{number}") for number in range(SLICED_CARDS)))
    await world.submit(slice_of("more"))
    await world.waits("more", "no available node")
    whole = await world.run(*(asking(f"w{number}", {GPU: 4}) for number in range(2)))
    assert {seen["spec"]["nodeName"] for seen in whole} == {str(world.whole.name)}
    await world.end("e0")
    await world.running("more")
    await world.sound()


async def test_a_card_keeps_one_policy_over_a_restart_of_hami(world: World, hami: Hami) -> None:
    """Its list said nothing of policies; HAMi then mixed them, and the second pod hung in qos-clash."""
    card = metax(world.sliced)[1]
    fixed = {QOS: "fixed-share", USE: card.uuid}
    await world.run(slice_of("first", annotations=fixed))
    assert room_on(world.sliced, card).policy is POLICIES["fixed-share"]

    async def said() -> bool:
        return (await listed_cards(world.sliced))[card.uuid].get("qosPolicy") == "fixed-share"

    await until(said, "the node says which policy the card runs")
    await hami.stop_scheduler()
    await hami.start_scheduler()
    await world.submit(slice_of("other", annotations={QOS: "best-effort", USE: card.uuid}))
    await world.waits("other", "CardQosPolicyMismatch")
    await world.run(slice_of("same", annotations=fixed))
    await world.end("first", "same")
    # An idle card may run any policy, and HAMi hears of it when it looks at nodes again.
    await world.running("other")
    assert room_on(world.sliced, card).policy is POLICIES["best-effort"]


async def test_pods_wait_while_the_agent_restarts_and_none_is_refused_by_the_kubelet(world: World) -> None:
    """Bound in the gap a pod ends for good, because the kubelet has no plugin to ask."""
    await world.run(slice_of("before"))
    lives = await world.lives()
    await world.sliced.stop_agent()
    try:
        await world.submit(*(slice_of(f"gap{number}") for number in range(4)))
        await asyncio.sleep(6.0)
        for number in range(4):
            seen = await world.cluster.api.get(path_of("Pod", f"gap{number}"))
            assert not is_bound(seen), seen["status"]
    finally:
        await world.sliced.start_agent()
    await unlocked(world.sliced)
    await until_counts(world.sliced, SGPU, 16 * SLICED_CARDS, 16 * SLICED_CARDS)
    for number in range(4):
        await world.running(f"gap{number}")
    assert (await world.lives()).items() >= lives.items()
    await world.sound()
