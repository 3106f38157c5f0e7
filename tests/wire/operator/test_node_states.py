"""What the operator and the agents write on nodes is read back exactly, or counts as not written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.wire.errors import WireError
from tangram.wire.operator import names
from tangram.wire.operator.node_states import (
    LONGEST_WHY,
    DriverState,
    MacaState,
    Phase,
    RuntimeState,
    Source,
    Upgrade,
    UpgradePhase,
    read_state,
    state_of,
    state_text,
)
from tangram.wire.operator.policies import ALSO, MEANINGS, DeployPolicy, read_deploy_policy

texts = st.text(st.characters(codec="utf-8"), max_size=40)


@given(
    st.builds(
        DriverState,
        phase=st.sampled_from(Phase),
        wanted=texts,
        running=texts,
        source=st.sampled_from(Source),
        needs_turn=st.booleans(),
        why=texts,
        functions=st.none() | st.sampled_from([0, 1, 2, 4, 8]),
    )
)
def test_a_drivers_state_is_read_back(state: DriverState) -> None:
    assert read_state(DriverState, state_text(state)) == state


@given(st.builds(Upgrade, to=texts, phase=st.sampled_from(UpgradePhase), why=texts))
def test_an_upgrade_is_read_back(upgrade: Upgrade) -> None:
    assert read_state(Upgrade, state_text(upgrade)) == upgrade


def test_what_is_usual_is_not_written() -> None:
    assert state_text(MacaState(phase=Phase.READY)) == '{"phase":"ready"}'


def test_a_long_sentence_is_cut_where_annotations_are_watched_by_everybody() -> None:
    written = read_state(RuntimeState, state_text(RuntimeState(phase=Phase.FAILED, why="x" * 9_000)))
    assert len(written.why) == LONGEST_WHY
    assert written.why.endswith("...")


@given(st.text())
def test_a_text_of_anything_is_no_state(text: str) -> None:
    with pytest.raises(WireError, match="is no DriverState"):
        read_state(DriverState, text)


def test_a_state_that_cannot_be_read_is_as_good_as_none() -> None:
    assert state_of(DriverState, {names.DRIVER_STATE: '{"phase":"ready"'}, names.DRIVER_STATE) is None
    assert state_of(DriverState, {}, names.DRIVER_STATE) is None


def test_every_key_on_a_node_has_one_writer() -> None:
    written = (
        *names.OPERATOR_ANNOTATIONS,
        *names.DRIVER_MANAGER_ANNOTATIONS,
        *names.RUNTIME_ANNOTATIONS,
        *names.DRIVER_MANAGER_LABELS,
        *names.RUNTIME_LABELS,
        names.MANAGED,
    )
    assert len(set(written)) == len(written)


@pytest.mark.parametrize("policy", DeployPolicy)
def test_every_policy_has_a_meaning_and_is_read_by_its_name(policy: DeployPolicy) -> None:
    assert read_deploy_policy(policy) is policy
    assert MEANINGS[policy]


def test_the_shipped_spelling_is_taken_too() -> None:
    assert {word: read_deploy_policy(word) for word in ALSO} == ALSO


def test_another_word_is_refused_with_those_there_are() -> None:
    with pytest.raises(WireError, match="'ifnotpresent': it is one of IfNotPresent, Always, Never"):
        read_deploy_policy("ifnotpresent")
