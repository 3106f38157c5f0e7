"""What a Job and its pods amount to, and the indexes of those that are done."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.kube.objects import Object
from tangram.sandbox.controllers.job_backoff import JobBackoff, seconds_to_wait
from tangram.sandbox.controllers.job_indexes import INDEX, first_free, read_indexes, write_indexes
from tangram.sandbox.controllers.job_pods import job_pod
from tangram.sandbox.controllers.job_view import (
    TRACKING,
    end_of,
    is_complete,
    seconds_left,
    view_of,
    wanted_active,
)

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def job(status: Object | None = None, **spec: object) -> Object:
    return {"metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": spec, "status": status or {}}


def pod(
    phase: str,
    uid: str = "p",
    *,
    tracked: bool = True,
    going: bool = False,
    index: int | None = None,
    ended: str = "",
) -> Object:
    metadata: Object = {"name": uid, "uid": uid, "finalizers": [TRACKING] if tracked else []}
    if going:
        metadata["deletionTimestamp"] = "2026-03-01T00:00:00Z"
    if index is not None:
        metadata["annotations"] = {INDEX: str(index)}
    state = [{"state": {"terminated": {"finishedAt": ended}}}] if ended else []
    return {"metadata": metadata, "spec": {}, "status": {"phase": phase, "containerStatuses": state}}


@given(st.sets(st.integers(0, 40)))
def test_indexes_are_read_as_they_were_written(indexes: set[int]) -> None:
    assert read_indexes(write_indexes(indexes), 41) == indexes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", set[int](), id="nothing"),
        pytest.param("0-2,5", {0, 1, 2, 5}, id="a run and one"),
        pytest.param("3-9", {3, 4}, id="beyond the last"),
        pytest.param("x,1", {1}, id="what cannot be read"),
    ],
)
def test_indexes_that_the_job_has_not_are_left_out(text: str, expected: set[int]) -> None:
    assert read_indexes(text, 5 if text == "3-9" else 6) == expected


def test_the_lowest_free_indexes_come_first() -> None:
    assert first_free(2, 6, {0, 2}) == [1, 3]
    assert first_free(9, 3, {1}) == [0, 2]


def test_pods_are_counted_once_whether_named_or_new_or_let_go() -> None:
    status: Object = {"succeeded": 4, "failed": 1, "uncountedTerminatedPods": {"succeeded": ["named"]}}
    pods = [
        pod("Succeeded", "named"),
        pod("Succeeded", "new"),
        pod("Succeeded", "counted", tracked=False),
        pod("Failed", "broken"),
        pod("Running", "leaving", going=True),
        pod("Running", "busy"),
    ]
    view = view_of(job(status, completions=9, parallelism=3), pods)
    assert (view.succeeded, view.failed) == (6, 3)
    assert [each["metadata"]["uid"] for each in view.active] == ["busy"]
    assert view.terminating == 1


def test_a_job_that_waits_for_the_end_of_pods_does_not_count_those_on_their_way() -> None:
    view = view_of(job(podReplacementPolicy="Failed"), [pod("Running", going=True)])
    assert (view.failed, view.terminating) == (0, 1)


@pytest.mark.parametrize(
    ("spec", "succeeded", "active", "expected"),
    [
        pytest.param({"completions": 5, "parallelism": 2}, 0, 0, 2, id="as many as at once"),
        pytest.param({"completions": 5, "parallelism": 4}, 3, 1, 2, id="no more than are left"),
        pytest.param({"completions": 2, "parallelism": 4}, 3, 0, 0, id="never fewer than none"),
        pytest.param({"parallelism": 3}, 0, 0, 3, id="a work queue"),
        pytest.param({"parallelism": 3}, 1, 2, 2, id="a work queue that is empty"),
        pytest.param({"completions": 3, "parallelism": 0}, 0, 0, 0, id="none at once"),
    ],
)
def test_as_many_pods_run_as_the_rest_needs(spec: Object, succeeded: int, active: int, expected: int) -> None:
    pods = [pod("Running", f"a{number}") for number in range(active)]
    assert wanted_active(view_of(job({"succeeded": succeeded}, **spec), pods)) == expected


def test_a_job_is_complete_only_when_nothing_of_it_runs() -> None:
    view = view_of(job({"succeeded": 2}, completions=2), [])
    assert is_complete(view, 0)
    assert not is_complete(view, 1)


@pytest.mark.parametrize(
    ("spec", "status", "pods", "reason"),
    [
        pytest.param(
            {"backoffLimit": 1},
            {"failed": 1},
            [pod("Failed")],
            "BackoffLimitExceeded",
            id="too many failures",
        ),
        pytest.param({"backoffLimit": 2}, {"failed": 1}, [pod("Failed")], None, id="as many as allowed"),
        pytest.param(
            {"activeDeadlineSeconds": 60},
            {"startTime": "2026-03-01T11:59:00Z"},
            [],
            "DeadlineExceeded",
            id="too long",
        ),
        pytest.param(
            {"activeDeadlineSeconds": 61}, {"startTime": "2026-03-01T11:59:00Z"}, [], None, id="not yet"
        ),
        pytest.param(
            {"activeDeadlineSeconds": 1, "suspend": True},
            {"startTime": "2026-03-01T11:59:00Z"},
            [],
            None,
            id="suspended",
        ),
    ],
)
def test_a_job_gives_up_for_the_reason_it_names(
    spec: Object, status: Object, pods: list[Object], reason: str | None
) -> None:
    end = end_of(view_of(job(status, **spec), pods), NOW)
    assert (end or {}).get("reason") == reason


def test_restarts_in_place_count_against_the_limit() -> None:
    busy = pod("Running")
    busy["status"]["containerStatuses"] = [{"restartCount": 3}]
    template = {"spec": {"restartPolicy": "OnFailure"}}
    assert end_of(view_of(job(backoffLimit=4, template=template), [busy]), NOW) is None
    assert end_of(view_of(job(backoffLimit=3, template=template), [busy]), NOW) is not None


def test_what_was_decided_stays_decided() -> None:
    told = {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded"}
    assert end_of(view_of(job({"conditions": [told]}), []), NOW) == told


def test_a_job_without_a_deadline_has_all_the_time() -> None:
    assert seconds_left(job(), NOW) is None


def test_each_failure_doubles_the_pause_and_a_success_ends_it() -> None:
    backoff = JobBackoff()
    failed = [pod("Failed", f"f{number}", ended=f"2026-03-01T11:59:{number:02}Z") for number in (10, 20, 30)]
    record = backoff.after("u", [], failed)
    assert record[0] == 3
    assert seconds_to_wait(record, NOW.timestamp()) == pytest.approx(40.0 - 30.0)
    backoff.keep("u", record)
    after = backoff.after("u", [pod("Succeeded", ended="2026-03-01T11:59:40Z")], [])
    assert seconds_to_wait(after, NOW.timestamp()) == 0.0
    one_more = backoff.after("u", [pod("Succeeded", ended="2026-03-01T11:59:15Z")], failed)
    assert one_more[0] == 2


def test_a_pod_of_an_indexed_job_carries_its_index_everywhere() -> None:
    template = {
        "spec": {"containers": [{"name": "c", "env": [{"name": "A"}]}], "initContainers": [{"name": "i"}]}
    }
    made = job_pod(job(template=template), 3)
    assert made["metadata"]["generateName"] == "j-3-"
    assert made["spec"]["hostname"] == "j-3"
    assert made["metadata"]["labels"][INDEX] == made["metadata"]["annotations"][INDEX] == "3"
    told = [
        each["env"][-1]["name"] for each in (*made["spec"]["containers"], *made["spec"]["initContainers"])
    ]
    assert told == ["JOB_COMPLETION_INDEX", "JOB_COMPLETION_INDEX"]
    assert template["spec"]["containers"][0]["env"] == [{"name": "A"}]
