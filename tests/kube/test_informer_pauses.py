"""How often a server is asked, how old the copy is meanwhile, and what makes it list again; in virtual time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from builders.hostile_api import ApiWithoutWire
from builders.hostile_world import HostileWorld, Plan
from builders.virtual_time import in_virtual_time, virtually
from builders.witness import Witness, keep
from tangram.kube.backoff import LONGEST_ASKED_S, Backoff
from tangram.kube.informer import LONGEST_PAUSE_S, Informer, Key

FINE = Plan()


class Scene:
    def __init__(self, world: HostileWorld) -> None:
        self.world = world
        self.witness = Witness(world)
        self.loop = asyncio.get_running_loop()
        self.informer = Informer(
            ApiWithoutWire(world),
            "/api/v1/pods",
            self.witness.told,
            keep=keep,
            troubled=self.witness.troubles.append,
            clock=self.loop.time,
        )

    @property
    def stale(self) -> float:
        return self.informer.stale_for(self.loop.time())

    @property
    def asked(self) -> list[str]:
        return [verb for _, verb in self.world.asked]

    def gaps(self) -> list[float]:
        """Seconds between one request and the next."""
        return [later - earlier for (earlier, _), (later, _) in pairwise(self.world.asked)]


@asynccontextmanager
async def scene(*plans: Plan) -> AsyncGenerator[Scene]:
    world = HostileWorld()
    world.change("put", "a")
    world.plans.extend(plans)
    one = Scene(world)
    running = asyncio.create_task(one.informer.run())
    try:
        yield one
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@virtually
async def test_a_server_that_was_away_is_asked_again_within_five_seconds_however_long_it_was() -> None:
    async with scene() as one:
        await asyncio.sleep(1)
        one.world.plans.extend([Plan(refuse=503)] * 10_000)
        one.world.cut()
        await asyncio.sleep(3600)
        gaps = one.gaps()[3:]
        assert len(gaps) > 3600 / LONGEST_PAUSE_S
        assert max(gaps) <= LONGEST_PAUSE_S
        assert len({round(gap, 3) for gap in gaps}) > 100, "a fleet must not come back all at once"
        assert len(gaps) < 3600, "and nobody is asked every second for an hour"


@virtually
async def test_a_short_cut_costs_a_fraction_of_a_second_even_after_an_hour_of_trouble() -> None:
    async with scene(*[Plan(refuse=503)] * 800) as one:
        await asyncio.sleep(3600)
        assert one.informer.fresh
        one.world.change("put", "b")
        await asyncio.sleep(1)
        one.world.cut()
        await asyncio.sleep(0.25)
        assert one.informer.fresh
        assert one.stale == 0.0


@pytest.mark.parametrize(
    ("said", "at_least", "at_most"),
    [
        pytest.param("3", 3.0, 3.0, id="a-few-seconds"),
        pytest.param("86400", LONGEST_ASKED_S, LONGEST_ASKED_S, id="a-day"),
        pytest.param("inf", 0.0, 0.2, id="for-ever"),
        pytest.param("nan", 0.0, 0.2, id="no-number"),
        pytest.param("-5", 0.0, 0.2, id="less-than-nothing"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", 0.0, 0.2, id="a-date"),
    ],
)
def test_retry_after_is_honoured_within_reason(said: str, at_least: float, at_most: float) -> None:
    async def asked() -> float:
        async with scene(Plan(refuse=429, retry_after=said)) as one:
            await asyncio.sleep(60)
            return one.gaps()[0]

    assert at_least <= in_virtual_time(asked()) <= at_most


@virtually
async def test_an_overloaded_server_is_not_asked_for_a_list_because_a_watch_was_refused() -> None:
    async with scene(FINE, Plan(refuse=429, retry_after="1"), Plan(refuse=500), Plan(refuse=503)) as one:
        await asyncio.sleep(30)
        assert one.asked == ["list", "watch", "watch", "watch", "watch"]


@virtually
async def test_a_forgotten_past_costs_one_list_at_once() -> None:
    async with scene() as one:
        await asyncio.sleep(10)
        one.world.change("again", "a")
        one.world.plans.append(Plan(refuse=410))
        one.world.cut()
        await asyncio.sleep(0.3)
        assert one.asked == ["list", "watch", "watch", "list", "watch"]
        assert one.informer.fresh
        assert one.stale == 0.0
        assert "410" not in "".join(one.witness.troubles), "that is no trouble, only time that passed"


@virtually
async def test_a_storm_of_410_is_met_with_patience() -> None:
    async with scene(*[FINE, Plan(refuse=410)] * 5000) as one:
        await asyncio.sleep(600)
        assert len(one.world.asked) < 2 * 600 / (LONGEST_PAUSE_S / 2) + 20
        assert one.stale <= LONGEST_PAUSE_S


@virtually
async def test_watches_that_end_at_once_are_met_with_patience_and_the_copy_still_follows() -> None:
    async with scene(FINE, *[Plan(end_after=0)] * 5000) as one:
        await asyncio.sleep(300)
        assert len(one.world.asked) < 2 * 300 / (LONGEST_PAUSE_S / 2) + 20
        one.world.change("put", "b")
        await asyncio.sleep(LONGEST_PAUSE_S)
        assert Key("n", "b") in one.informer.objects


@virtually
async def test_where_no_watch_opens_the_copy_is_kept_by_lists_and_says_how_old_it_is() -> None:
    async with scene() as one:
        await asyncio.sleep(1)
        one.world.refuse_watches = True
        one.world.cut()
        await asyncio.sleep(60)
        assert one.stale <= LONGEST_PAUSE_S
        for name in "bcdef":
            one.world.change("put", name)
            await asyncio.sleep(LONGEST_PAUSE_S)
            assert Key("n", name) in one.informer.objects
        one.world.refuse_watches = False
        await asyncio.sleep(LONGEST_PAUSE_S)
        lists = one.asked.count("list")
        await asyncio.sleep(300)
        assert one.asked.count("list") == lists, "and no longer than that"


@virtually
async def test_watches_that_end_after_every_event_are_opened_again_at_once() -> None:
    async with scene(FINE, *[Plan(end_after=1)] * 5000) as one:
        for _ in range(200):
            one.world.change("put", "b")
            await asyncio.sleep(0.01)
        assert len(one.witness.changes) == 201
        assert one.asked.count("list") == 1
        assert one.informer.fresh


@virtually
async def test_age_is_endless_before_the_first_list_and_grows_from_the_moment_the_connection_was_lost() -> (
    None
):
    async with scene(Plan(delay=5)) as one:
        await asyncio.sleep(1)
        assert one.stale == float("inf")
        assert not one.informer.fresh
        await asyncio.sleep(10)
        assert one.stale == 0.0
        one.world.plans.extend([Plan(refuse=503)] * 20)
        one.world.cut()
        await asyncio.sleep(8)
        assert one.stale == pytest.approx(8.0)
        assert not one.informer.fresh
        one.world.behave()
        await asyncio.sleep(LONGEST_PAUSE_S)
        assert one.stale == 0.0
        assert one.informer.fresh


@virtually
async def test_a_watch_that_is_slow_to_open_is_not_taken_for_one_that_follows() -> None:
    async with scene() as one:
        await asyncio.sleep(1)
        one.world.plans.append(Plan(delay=9))
        one.world.cut()
        await asyncio.sleep(6)
        assert not one.informer.fresh
        assert one.stale == pytest.approx(6.0)


@virtually
async def test_a_watch_ended_in_good_order_leaves_the_copy_fresh() -> None:
    async with scene(FINE, Plan(end_after=1)) as one:
        one.world.change("put", "b")
        for _ in range(100):
            await asyncio.sleep(0.01)
            assert one.informer.fresh or not one.informer.synced.is_set()
        assert one.stale == 0.0


@virtually
async def test_a_change_that_a_proxy_swallowed_is_found_at_the_next_list() -> None:
    async with scene(FINE, Plan(swallow=True)) as one:
        await asyncio.sleep(1)
        for name in "bcdefgh":
            one.world.change("put", name)
        one.world.change("remove", "a")
        await asyncio.sleep(120)
        assert {key.name for key in one.informer.objects} == set("abdfh"), "so it was really lost"
        told = len(one.witness.changes)
        one.world.forget()
        one.world.cut()
        await asyncio.sleep(1)
        assert {key.name for key in one.informer.objects} == set("bcdefgh")
        assert [change.key.name for change in one.witness.changes[told:]] == ["a", "c", "e", "g"]


@virtually
async def test_a_server_restored_from_a_backup_is_followed_after_its_silence() -> None:
    async with scene() as one:
        for name in "bcd":
            one.world.change("put", name)
        await asyncio.sleep(1)
        one.world.restore(2)
        one.world.cut()
        await asyncio.sleep(120)
        assert {key.name for key in one.informer.objects} == {"a", "b"}
        one.world.change("put", "e")
        await asyncio.sleep(1)
        assert Key("n", "e") in one.informer.objects


@virtually
async def test_a_silent_watch_was_old_from_the_last_thing_it_brought() -> None:
    async with scene() as one:
        for name in "bcd":
            one.world.change("put", name)
        await asyncio.sleep(1)
        # A server put back says nothing to those who know its future; here it then refuses lists too.
        one.world.restore(2)
        one.world.plans.extend([FINE, *[Plan(refuse=503)] * 1000])
        one.world.cut()
        await asyncio.sleep(60)
        assert one.stale == 0.0, "nobody could know yet"
        await asyncio.sleep(40)
        assert one.stale == pytest.approx(100, abs=0.5)


@virtually
async def test_a_list_that_takes_longer_than_a_request_may_is_still_read() -> None:
    async with scene(Plan(delay=45)) as one:
        await asyncio.sleep(46)
        assert one.informer.synced.is_set()


def test_pauses_double_up_to_the_longest_and_begin_anew() -> None:
    backoff = Backoff(0.2, 5.0)
    pauses = [backoff.pause() for _ in range(40)]
    for number, pause in enumerate(pauses):
        whole = min(0.2 * 2**number, 5.0)
        assert whole / 2 <= pause <= whole
    backoff.reset()
    assert backoff.pause() <= 0.2
