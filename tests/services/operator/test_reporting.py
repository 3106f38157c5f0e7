"""The status says what is the case, is written when it says something new, and remembers what a new leader needs."""

import datetime as dt
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tangram.services.operator.readiness import Judgement
from tangram.services.operator.reporting import (
    is_installed,
    judged,
    merge_patch,
    patch_for,
    refused,
    removing,
)
from tangram.wire.operator.status import (
    LONGEST_MESSAGE,
    ConditionType,
    NodeProblem,
    Nodes,
    PartState,
    PartStatus,
    State,
    Status,
    condition_of,
    status_object,
)

NOW = dt.datetime(2026, 11, 17, 10, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(hours=1)
WELL = Judgement(
    state=State.READY,
    message="1 GPU node is ready",
    parts=(PartStatus(name="gpu-label", state=PartState.READY, wanted=1, ready=1),),
    nodes=Nodes(managed=1, ready=1),
    ready_nodes="1/1",
    complete=True,
    degraded="",
    upgrading=False,
)
ILL = replace(
    WELL, state=State.DEPLOYING, message="n1 fails", complete=False, degraded="n1 fails", ready_nodes="0/1"
)


def thing(status: Status | None = None, generation: int = 3) -> dict[str, Any]:
    return {
        "metadata": {"name": "cluster-operator", "generation": generation},
        "status": status_object(status) if status else {},
    }


def told(status: Status) -> dict[str, str]:
    return {each.type: each.status for each in status.conditions}


def test_conditions_are_those_that_other_tools_wait_for() -> None:
    status = judged(thing(), WELL, None, NOW)
    assert told(status) == {"Ready": "True", "Degraded": "False", "Upgrading": "False", "Installed": "True"}
    assert {each.observed_generation for each in status.conditions} == {3} == {status.observed_generation}
    assert all(each.last_transition_time == "2026-11-17T10:00:00Z" for each in status.conditions)


def test_installed_is_true_once_and_for_all() -> None:
    first = judged(thing(), ILL, None, NOW)
    assert not is_installed(thing(first))
    done = judged(thing(first), WELL, None, NOW)
    assert is_installed(thing(done))
    for later in (
        judged(thing(done), ILL, None, LATER),
        refused(thing(done), "the spec is refused", LATER),
        removing(thing(done), "going", LATER),
    ):
        assert is_installed(thing(later))
        assert told(later)["Ready"] == "False"


def test_a_condition_keeps_the_moment_of_its_last_change() -> None:
    first = judged(thing(), ILL, None, NOW)
    same = judged(thing(first), replace(ILL, message="n1 still fails"), None, LATER)
    ready = condition_of(same, ConditionType.READY)
    assert ready is not None
    assert (ready.last_transition_time, ready.message) == ("2026-11-17T10:00:00Z", "n1 still fails")


def test_nothing_is_written_that_is_there_already() -> None:
    status = judged(thing(), WELL, None, NOW)
    assert patch_for(thing(status), judged(thing(status), WELL, None, LATER)) is None


def test_what_is_said_of_parts_stays_while_the_spec_is_refused() -> None:
    first = judged(thing(), WELL, None, NOW)
    now = refused(thing(first), "the spec is refused: x", NOW)
    assert (now.state, now.message, now.parts) == (State.ERROR, "the spec is refused: x", first.parts)


def test_the_status_stays_small() -> None:
    endless = "x" * 100_000
    problems = tuple(NodeProblem(name="n", part="p", message=endless) for _ in range(20))
    found = replace(ILL, message=endless, nodes=Nodes(managed=20, problems=problems))
    status = judged(thing(), found, None, NOW)
    assert max(len(each.message) for each in status.nodes.problems) == LONGEST_MESSAGE
    assert len(str(status_object(status))) < 30_000


def test_a_status_that_nobody_can_read_is_written_anew() -> None:
    broken = {"metadata": {"generation": 1}, "status": {"conditions": "none"}}
    assert patch_for(broken, judged(broken, WELL, None, NOW)) is not None


json_values = st.recursive(
    st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text("abc", max_size=2), json_values),
    st.dictionaries(st.text("abc", max_size=2), json_values),
)
def test_a_patch_makes_the_one_of_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merged(old, merge_patch(old, new)) == new


def merged(target: Any, patch: Any) -> Any:  # noqa: ANN401 - RFC 7386, word for word
    if not isinstance(patch, dict):
        return patch
    result: dict[str, Any] = dict(target) if isinstance(target, dict) else {}  # pyright: ignore[reportUnknownArgumentType] - any JSON
    for key, value in patch.items():  # pyright: ignore[reportUnknownVariableType] - any JSON
        if value is None:
            result.pop(key, None)  # pyright: ignore[reportUnknownArgumentType] - any JSON
        else:
            result[key] = merged(result.get(key), value)  # pyright: ignore[reportUnknownArgumentType] - any JSON
    return result
