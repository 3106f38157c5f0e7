"""Whatever a server does: once it behaves, the copy is what the server has, and all steps up to there made sense."""

import asyncio

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from builders.hostile_api import ApiWithoutWire, hostile_server
from builders.hostile_world import HostileWorld, Plan
from builders.virtual_time import VirtualLoop
from builders.waiting import until
from builders.witness import Seen, Witness, keep
from tangram.kube import informer as informers
from tangram.kube.api import Api
from tangram.kube.informer import Informer, Key

NAMES = "abc"
VERBS = ("put", "put", "remove", "again", "spoil")
changes = st.tuples(st.sampled_from(VERBS), st.sampled_from(NAMES))
meddling = st.lists(changes, max_size=3).map(tuple)
yes = st.sampled_from((True,))
sizes = st.sampled_from((1, 7, 50))
one_fault = st.one_of(
    st.builds(
        Plan,
        refuse=st.sampled_from((410, 410, 429, 500, 503, 403)),
        retry_after=st.sampled_from(("", "1", "3600", "-1", "nan", "inf", "tomorrow")),
    ),
    st.builds(Plan, stale=st.integers(1, 4), meddle=meddling),
    st.builds(Plan, torn=yes, meddle=meddling),
    st.builds(Plan, cut_after=st.integers(0, 600), meddle=meddling),
    st.builds(Plan, end_after=st.integers(0, 3), error_event=st.sampled_from((0, 410, 500))),
    st.builds(Plan, end_after=st.integers(0, 2), half_line=yes),
    st.builds(Plan, swallow=yes),
    st.builds(Plan, crumbs=sizes, pace=st.sampled_from((0.0, 0.05))),
    st.builds(Plan, delay=st.sampled_from((0.5, 20.0, 100.0)), meddle=meddling),
)
all_faults = st.builds(
    Plan,
    meddle=meddling,
    torn=st.booleans(),
    cut_after=st.none() | st.integers(0, 600),
    end_after=st.none() | st.integers(0, 3),
    repeat=st.booleans(),
    stale=st.integers(0, 4),
    swallow=st.booleans(),
    half_line=st.booleans(),
    crumbs=sizes,
)
plans = st.one_of(one_fault, one_fault, one_fault, all_faults)
LONG_ENOUGH_S = 250.0
"""The slowest answer of a plan under way (a delay, then byte by byte) and the longest pause after it."""


def what_the_server_has(world: HostileWorld, informer: Informer[Seen]) -> bool:
    """Whether the copy is that. What cannot be read is named as such, and at most its own last good state is kept."""
    things = {Key("n", name): thing for name, thing in world.objects.items()}
    spoiled = {key for key, thing in things.items() if thing["spoiled"]}
    readable = {key: keep(thing) for key, thing in things.items() if key not in spoiled}
    kept = dict(informer.objects)
    last_good = {key: kept.pop(key) for key in spoiled if key in kept}
    return (
        kept == readable
        and spoiled == set(informer.unread)
        and all(seen.uid == things[key]["metadata"]["uid"] for key, seen in last_good.items())
    )


class HostileServer(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(informers, "PAGE", 1)
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.loop = self.runner.get_loop()
        self.world = HostileWorld()
        self.witness = Witness(self.world)
        self.informer = Informer(
            ApiWithoutWire(self.world),
            "/api/v1/pods",
            self.witness.told,
            keep=keep,
            troubled=self.witness.troubles.append,
            clock=self.loop.time,
        )
        self.running = self.loop.create_task(self.informer.run())

    @rule(several=st.lists(changes, min_size=1, max_size=4), seconds=st.sampled_from((0.0, 0.01, 1.0)))
    def others_change_something(self, several: list[tuple[str, str]], seconds: float) -> None:
        for change in several:
            self.world.change(*change)
        self.runner.run(asyncio.sleep(seconds))

    @rule(ahead=st.lists(plans, max_size=5), seconds=st.sampled_from((0.0, 1.0, 7.0)))
    def connections_break_and_the_next_requests_go_wrong(self, ahead: list[Plan], seconds: float) -> None:
        self.world.plans.extend(ahead)
        self.world.cut()
        self.runner.run(asyncio.sleep(seconds))

    @rule()
    def history_is_forgotten(self) -> None:
        self.world.forget()
        self.world.cut()

    @rule(seconds=st.sampled_from((0.01, 1.0, 7.0, 100.0)))
    def time_passes(self, seconds: float) -> None:
        self.runner.run(asyncio.sleep(seconds))

    @rule()
    def the_server_behaves_for_a_while(self) -> None:
        self.world.behave()
        self.runner.run(asyncio.sleep(LONG_ENOUGH_S))
        assert what_the_server_has(self.world, self.informer)
        assert self.informer.fresh
        assert self.informer.stale_for(self.loop.time()) == 0.0
        assert self.informer.synced.is_set()

    @invariant()
    def it_runs(self) -> None:
        if self.running.done():
            self.running.result()

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        try:
            self.the_server_behaves_for_a_while()
            self.it_runs()
        finally:
            self.running.cancel()
            self.runner.close()
            self.patched.undo()


TestHostileServer = HostileServer.TestCase


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([Plan(refuse=503, retry_after="0"), Plan(refuse=429), Plan(refuse=500)], id="refusals"),
        pytest.param([Plan(), Plan(refuse=410), Plan(), Plan(), Plan(refuse=410)], id="410-at-continue"),
        pytest.param([Plan(cut_after=n) for n in (0, 1, 40, 200)], id="lists-cut-in-the-middle"),
        pytest.param(
            [Plan(), Plan(), *[Plan(cut_after=n) for n in (0, 30, 160)]], id="watches-cut-in-a-line"
        ),
        pytest.param([Plan(), Plan(), Plan(half_line=True, end_after=0)], id="half-a-line"),
        pytest.param(
            [Plan(crumbs=1), Plan(crumbs=1), Plan(crumbs=1, repeat=True, stale=3)], id="byte-by-byte"
        ),
        pytest.param([Plan(), Plan(torn=True, meddle=(("again", "a"), ("put", "c")))], id="torn-pages"),
        pytest.param([Plan(), Plan(), *[Plan(end_after=1) for _ in range(6)]], id="watches-that-end"),
        pytest.param(
            [Plan(), Plan(), *[Plan(end_after=0, error_event=410) for _ in range(4)]], id="410-storm"
        ),
    ],
)
async def test_over_a_real_connection_the_copy_ends_up_true(
    faults: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(informers, "PAGE", 2)
    monkeypatch.setattr(informers, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(informers, "LONGEST_PAUSE_S", 0.01)
    world = HostileWorld()
    witness = Witness(world)
    for name in "abc":
        world.change("put", name)
    world.plans.extend(faults)
    async with hostile_server(world) as connection, Api(connection) as api:
        informer = Informer(api, "/api/v1/pods", witness.told, keep=keep, troubled=witness.troubles.append)
        running = asyncio.create_task(informer.run())
        try:
            for verb, name in (("again", "a"), ("remove", "b"), ("put", "b"), ("put", "c"), ("remove", "c")):
                world.change(verb, name)
                await asyncio.sleep(0.01)
            await until(lambda: not world.plans or informer.fresh)
            world.behave()
            world.change("put", "last")
            await until(lambda: Key("n", "last") in informer.objects)
            assert what_the_server_has(world, informer)
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
