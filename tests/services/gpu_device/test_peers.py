"""The node lock and the bind phase as HAMi and Koordinator expect them, and whom a call of Allocate is for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.starts import CORE, MEMORY, NODE, SGPU, bound, init, limits, mthreads_limits, sliced
from tangram.model.pods import Container, Phase
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.peers import (
    Outcome,
    Waiting,
    candidate,
    lock_holder,
    lock_to_release,
    phase_change,
)
from tangram.services.gpu_device.records import BoundPod, Late
from tangram.units.ids import Namespace, PodName, PodUid
from tangram.wire.nodelock import NODE_LOCK, LockHolder, parse_rfc3339

TAKEN = "2026-06-14T15:05:03Z"
NOW = parse_rfc3339(TAKEN) + 2
ONE = sliced("one", (0, 4, 10))
TWO = sliced("two", (0, 4, 10))
HOLDER = LockHolder(Namespace("default"), PodName("one"))


def released(
    value: str | None, *pods: BoundPod, now: int = NOW, gone: tuple[LockHolder, ...] = ()
) -> str | None:
    annotations = {} if value is None else {NODE_LOCK: value}
    return lock_to_release(annotations, NODE, pods, now=now, gone=gone)


def test_the_lock_of_a_pod_that_we_serve_is_released_letter_for_letter() -> None:
    for value in (f"{TAKEN},default,one", "2026-06-14T17:05:03+02:00, default ,one"):
        assert released(value, TWO, ONE) == value
        assert lock_holder({NODE_LOCK: value}) == HOLDER


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="no lock"),
        pytest.param("", id="empty"),
        pytest.param(f"{TAKEN},default,other", id="somebody else"),
        pytest.param(f"{TAKEN},other,one", id="another namespace"),
        pytest.param(f"{TAKEN},,one", id="a reservation of Koordinator"),
        pytest.param(f"{TAKEN},default", id="two parts"),
        pytest.param("yesterday,default,one", id="no time"),
    ],
)
def test_a_lock_that_is_not_ours_to_release_stays(value: str | None) -> None:
    assert released(value, ONE, TWO) is None


def test_a_holder_that_is_not_here_yet_keeps_its_lock_until_it_is_known_to_be_gone() -> None:
    value = f"{TAKEN},default,one"
    assert released(value, TWO, now=NOW + 10_000) is None
    assert released(value, TWO, gone=(HOLDER,)) == value


def test_a_pod_of_another_node_or_without_our_resources_is_not_ours() -> None:
    value = f"{TAKEN},default,one"
    assert released(value, bound("one", limits(), node="elsewhere")) is None
    assert released(value, bound("one", {"nvidia.com/gpu": "1"})) is None
    assert released(value, bound("one", limits(), phase=Phase.FAILED)) == value


def test_a_lock_that_names_nobody_is_released_once_it_has_expired() -> None:
    assert released(TAKEN, ONE, now=NOW + 298) is None
    assert released(TAKEN, now=NOW + 299) == TAKEN
    assert lock_holder({NODE_LOCK: TAKEN}) is None


@given(st.text())
def test_no_lock_is_too_odd_to_be_read(value: str) -> None:
    assert released(value, ONE) in (None, value)


@pytest.mark.parametrize(
    ("phase", "outcome", "written"),
    [
        ("allocating", Outcome.SUCCESS, "success"),
        ("allocating", Outcome.FAILED, "failed"),
        ("failed", Outcome.SUCCESS, "success"),
        ("failed", Outcome.FAILED, None),
        ("success", Outcome.FAILED, None),
        ("success", Outcome.SUCCESS, None),
        ("", Outcome.SUCCESS, None),
        (None, Outcome.SUCCESS, None),
    ],
)
def test_the_phase_moves_only_where_somebody_waits_for_it(
    phase: str | None, outcome: Outcome, written: str | None
) -> None:
    pod = bound("one", limits(), annotations={} if phase is None else {"hami.io/bind-phase": phase}).pod
    expected = None if written is None else {"hami.io/bind-phase": written}
    assert phase_change(pod, outcome) == expected


def found(
    count: int,
    *pods: BoundPod,
    resource: str = SGPU,
    served: tuple[tuple[BoundPod, str], ...] = (),
    holder: LockHolder | None = None,
) -> str:
    """The pod and container, or the code of the refusal; a `~` where it may only be late."""
    answer = candidate(resource, count, pods, {(each.kubelet_uid, name) for each, name in served}, holder)
    if isinstance(answer, Waiting):
        return f"{answer.bound.pod.ref.name}/{answer.container}"
    return f"~{answer.refusal.code}" if isinstance(answer, Late) else answer.code


def test_the_only_pod_that_waits_for_as_much_is_meant() -> None:
    assert found(1, ONE) == "one/c0"
    assert found(1, ONE, bound("large", limits(2))) == "one/c0"
    assert found(2, ONE, bound("large", limits(2))) == "large/c0"
    assert found(8, bound("mt", mthreads_limits(32, 8)), ONE, resource=CORE) == "mt/c0"
    assert found(32, bound("mt", mthreads_limits(32, 8)), ONE, resource=MEMORY) == "mt/c0"


def test_between_two_nothing_is_guessed_unless_one_holds_the_lock() -> None:
    assert found(1, ONE, TWO) == "waiting-several"
    assert found(1, ONE, TWO, holder=HOLDER) == "one/c0"
    assert found(1, ONE, TWO, holder=LockHolder(Namespace("default"), PodName("other"))) == "waiting-several"


def test_a_pod_without_an_allocation_is_a_candidate_too_and_is_not_passed_over() -> None:
    assert found(1, ONE, bound("stray", limits())) == "waiting-several"


def test_served_running_and_ended_pods_wait_no_more() -> None:
    running = sliced("running", (0, 4, 10), phase=Phase.RUNNING)
    over = sliced("over", (0, 4, 10), phase=Phase.FAILED)
    assert found(1, ONE, TWO, running, over, served=((TWO, "c0"),)) == "one/c0"
    assert found(1, ONE, served=((ONE, "c0"),)) == "~waiting-none"
    assert found(1) == "~waiting-none"


def test_the_containers_of_one_pod_come_in_their_order() -> None:
    pod = bound("pod", init("warm", limits()), Container("main", limits=limits()), Container("web"))
    assert found(1, pod) == "pod/warm"
    assert found(1, pod, served=((pod, "warm"),)) == "pod/main"
    assert found(1, pod, served=((pod, "warm"), (pod, "main"))) == "~waiting-none"
    uneven = bound("uneven", limits(2), limits(1))
    assert found(1, uneven) == "~waiting-none"
    assert found(1, uneven, served=((uneven, "c0"),)) == "uneven/c1"


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(1, 2), st.booleans()), unique_by=lambda each: each[0]
    ),
    st.integers(1, 2),
)
def test_whoever_is_meant_is_the_only_one_who_could_be(
    drawn: list[tuple[str, int, bool]], count: int
) -> None:
    pods = [bound(name, limits(units)) for name, units, _ in drawn]
    served = {(PodUid(f"uid-{name}"), "c0") for name, _, done in drawn if done}
    able = [name for name, units, done in drawn if units == count and not done]
    answer = candidate(SGPU, count, pods, served)
    if isinstance(answer, Waiting):
        assert able == [answer.bound.pod.ref.name]
    elif isinstance(answer, Refusal):
        assert len(able) > 1
    else:
        assert not able
