"""A figure read wrongly from somebody's metrics would make every bar of the cluster benchmark worthless."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import Histogram as Counted

from cluster_metrics import Histogram, api_writes, histogram, writes_per_pod

BOUNDS = (0.01, 0.02, 0.05, 0.1)


def counted(*seconds: float, name: str = "call_seconds") -> str:
    """The page of a program that has timed calls of these lengths, by turns under two labels."""
    registry = CollectorRegistry()
    made = Counted(name, "calls", ["verb"], buckets=BOUNDS, registry=registry)
    for number, each in enumerate(seconds):
        made.labels("even" if number % 2 else "odd").observe(each)
    return generate_latest(registry).decode()


@given(st.lists(st.floats(0, 0.1), min_size=1, max_size=50), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_lies_in_the_step_that_holds_the_call_of_that_rank(
    seconds: list[float], part: float
) -> None:
    found = histogram(counted(*seconds), "call_seconds").quantile(part)
    call = sorted(seconds)[max(0, math.ceil(part * len(seconds)) - 1)]
    above = min(bound for bound in BOUNDS if bound >= call)
    below = max((bound for bound in BOUNDS if bound < call), default=0.0)
    assert found is not None
    assert below <= found <= above * (1 + 1e-9)


def test_calls_within_one_step_are_taken_to_lie_evenly() -> None:
    assert Histogram(((0.1, 0), (0.2, 10), (math.inf, 10))).quantile(0.5) == pytest.approx(0.15)


def test_a_call_beyond_every_bound_is_told_as_the_last_bound() -> None:
    assert histogram(counted(5.0), "call_seconds").quantile(0.99) == 0.1


def test_without_calls_there_is_no_quantile() -> None:
    page = counted(0.01)
    assert histogram(page, "other_seconds").quantile(0.5) is None
    seen = histogram(page, "call_seconds")
    assert seen.since(seen).quantile(0.5) is None


def test_a_difference_counts_only_the_calls_in_between() -> None:
    before = histogram(counted(0.01, 0.01, 0.09), "call_seconds")
    later = histogram(counted(0.01, 0.01, 0.09, 0.04, 0.04), "call_seconds").since(before)
    assert later.count == 2
    assert 0.02 < (later.quantile(0.99) or 0) <= 0.05


def test_a_histogram_is_not_taken_for_another_whose_name_begins_alike() -> None:
    page = counted(0.01, name="call_seconds") + counted(0.09, 0.09, name="call_seconds_long")
    assert histogram(page, "call_seconds").count == 1


def request_line(verb: str, resource: str, value: int, subresource: str = "", code: int = 201) -> str:
    """A line as kube-apiserver writes it."""
    return (
        f'apiserver_request_total{{code="{code}",component="apiserver",dry_run="",group="",resource="{resource}",'
        f'scope="resource",subresource="{subresource}",verb="{verb}",version="v1"}} {value}'
    )


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param(request_line("POST", "pods", 7, "binding"), {"POST pods/binding": 7}, id="a binding"),
        pytest.param(request_line("PATCH", "pods", 3, "status"), {"PATCH pods/status": 3}, id="a nomination"),
        pytest.param(request_line("PATCH", "nodes", 2), {"PATCH nodes": 2}, id="a node lock"),
        pytest.param(
            request_line("POST", "pods", 4, "binding", 409), {"POST pods/binding": 4}, id="a refused one"
        ),
        pytest.param(request_line("POST", "events", 9), {}, id="an event"),
        pytest.param(request_line("PUT", "leases", 9), {}, id="a heartbeat"),
        pytest.param(request_line("POST", "subjectaccessreviews", 9), {}, id="a question"),
        pytest.param(request_line("GET", "pods", 9), {}, id="a read"),
        pytest.param(request_line("WATCH", "pods", 9), {}, id="a watch"),
        pytest.param("apiserver_request_total_other 5", {}, id="another metric"),
    ],
)
def test_writes_are_counted_by_kind_and_nothing_else_is(line: str, found: dict[str, int]) -> None:
    assert api_writes(line) == found


def test_refused_and_accepted_writes_of_a_kind_are_one_figure() -> None:
    text = "\n".join(
        [request_line("POST", "pods", 5, "binding"), request_line("POST", "pods", 2, "binding", 409)]
    )
    assert api_writes(text) == {"POST pods/binding": 7}


def test_writes_per_pod_leave_out_what_the_benchmark_itself_did_and_what_was_there_before() -> None:
    before = Counter({"POST pods": 100, "POST pods/binding": 100, "PUT configmaps": 3})
    after = Counter(
        {"POST pods": 150, "POST pods/binding": 150, "PATCH pods/status": 25, "PUT configmaps": 3}
    )
    assert writes_per_pod(before, after, 50) == {"PATCH pods/status": 0.5, "POST pods/binding": 1.0}
