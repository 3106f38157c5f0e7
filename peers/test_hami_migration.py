"""The page of the change from HAMi, played both ways on one cluster while pods run.

What is a release of a chart there is a program here: HAMi's webhook is deleted and its scheduler stopped, ours takes
its name over, and back. Running pods stay what they are, both count each other's, and no card is sold twice between.
"""

import os

import pytest

from e2e.agent_view_kit import metax
from e2e.scheduler_kit import SCHEDULER
from peers.hami import NAME, Hami
from peers.ours import Ours
from peers.programs import HAMI
from peers.world import CORE, GPU, MEMORY, SLICED_CARDS, USE, VGPU, World, asking, exclusive, slice_of
from testbed.api import path_of
from testbed.manifests import is_bound

WHOLE = 8
MOST_OF_A_MOORE_CARD = {VGPU: 1, MEMORY: 64, CORE: 10}
"""Not another of these fits on a card beside it, nor beside the 8 of 16 that HAMi gives before."""


@pytest.fixture
def hami_program() -> str:
    return os.environ[HAMI.variable]


def on_card(world: World, number: int) -> dict[str, str]:
    """Words by which both schedulers place a slice on this card, so that others stay idle."""
    return {USE: metax(world.sliced)[number].uuid}


async def all_taken(world: World, scheduler: str, mark: str) -> list[str]:
    """Every card that is still idle goes to a pod of its own, and one more of each kind waits; their names."""
    idle, free = len(world.idle_cards()), await free_whole(world)
    assert 0 < idle < SLICED_CARDS, "some cards have slices, and some have none"
    assert 0 < free < WHOLE
    made = [exclusive(f"{mark}{number}", scheduler=scheduler) for number in range(idle)]
    made += [asking(f"{mark}w{number}", {GPU: 1}, scheduler=scheduler) for number in range(free)]
    await world.run(*made)
    assert not world.idle_cards()
    more = [
        exclusive(f"{mark}more", scheduler=scheduler),
        asking(f"{mark}wmore", {GPU: 1}, scheduler=scheduler),
    ]
    await world.submit(*more)
    await world.waits(f"{mark}more")
    await world.waits(f"{mark}wmore")
    await world.sound()
    return [one["metadata"]["name"] for one in made]


async def free_whole(world: World) -> int:
    """Whole cards that no running pod asks for."""
    pods = await world.cluster.api.list(path_of("Pod"))
    asked = [
        int(one["spec"]["containers"][0]["resources"].get("limits", {}).get(GPU, 0))
        for one in pods
        if is_bound(one)
    ]
    return len(metax(world.whole)) - sum(asked)


async def test_from_hami_to_tangram_and_back_with_pods_running(world: World, hami_program: str) -> None:
    hami, ours = Hami(world, hami_program), Ours(world)
    await hami.start()
    # HAMi has placed for a while.
    await world.run(
        slice_of("h-small", gib=4, cores=10, annotations=on_card(world, 0)),
        slice_of("h-large", gib=16, cores=40, annotations=on_card(world, 1)),
        asking("h-whole", {GPU: 2}),
        asking("h-moore", {VGPU: 1, MEMORY: 32, CORE: 8}),
    )
    # Step 3: ours beside it. Pods name the one or the other.
    await ours.start()
    await world.run(
        slice_of("t-beside", gib=8, cores=20, scheduler=SCHEDULER, annotations=on_card(world, 0)),
        asking("t-whole", {GPU: 1}, scheduler=SCHEDULER),
        slice_of("h-beside", gib=8, cores=20, annotations=on_card(world, 0)),
        asking("h-whole2", {GPU: 1}),
    )
    await world.sound()
    lives = await world.lives()
    # Step 5: HAMi's webhook and scheduler go. A pod that names its scheduler waits.
    await hami.stop()
    await world.submit(slice_of("waits", scheduler=NAME, annotations=on_card(world, 0)))
    assert not is_bound(await world.cluster.api.get(path_of("Pod", "waits")))
    # Step 6: ours takes the name over.
    await ours.serve(NAME)
    await world.running("waits")
    assert (await world.lives()).items() >= lives.items(), "what ran runs on, in the same containers"
    # What HAMi placed is counted: the rest of the cards and no more can be had.
    taken = await all_taken(world, NAME, "t")
    await world.run(asking("t-moore", MOST_OF_A_MOORE_CARD, scheduler=NAME))
    await world.submit(asking("t-moore-more", MOST_OF_A_MOORE_CARD, scheduler=NAME))
    await world.waits("t-moore-more")
    # What HAMi placed is freed when it ends.
    await world.end("h-whole", "h-large", "h-small", "t-beside", "h-beside", "waits")
    await world.running("tmore")
    await world.running("twmore")
    await world.sound()
    # The way back: ours goes, HAMi comes, pods of ours run on and HAMi counts them.
    await world.end(*taken[:2], taken[-1], "t-moore-more")
    lives = await world.lives()
    await ours.stop()
    await hami.start()
    assert await world.lives() == lives
    await world.run(slice_of("h-again", gib=4, cores=10))
    later = await all_taken(world, NAME, "b")
    await world.submit(asking("b-moore", MOST_OF_A_MOORE_CARD, scheduler=NAME))
    await world.waits("b-moore")
    assert (await world.lives()).items() >= lives.items()
    await world.end("tmore", "twmore", "t-moore", *later[:1])
    await world.running("bmore")
    await world.running("bwmore")
    await world.running("b-moore")
    await world.sound()
    await world.empty()
    await hami.stop()
