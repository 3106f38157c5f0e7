"""The scheduler in the release of chart `metax-operator`, or in one of its own beside it.

It must be the scheduler of chart `tangram` in every field but those that say where it is and whose agent it trusts.
"""

from __future__ import annotations

import json
import re

import pytest

from builders.charts.cases import DEFAULT, HOMES, OPERATOR, TANGRAM, case_named
from builders.charts.goldens import Object, key_of, objects_of
from builders.charts.reading import of_kind, pod_of
from tangram.wire.operator import names
from tangram.wire.operator.reading import read_spec
from tangram.wire.operator.spec import Spec


def made(case: str = DEFAULT) -> list[Object]:
    return objects_of(case_named(OPERATOR, case))


def spec_of(case: str) -> Spec:
    (found,) = of_kind(made(case), names.KIND)
    return read_spec(found)


def scheduler_of(chart: str, case: str, agent: str) -> dict[str, str]:
    """Its objects by name, each as text in which chart, release, namespace and agent are called the same."""
    named = case_named(chart, case)
    found = {
        key_of(each): json.dumps(each, sort_keys=True)
        for each in objects_of(named)
        if each["metadata"]["name"].startswith(("tangram-scheduler", "tangram-allocations"))
        or each["metadata"]["labels"]["app.kubernetes.io/component"] in ("kube-scheduler", "volume-scheduler")
    }
    return {
        key: text.replace(f"{HOMES[chart]}:{agent}", "HOME:AGENT")
        .replace(f'/instance": "{named.release}"', '/instance": "RELEASE"')
        .replace(f'namespace": "{named.namespace}"', 'namespace": "HOME"')
        .replace(f"serviceaccount:{named.namespace}:", "serviceaccount:HOME:")
        .replace(f'"{named.namespace}/tangram-scheduler', '"HOME/tangram-scheduler')
        .replace(f'"kube-system", "{named.namespace}"', '"kube-system", "HOME"')
        .replace(f'resourceNamespace: \\"{named.namespace}', 'resourceNamespace: \\"HOME')
        for key, text in found.items()
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("gpuScheduler", DEFAULT), ("kubernetes-1.28-gpuScheduler", "kubernetes-1.28")],
)
def test_the_scheduler_is_that_of_chart_tangram_but_for_the_agent_that_it_trusts(
    ours: str, theirs: str
) -> None:
    here = scheduler_of(OPERATOR, ours, "metax-gpu-device")
    assert len(here) > 12
    assert here == _without_checksum(scheduler_of(TANGRAM, theirs, "tangram-gpu-device"), here)


def _without_checksum(objects: dict[str, str], like: dict[str, str]) -> dict[str, str]:
    """The checksum of a text with the namespace in it is another in each."""
    mark = re.compile(r'(?<="checksum/kube-scheduler": ")[0-9a-f]{64}')
    sums = {key: mark.findall(text) for key, text in like.items()}
    return {key: mark.sub(sums[key][0], text) if sums.get(key) else text for key, text in objects.items()}


def test_what_all_parts_share_holds_for_the_scheduler_too() -> None:
    case = "scheduler-with-what-all-parts-share"
    (scheduler,) = [
        each for each in of_kind(made(case), "Deployment") if each["metadata"]["name"] == "tangram-scheduler"
    ]
    pod = pod_of(scheduler)["spec"]
    assert pod["imagePullSecrets"] == [{"name": "my-registry"}]
    ours = pod["containers"][0]
    assert ours["image"].startswith("registry.example.com:5000/gpu/tangram:")
    assert ours["imagePullPolicy"] == "Always"
    assert ours["args"][ours["args"].index("--log-level") + 1] == "debug"


def test_the_operator_counts_the_scheduler_where_it_is() -> None:
    for case, place in (("gpuScheduler", OPERATOR), ("gpuScheduler.namespace", "tangram")):
        wanted = spec_of(case).gpu_scheduler
        assert (wanted.deploy, wanted.namespace) == (True, place)
    assert not spec_of(DEFAULT).gpu_scheduler.deploy
    names_there = {each["metadata"]["name"] for each in made("gpuScheduler.namespace")}
    assert names_there == {each["metadata"]["name"] for each in made()}


def test_the_scheduler_can_have_a_release_of_its_own_beside_this_one() -> None:
    beside = {key_of(each) for each in objects_of(case_named(TANGRAM, "beside-the-operator"))}
    assert beside & {key_of(each) for each in made("gpuScheduler.namespace")} == set()
    (policy,) = [
        each
        for each in of_kind(
            objects_of(case_named(TANGRAM, "beside-the-operator")), "ValidatingAdmissionPolicy"
        )
        if each["metadata"]["name"] == "tangram-allocations"
    ]
    assert "system:serviceaccount:metax-operator:metax-gpu-device" in json.dumps(policy)


def test_what_the_scheduler_wrote_goes_with_it() -> None:
    jobs = {each["metadata"]["name"]: each for each in of_kind(made("gpuScheduler"), "Job")}
    assert jobs.keys() == {"metax-remove-operator", "metax-cleanup", "tangram-cleanup"}
    (container,) = pod_of(jobs["tangram-cleanup"])["spec"]["containers"]
    assert container["args"][:5] == ["cleanup", "--namespace", OPERATOR, "--chart", TANGRAM]
    assert "tangram-cleanup" not in {
        each["metadata"]["name"] for each in of_kind(made("scheduler-without-cleanup"), "Job")
    }
