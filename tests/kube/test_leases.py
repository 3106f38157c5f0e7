"""A Lease is ours while we see it renewed, by our own clock, and whatever the holder's clock says."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.hostile_api import ApiWithoutWire
from builders.hostile_world import HostileWorld, Object, Plan
from builders.virtual_time import in_virtual_time, virtually
from tangram.kube.leases import Lease, LeaseWatch, read_lease

OURS, OTHER = "pod-a_1234", "pod-b_5678"
DURATION = 15


class LeaseWorld(HostileWorld):
    """One Lease, and a holder who renews it with a clock of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.clock_is_off_by = 0.0
        self.lease: Object = {}

    def renew(self, holder: str, duration: object = DURATION) -> None:
        # Never the same text twice, as a clock with microseconds would write it.
        moment = f"{asyncio.get_running_loop().time() + self.clock_is_off_by:.3f}/{self.version}"
        self.lease = {"holderIdentity": holder, "leaseDurationSeconds": duration, "renewTime": moment}
        self.change("put", "kube-scheduler")

    def touch(self) -> None:
        """Somebody changes the object without renewing it."""
        self.change("put", "kube-scheduler")

    def decorate(self, thing: Object) -> Object:
        return {**thing, "spec": self.lease}


class Scene:
    def __init__(self, world: LeaseWorld) -> None:
        self.world = world
        self.changes: list[tuple[float, bool]] = []
        self.loop = asyncio.get_running_loop()
        self.began = self.loop.time()
        self.watch = LeaseWatch(
            ApiWithoutWire(world),
            "kube-system",
            "kube-scheduler",
            lambda holder: holder.startswith("pod-a_"),
            self.loop.time,
            changed=lambda ours: self.changes.append((self.loop.time() - self.began, ours)),
        )

    async def renewing(self, holder: str, seconds: float, every: float = 2.0) -> None:
        for _ in range(int(seconds / every)):
            self.world.renew(holder)
            await asyncio.sleep(every)


@asynccontextmanager
async def scene(world: LeaseWorld | None = None) -> AsyncGenerator[Scene]:
    one = Scene(world or LeaseWorld())
    running = asyncio.create_task(one.watch.run())
    await asyncio.sleep(0.01)
    try:
        yield one
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@virtually
async def test_what_we_acquire_is_ours_at_once_and_while_it_is_renewed() -> None:
    async with scene() as one:
        assert not one.watch.ours
        one.world.renew(OURS)
        await asyncio.sleep(0.01)
        assert one.watch.ours
        assert one.watch.holder == OURS
        await one.renewing(OURS, 120)
        assert [ours for _, ours in one.changes] == [True]
        assert DURATION - 2.1 <= one.watch.seconds_left() <= DURATION


@virtually
async def test_a_lease_that_nobody_renews_ends_by_itself_and_is_told() -> None:
    async with scene() as one:
        one.world.renew(OURS)
        await asyncio.sleep(10)
        assert one.watch.seconds_left() == pytest.approx(5, abs=0.1)
        await asyncio.sleep(10)
        assert not one.watch.ours
        assert one.watch.seconds_left() == 0.0
        assert one.watch.holder == OURS
        assert [ours for _, ours in one.changes] == [True, False]
        assert one.changes[-1][0] == pytest.approx(DURATION, abs=0.1)


@virtually
async def test_another_holder_ends_it_at_once() -> None:
    async with scene() as one:
        one.world.renew(OURS)
        await asyncio.sleep(1)
        one.world.renew(OTHER)
        await asyncio.sleep(0.01)
        assert not one.watch.ours
        assert one.watch.holder == OTHER
        assert one.watch.seconds_left() == 0.0
        one.world.renew(OURS)
        await asyncio.sleep(0.01)
        assert [ours for _, ours in one.changes] == [True, False, True]


@pytest.mark.parametrize(
    ("holder", "duration"),
    [
        pytest.param("", DURATION, id="released"),
        pytest.param(OURS, 0, id="no-duration"),
        pytest.param(OURS, -5, id="negative-duration"),
        pytest.param(OURS, "soon", id="duration-is-a-word"),
        pytest.param(OURS, None, id="duration-is-null"),
    ],
)
def test_a_lease_without_a_holder_or_an_end_is_nobodys(holder: str, duration: object) -> None:
    async def seen() -> tuple[bool, bool]:
        async with scene() as one:
            one.world.renew(OURS)
            await asyncio.sleep(1)
            before = one.watch.ours
            one.world.renew(holder, duration)
            await asyncio.sleep(0.01)
            return before, one.watch.ours

    assert in_virtual_time(seen()) == (True, False)


@virtually
async def test_a_lease_that_was_deleted_is_nobodys() -> None:
    async with scene() as one:
        one.world.renew(OURS)
        await asyncio.sleep(1)
        one.world.change("remove", "kube-scheduler")
        await asyncio.sleep(0.01)
        assert not one.watch.ours
        assert not one.watch.holder
        assert [ours for _, ours in one.changes] == [True, False]


@pytest.mark.parametrize("off_by", [-1e6, -3600.0, -15.0, 15.0, 3600.0, 1e6])
def test_the_holders_clock_changes_nothing(off_by: float) -> None:
    async def seen(off: float) -> list[tuple[float, bool]]:
        async with scene() as one:
            one.world.clock_is_off_by = off
            await one.renewing(OURS, 10)
            one.world.clock_is_off_by = -off
            await one.renewing(OURS, 10)
            await asyncio.sleep(30)
            return one.changes

    assert in_virtual_time(seen(off_by)) == in_virtual_time(seen(0.0))


