"""The trace is read as its authors describe it; a wrong reader would make every quality number worthless."""

from pathlib import Path

import pytest

from tangram.engine.simulate import Arrival
from tangram.model.nodes import Node
from tangram.wire.openb import read_trace_nodes, read_trace_pods

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "data" / "openb"
WORKLOADS = ("default", "gpushare100", "gpuspec33", "multigpu50")


def read_nodes() -> tuple[Node, ...]:
    file = FOLDER / "openb_node_list_gpu_node.csv"
    return read_trace_nodes(file.read_text(encoding="utf-8").splitlines(), file.name)


def read_pods(workload: str) -> tuple[Arrival, ...]:
    file = FOLDER / f"openb_pod_list_{workload}.csv"
    return tuple(read_trace_pods(file.read_text(encoding="utf-8").splitlines(), file.name))


def cards(pod: Arrival) -> int:
    return sum(ask.count for container in pod.request.containers for ask in container.asks)


def models(pod: Arrival) -> frozenset[str]:
    return pod.request.cards.only_products


def test_nodes() -> None:
    nodes = read_nodes()
    assert len({node.name for node in nodes}) == len(nodes) == 1_213
    assert sum(len(node.cards) for node in nodes) == 6_212
    assert sum(node.host.cpu_milli or 0 for node in nodes) == 107_018_000


def test_default_pods() -> None:
    pods = read_pods("default")
    assert len(pods) == 8_152
    assert round(sum(pod.weight_milli for pod in pods) / 1000, 1) == 6_086.8
    assert sum(cards(pod) == 0 for pod in pods) / len(pods) == pytest.approx(0.133, abs=5e-4)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_workload_is_well_formed(workload: str) -> None:
    known = {card.product for node in read_nodes() for card in node.cards}
    pods = read_pods(workload)
    assert len({pod.name for pod in pods}) == len(pods)
    for pod in pods:
        assert (cards(pod) == 0) == (pod.weight_milli == 0)
        assert pod.weight_milli == 1_000 * cards(pod) or cards(pod) <= 1, "only single cards are shared"
        assert models(pod) <= known


def test_workloads_stress_what_they_are_named_for() -> None:
    share = read_pods("gpushare100")
    assert all(pod.weight_milli < 1_000 for pod in share)

    spec = read_pods("gpuspec33")
    named = sum(pod.weight_milli for pod in spec if models(pod))
    assert named / sum(pod.weight_milli for pod in spec) == pytest.approx(1 / 3, abs=0.02)

    multi = read_pods("multigpu50")
    several = sum(pod.weight_milli for pod in multi if cards(pod) > 1)
    assert several / sum(pod.weight_milli for pod in multi) == pytest.approx(1 / 2, abs=0.02)
