"""koord-scheduler places, our agent serves; then ours beside it, instead of it, and back."""

import asyncio

import pytest

from e2e.agent_view_kit import NODE_LOCK, all_slices, metax
from e2e.agent_watch_kit import until_annotation, until_counts
from e2e.koordinator_kit import koord_pod, metax_rows, share, whole
from e2e.scheduler_kit import SCHEDULER
from peers.koord import NAME, Koord
from peers.ours import Ours
from peers.world import SGPU, SLICED_CARDS, World, exclusive, slice_of, uuids_in
from testbed.api import Object, path_of
from testbed.manifests import is_bound

GIB = 1 << 30


@pytest.fixture(autouse=True)
async def left_as_it_was(koord_world: World) -> None:
    await koord_world.empty()


def slice_pod(name: str, core: int = 10, memory: str = "4Gi") -> Object:
    return koord_pod(name, share(core, memory))


def whole_card(name: str) -> Object:
    return koord_pod(name, whole(1))


async def test_a_slice_is_made_as_asked_and_koordinator_gets_its_lock_back(
    koord_world: World, koord: Koord
) -> None:
    assert koord
    (seen,) = await koord_world.run(slice_pod("one"))
    ((uuid, mib, core),) = metax_rows(seen)
    (part,) = all_slices(koord_world.sliced)
    assert (part.card, part.memory, part.cores) == (uuid, mib << 20, core) == (uuid, 4 * GIB, 10)
    assert await uuids_in(koord_world, seen) == {uuid}
    await until_annotation(koord_world.sliced, NODE_LOCK, lambda value: not value, "the lock is given back")


async def test_twenty_slices_at_once_all_run_and_no_card_is_sold_twice(
    koord_world: World, koord: Koord
) -> None:
    assert koord
    await koord_world.run(*(slice_pod(f"p{number}", 15, "8Gi") for number in range(20)))
    assert len(all_slices(koord_world.sliced)) == 20
    await koord_world.sound()


async def test_pods_wait_while_the_agent_restarts_and_none_is_refused_by_the_kubelet(
    koord_world: World, koord: Koord
) -> None:
    assert koord
    # The lock needs a pod to be held in the name of.
    await koord_world.run(slice_pod("before"))
    await koord_world.sliced.stop_agent()
    try:
        await koord_world.submit(*(slice_pod(f"gap{number}") for number in range(3)))
        await asyncio.sleep(6.0)
        for number in range(3):
            seen = await koord_world.cluster.api.get(path_of("Pod", f"gap{number}"))
            assert not is_bound(seen), seen["status"]
    finally:
        await koord_world.sliced.start_agent()
    await until_counts(koord_world.sliced, SGPU, 16 * SLICED_CARDS, 16 * SLICED_CARDS)
    for number in range(3):
        await koord_world.running(f"gap{number}")


async def test_from_koordinator_to_tangram_and_back_with_pods_running(
    koord_world: World, koord: Koord
) -> None:
    """Beside it first, then instead of it, then back."""
    world, ours = koord_world, Ours(koord_world)
    await world.run(slice_pod("k-small"), slice_pod("k-large", 40, "16Gi"), whole_card("k-whole"))
    await ours.start()
    await world.run(slice_of("t-beside", scheduler=SCHEDULER), slice_pod("k-beside", 20, "8Gi"))
    await world.sound()
    lives = await world.lives()
    await koord.stop()
    try:
        await world.submit(slice_pod("waits"))
        assert not is_bound(await world.cluster.api.get(path_of("Pod", "waits")))
        await ours.serve(NAME)
        await world.running("waits")
        assert (await world.lives()).items() >= lives.items()
        idle = len(world.idle_cards())
        assert idle < SLICED_CARDS
        await world.run(*(exclusive(f"t{number}", scheduler=SCHEDULER) for number in range(idle)))
        assert not world.idle_cards()
        await world.submit(exclusive("tmore", scheduler=SCHEDULER))
        await world.waits("tmore")
        await world.sound()
        await world.end("k-whole")
        await world.running("tmore")
        lives = await world.lives()
        await ours.stop()
    finally:
        await koord.start()
    assert await world.lives() == lives
    # What ours placed is counted: no card is idle, so a whole one waits until one is.
    assert not world.idle_cards()
    await world.submit(whole_card("b-whole"))
    await world.waits("b-whole")
    await world.end("tmore")
    await world.running("b-whole")
    assert len(metax(world.sliced)) == SLICED_CARDS
    await world.sound()