@virtually
async def test_a_change_that_renews_nothing_adds_no_time() -> None:
    async with scene() as one:
        one.world.renew(OURS)
        await asyncio.sleep(0.01)
        for _ in range(20):
            one.world.touch()
            await asyncio.sleep(1)
        assert not one.watch.ours


@virtually
async def test_a_lease_found_at_the_start_counts_only_once_it_is_renewed() -> None:
    world = LeaseWorld()
    world.renew(OURS)
    await asyncio.sleep(5)
    async with scene(world) as one:
        await asyncio.sleep(3)
        assert one.watch.holder == OURS
        assert not one.watch.ours, "it may have run out an hour ago"
        one.world.renew(OURS)
        await asyncio.sleep(0.01)
        assert one.watch.ours


@virtually
async def test_renewals_that_waited_while_we_were_cut_off_count_from_before_that() -> None:
    async with scene() as one:
        await one.renewing(OURS, 20)
        one.world.plans.extend([Plan(refuse=503)] * 1000)
        one.world.cut()
        one.world.renew(OURS)
        await asyncio.sleep(20)
        assert not one.watch.ours
        one.world.plans.clear()
        await asyncio.sleep(5)
        assert one.watch.holder == OURS
        assert not one.watch.ours, "that renewal is twenty seconds old"
        await one.renewing(OURS, 4)
        assert one.watch.ours


@virtually
async def test_a_list_after_a_gap_is_no_fresher_than_the_gap() -> None:
    async with scene() as one:
        await one.renewing(OURS, 20)
        one.world.plans.extend([Plan(refuse=503)] * 1000)
        one.world.cut()
        one.world.renew(OURS)
        await asyncio.sleep(20)
        one.world.behave()
        one.world.forget()
        await asyncio.sleep(5)
        assert not one.watch.ours


@virtually
async def test_a_renewal_that_waited_for_a_moment_adds_no_more_than_it_was_worth() -> None:
    async with scene() as one:
        await one.renewing(OURS, 20)
        one.world.plans.append(Plan(delay=6))
        one.world.cut()
        await asyncio.sleep(0.01)
        one.world.renew(OURS)
        ends = one.loop.time() + DURATION
        await asyncio.sleep(10)
        assert ends - 0.1 <= one.loop.time() + one.watch.seconds_left() <= ends


@virtually
async def test_a_short_cut_loses_nothing() -> None:
    async with scene() as one:
        await one.renewing(OURS, 20)
        for _ in range(10):
            one.world.cut()
            await one.renewing(OURS, 2)
        assert [ours for _, ours in one.changes] == [True]


@virtually
async def test_a_renewal_after_the_end_is_taken_for_old_until_another_follows() -> None:
    async with scene() as one:
        await one.renewing(OURS, 20)
        await asyncio.sleep(30)
        assert not one.watch.ours
        one.world.renew(OURS)
        one.world.renew(OURS)
        await asyncio.sleep(0.5)
        assert not one.watch.ours, "a connection that slept pours out what it held all at once"
        await one.renewing(OURS, 4)
        assert one.watch.ours


@virtually
async def test_taking_over_from_one_who_died_is_immediate() -> None:
    async with scene() as one:
        await one.renewing(OTHER, 20)
        await asyncio.sleep(16)
        one.world.renew(OURS)
        await asyncio.sleep(0.01)
        assert one.watch.ours


steps = st.lists(
    st.tuples(
        st.sampled_from(("renew", "other", "cut", "away", "back", "touch", "forget", "skew")),
        st.sampled_from((0.1, 1.0, 2.0, 6.0, 16.0)),
    ),
    max_size=25,
)


@given(steps)
def test_it_is_never_ours_longer_than_the_holder_itself_may_believe(several: list[tuple[str, float]]) -> None:
    async def play() -> None:
        async with scene() as one:
            world, ends = one.world, float("-inf")
            for step, seconds in several:
                match step:
                    case "renew":
                        world.renew(OURS)
                        ends = one.loop.time() + DURATION
                    case "other":
                        world.renew(OTHER)
                    case "cut":
                        world.cut()
                    case "away":
                        world.plans.extend([Plan(refuse=503)] * 100)
                        world.cut()
                    case "back":
                        world.plans.clear()
                    case "forget":
                        world.forget()
                        world.cut()
                    case "skew":
                        world.clock_is_off_by += 7777.0
                    case _:
                        world.touch()
                deadline = one.loop.time() + seconds
                while one.loop.time() < deadline:
                    await asyncio.sleep(0.05)
                    left = one.watch.seconds_left()
                    assert one.loop.time() + left <= ends + 0.001 or left == 0.0
                    assert one.watch.ours is (left > 0)

    in_virtual_time(play())


@pytest.mark.parametrize("spec", [None, [], "text", {}, {"holderIdentity": None, "leaseDurationSeconds": {}}])
def test_a_lease_of_any_shape_is_read(spec: Any) -> None:  # noqa: ANN401 - JSON of any shape
    assert read_lease({"spec": spec}) == Lease()
