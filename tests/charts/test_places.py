"""On which nodes pods of the charts can run: where the image does, or they would wait for it for ever."""

from typing import Any

import pytest

from builders.charts.cases import CHARTS, case_named
from builders.charts.goldens import Object, objects_of
from tangram.services.installation.matrix import ARCHITECTURES


def pods_of(chart: str) -> dict[str, dict[str, Any]]:
    """By the name of what makes them; with everything that is optional."""
    found: list[Object] = objects_of(case_named(chart, "deployExtenderGPUAware"))
    kinds = {"Deployment", "DaemonSet", "Job"}
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in found if each["kind"] in kinds
    }


def terms(pod: dict[str, Any]) -> list[list[dict[str, Any]]]:
    required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return [each["matchExpressions"] for each in required["nodeSelectorTerms"]]


@pytest.mark.parametrize("chart", CHARTS)
def test_pods_go_where_the_image_runs(chart: str) -> None:
    pods = pods_of(chart)
    assert len(pods) >= 4
    linux = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    built_for = {"key": "kubernetes.io/arch", "operator": "In", "values": list(ARCHITECTURES)}
    for name, pod in pods.items():
        if name.endswith("-gpu-device"):
            # It follows labels that only gpu-label writes, where that can run.
            assert all(term[0]["key"].endswith(".installed") for term in terms(pod))
            continue
        assert all(built_for in term for term in terms(pod)), name
        assert pod.get("nodeSelector") == {"kubernetes.io/os": "linux"} or linux in terms(pod)[0], name
