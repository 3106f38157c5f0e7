"""Whatever the facts, no decision takes a card from a pod, replaces a working driver unasked, or repeats a failure."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.drivers.modules.protocol import FunctionState, LoadedModule
from tangram.services.driver_manager.choosing import choose
from tangram.services.driver_manager.deciding import decide
from tangram.services.driver_manager.decisions import Begin, Drop, Finish, Load, Split, Unload
from tangram.services.driver_manager.facts import Busy, Facts, Sight, Wish, running_in
from tangram.services.driver_manager.journal import Change, Failed, Journal, Target
from tangram.services.driver_manager.judging import is_broken
from tangram.services.driver_manager.problems import Problem
from tangram.services.driver_manager.staged import Staged, digest_of
from tangram.services.driver_manager.unpacking import Installed, LinkState, Owner
from tangram.services.driver_manager.versions import is_newer
from tangram.units.na import NA
from tangram.wire.operator.node_states import Phase, Source
from tangram.wire.operator.payloads import Payload, PayloadFile, PayloadKind, payload_text
from tangram.wire.operator.policies import DeployPolicy

KERNEL = "5.15.0"
CARDS = ("0000:10:00.0", "0000:11:00.0")
BOOT = "boot"
VERSIONS = ("2.31.0", "2.32.0", "2.33.0")


def payload_of(version: str) -> Staged:
    payload = Payload(
        format=1,
        kind=PayloadKind.DRIVER,
        version=version,
        architecture="amd64",
        kernels=(KERNEL,),
        modules=("metax",),
        files={f"modules/{KERNEL}/metax.ko": PayloadFile("0" * 64, 1)},
    )
    text = payload_text(payload).encode()
    return Staged(image=f"reg/driver-image:{version}", folder=Path("/p"), payload=payload, text=text)


PAYLOADS = {version: payload_of(version) for version in VERSIONS}
OURS = {
    version: Target(source=Source.CLOUD, version=version, digest=staged.digest)
    for version, staged in PAYLOADS.items()
}
FOLDERS = {
    version: Installed(payload=staged.payload, digest=digest_of(staged.text))
    for version, staged in PAYLOADS.items()
}
HOSTS = Target(source=Source.HOST, version="2.31.0")

versions = st.sampled_from(VERSIONS)
targets = st.sampled_from([*OURS.values(), HOSTS, Target()])
problems = st.sampled_from([Problem("payload-absent", "x"), Problem("wrong-kernel", "x")])
changes = st.builds(
    Change, to=targets, back=targets, undoing=st.booleans(), code=st.just("c"), why=st.just("w")
)
failures = st.builds(
    Failed,
    key=targets.map(lambda target: target.key),
    policy=st.sampled_from(list(DeployPolicy)),
    boot=st.sampled_from([BOOT, "other"]),
    code=st.just("verify-failed"),
    why=st.just("w"),
    turn=st.sampled_from(["", *VERSIONS]),
)
journals = st.builds(
    Journal,
    loaded=targets,
    boot=st.sampled_from([BOOT, "other"]),
    change=st.none() | changes,
    failed=st.lists(failures, max_size=3).map(tuple),
    aside=st.booleans(),
    host_ran=st.booleans(),
    functions=st.sampled_from([None, 0, 2]),
)
sights = st.builds(
    Sight,
    well=st.sampled_from([(), CARDS[:1], CARDS]),
    version=st.sampled_from([NA, *VERSIONS]),
    trouble=st.sampled_from(["", "hangs"]),
    bad_looks=st.integers(0, 4),
)
times = st.sampled_from([0.0, 1.0, 45.0, 1000.0])
everything = st.builds(
    Facts,
    policy=st.sampled_from(list(DeployPolicy)),
    journal=journals,
    cards=st.sampled_from([(), CARDS]),
    kernel=st.just(KERNEL),
    boot=st.just(BOOT),
    loaded=st.none() | st.builds(LoadedModule, name=st.just("metax"), version=versions | st.just(NA)),
    of_host=st.sampled_from([None, NA, "2.31.0"]),
    functions=st.sampled_from([(), tuple(FunctionState(bdf=card, now=0, most=4) for card in CARDS)]),
    sight=sights,
    payload=st.none() | problems | versions.map(PAYLOADS.__getitem__),
    installed=st.sets(versions).map(lambda found: {each: FOLDERS[each] for each in found}),
    link=st.sampled_from(
        [LinkState(Owner.NOBODY), LinkState(Owner.HOST), *(LinkState(Owner.OURS, each) for each in VERSIONS)]
    ),
    wish=st.builds(
        Wish, functions=st.sampled_from([None, 0, 2, 8]), parameters=st.sampled_from([{}, {"x": "1"}])
    ),
    runtime_ready=st.booleans(),
    turn=st.sampled_from(["", *VERSIONS]),
    remove=st.booleans(),
    busy=st.sampled_from([None, Busy(), Busy(pods=("ml/a",)), Busy(trouble="silent")]),
    offered=st.booleans(),
    withdrawn=st.booleans(),
    trouble=st.none() | problems,
    refused_for=times,
    changing_for=times,
    loaded_for=times,
    tried_ago=times,
    cleaned=st.booleans(),
)


@given(everything)
def test_nothing_is_unloaded_or_split_unless_nobody_holds_or_can_be_given_a_card(facts: Facts) -> None:
    step = decide(facts).step
    if isinstance(step, Unload) or (isinstance(step, Split) and not facts.remove):
        assert facts.busy == Busy()
        assert facts.withdrawn
        assert not facts.offered
    if isinstance(step, Split):
        assert facts.busy == Busy()
    if isinstance(step, Load):
        assert facts.loaded is None


@given(everything)
def test_a_driver_that_works_is_replaced_only_in_its_turn(facts: Facts) -> None:
    step = decide(facts).step
    running = running_in(facts)
    if isinstance(step, Begin) and running is not None and not is_broken(facts):
        change = step.change
        assert change.back == running
        assert change.to.version in (running.version, facts.turn)
        assert facts.busy == Busy()


@given(everything)
def test_a_host_driver_that_could_not_come_back_is_never_replaced(facts: Facts) -> None:
    step = decide(facts).step
    running = running_in(facts)
    if (
        isinstance(step, Begin)
        and running is not None
        and running.source is Source.HOST
        and facts.of_host is None
    ):
        assert step.change.only_splits


@given(everything)
def test_what_failed_is_not_begun_again_while_all_is_the_same(facts: Facts) -> None:
    step = decide(facts).step
    if not isinstance(step, Begin) or step.change.only_splits:
        return
    key = step.change.to.key
    same = [
        each
        for each in facts.journal.failed
        if (each.key, each.policy, each.boot) == (key, facts.policy, facts.boot)
    ]
    if same:
        assert facts.turn == step.change.to.version != same[0].turn


@given(everything)
def test_what_the_node_says_is_never_half_true(facts: Facts) -> None:
    decision = decide(facts)
    state = decision.state
    if decision.is_ready:
        assert state.running
        assert facts.loaded is not None
        assert not is_broken(facts)
    assert bool(state.running) == (state.source is not Source.NONE)
    if state.phase is Phase.REMOVED:
        assert facts.remove
        assert decision.step is None
    if state.phase in (Phase.FAILED, Phase.WAITING) and facts.cards:
        assert state.code or decision.step
    if state.needs_turn:
        assert state.running
        assert state.wanted not in ("", state.running)


@given(everything)
def test_a_change_under_way_that_runs_what_it_should_ends(facts: Facts) -> None:
    """Nothing waits for ever on a node where all is well."""
    change = facts.journal.change
    if change is None or facts.remove or facts.trouble is not None:
        return
    settled = msgspec.structs.replace(
        facts,
        cards=CARDS,
        busy=Busy(),
        withdrawn=True,
        offered=False,
        sight=Sight(well=CARDS, version=change.now.version or NA),
        loaded_for=1000.0,
        loaded=facts.loaded and LoadedModule(name="metax", version=change.now.version or "2.31.0"),
    )
    decision = decide(settled)
    assert decision.step is not None
    if running_in(settled) == change.now and change.now.source is Source.CLOUD:
        linked = settled.link == LinkState(Owner.OURS, change.now.version)
        assert isinstance(decision.step, Finish | Split | Drop) == linked


NOW = Facts(policy=DeployPolicy.ALWAYS, cards=CARDS, kernel=KERNEL, boot=BOOT)
CLOUD, HOST, NONE = Source.CLOUD, Source.HOST, Source.NONE
OLDER, NEWER, BAD = PAYLOADS["2.31.0"], PAYLOADS["2.33.0"], Problem("wrong-kernel", "x")


@pytest.mark.parametrize(
    ("policy", "bare", "and_newer", "and_older", "and_bad"),
    [
        (DeployPolicy.IF_NOT_PRESENT, CLOUD, HOST, HOST, HOST),
        (DeployPolicy.ALWAYS, CLOUD, CLOUD, CLOUD, NONE),
        (DeployPolicy.NEVER, NONE, HOST, HOST, HOST),
        (DeployPolicy.IF_NEWER, CLOUD, CLOUD, HOST, HOST),
        (DeployPolicy.PREFER_CLOUD, CLOUD, CLOUD, CLOUD, HOST),
        (DeployPolicy.PREFER_HOST, CLOUD, HOST, HOST, HOST),
        (DeployPolicy.PREFER_NEWER, CLOUD, CLOUD, HOST, HOST),
    ],
)
def test_whose_driver_a_node_runs_follows_the_table(
    policy: DeployPolicy,
    bare: Source,
    and_newer: Source,
    and_older: Source,
    and_bad: Source,
) -> None:
    def chosen(of_host: str | None, payload: Staged | Problem) -> Source:
        facts = msgspec.structs.replace(NOW, policy=policy, of_host=of_host, payload=payload)
        return choose(facts).target.source

    assert chosen(None, NEWER) is bare
    assert chosen("2.32.0", NEWER) is and_newer
    assert chosen("2.32.0", OLDER) is and_older
    assert chosen("2.32.0", BAD) is and_bad


@pytest.mark.parametrize(
    ("policy", "after"),
    [
        (DeployPolicy.ALWAYS, CLOUD),
        (DeployPolicy.PREFER_CLOUD, HOST),
        (DeployPolicy.PREFER_NEWER, HOST),
    ],
)
def test_a_payload_that_failed_here_gives_way_where_the_policy_says_so(
    policy: DeployPolicy, after: Source
) -> None:
    failed = Failed(key=OURS["2.33.0"].key, policy=policy, boot=BOOT, code="verify-failed", why="w")
    facts = msgspec.structs.replace(
        NOW, policy=policy, of_host="2.32.0", payload=NEWER, journal=Journal(failed=(failed,))
    )
    assert choose(facts).target.source is after


def test_a_driver_of_the_host_that_shows_no_card_gives_way_to_the_payloads_under_prefer_host() -> None:
    facts = msgspec.structs.replace(
        NOW,
        policy=DeployPolicy.PREFER_HOST,
        of_host="2.32.0",
        loaded=LoadedModule(name="metax", version="2.32.0"),
        sight=Sight(trouble="hangs", bad_looks=3),
        payload=OLDER,
    )
    choice = choose(facts)
    assert choice.target.source is CLOUD
    assert choice.problem is not None
    assert choice.problem.code == "host-driver-broken"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("2.9.0", "2.10.0"),
        ("2.32", "2.32.1"),
        ("2.32.0-rc1", "2.32.0"),
        ("2.32.0.3", "2.33"),
        ("2.32.0", "3"),
    ],
)
def test_versions_are_compared_by_their_numbers(older: str, newer: str) -> None:
    assert is_newer(newer, older)
    assert not is_newer(older, newer)
    assert not is_newer("2.32", "2.32.0")
