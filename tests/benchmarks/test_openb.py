"""The trace is read as its authors describe it; a wrong reader would make every quality number worthless."""

import pytest

import openb


def test_nodes() -> None:
    nodes = openb.read_nodes()
    assert len({node.name for node in nodes}) == len(nodes) == 1_213
    assert sum(node.cards for node in nodes) == 6_212
    assert sum(node.cpu_milli for node in nodes) == 107_018_000


def test_default_pods() -> None:
    pods = openb.read_pods("default")
    assert len(pods) == 8_152
    assert round(sum(pod.demand_milli for pod in pods) / 1000, 1) == 6_086.8
    assert sum(pod.cards == 0 for pod in pods) / len(pods) == pytest.approx(0.133, abs=5e-4)


@pytest.mark.parametrize("workload", openb.WORKLOADS)
def test_every_workload_is_well_formed(workload: str) -> None:
    models = {node.model for node in openb.read_nodes()}
    pods = openb.read_pods(workload)
    assert len({pod.name for pod in pods}) == len(pods)
    for pod in pods:
        assert (pod.cards == 0) == (pod.card_milli == 0)
        assert pod.card_milli == 1_000 or pod.cards <= 1, "only single cards are shared"
        assert pod.models <= models


def test_workloads_stress_what_they_are_named_for() -> None:
    share = openb.read_pods("gpushare100")
    assert all(pod.card_milli < 1_000 for pod in share)

    spec = openb.read_pods("gpuspec33")
    named = sum(pod.demand_milli for pod in spec if pod.models)
    assert named / sum(pod.demand_milli for pod in spec) == pytest.approx(1 / 3, abs=0.02)

    multi = openb.read_pods("multigpu50")
    several = sum(pod.demand_milli for pod in multi if pod.cards > 1)
    assert several / sum(pod.demand_milli for pod in multi) == pytest.approx(1 / 2, abs=0.02)
