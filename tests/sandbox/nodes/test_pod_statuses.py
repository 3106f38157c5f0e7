"""Statuses as a kubelet writes them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import pytest

from tangram.kube.objects import Object
from tangram.sandbox.nodes.admitting import Rejected, rejected
from tangram.sandbox.nodes.containers import Ended
from tangram.sandbox.nodes.pod_specs import Container, requests_of
from tangram.sandbox.nodes.pod_statuses import Frame, Sight, phase_of, status_of
from tangram.sandbox.nodes.pulse import Pulse
from tangram.sandbox.nodes.restarting import Pauses, pause_text

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
FRAME = Frame(host_ip="127.0.0.1", pod_ip="10.1.0.1", started_at=NOW)
APP = Container(name="c", spec={"image": "registry/app:1"})
INIT = Container(name="first", spec={}, init=True)
BESIDE = Container(name="beside", spec={}, init=True, sidecar=True)


def ended(code: int) -> Ended:
    return Ended(id="x", exit_code=code, reason="Error", started_at=NOW, finished_at=NOW)


def waiting(container: Container) -> Sight:
    return Sight(container=container)


def runs(container: Container) -> Sight:
    return Sight(container=container, id="x", running_since=NOW)


def over(container: Container, code: int = 0) -> Sight:
    return Sight(container=container, id="x", running_since=NOW, ended=ended(code))


def backing_off(container: Container) -> Sight:
    return Sight(container=container, waiting="CrashLoopBackOff", last=ended(1), restarts=1)


@pytest.mark.parametrize(
    ("policy", "sights", "phase"),
    [
        pytest.param("Always", [waiting(APP)], "Pending", id="being created"),
        pytest.param("Always", [runs(APP)], "Running", id="running"),
        pytest.param("Always", [over(APP)], "Running", id="about to be started again"),
        pytest.param("Always", [backing_off(APP)], "Running", id="backing off"),
        pytest.param("Never", [over(APP)], "Succeeded", id="done"),
        pytest.param("Never", [over(APP, 1)], "Failed", id="failed"),
        pytest.param("OnFailure", [over(APP, 1)], "Running", id="failed and tried again"),
        pytest.param("OnFailure", [over(APP)], "Succeeded", id="done at last"),
        pytest.param("Never", [over(APP), runs(APP)], "Running", id="one of two done"),
        pytest.param("Never", [runs(INIT), waiting(APP)], "Pending", id="initializing"),
        pytest.param("Never", [over(INIT), waiting(APP)], "Pending", id="initialized"),
        pytest.param("Never", [runs(BESIDE), runs(APP)], "Running", id="with a sidecar"),
        pytest.param("Never", [runs(BESIDE), over(APP)], "Running", id="until the sidecar has ended"),
        pytest.param("Never", [over(BESIDE), over(APP)], "Succeeded", id="done with its sidecar"),
    ],
)
def test_the_phase_follows_from_containers_and_restart_policy(
    policy: str, sights: list[Sight], phase: str
) -> None:
    assert phase_of({"spec": {"restartPolicy": policy}}, sights, FRAME) == phase


def test_a_pod_that_will_never_run_again_has_succeeded_or_failed() -> None:
    pod: Object = {"spec": {"restartPolicy": "Always"}}
    gone = Frame(host_ip="127.0.0.1", started_at=NOW, over=True)
    assert phase_of(pod, [over(APP)], gone) == "Succeeded"
    assert phase_of(pod, [over(APP, 143)], gone) == "Failed"
    assert phase_of(pod, [waiting(APP)], gone) == "Failed"
    late = Frame(host_ip="127.0.0.1", started_at=NOW, over=True, reason="DeadlineExceeded", message="late")
    status = status_of(pod, [over(APP)], late, [], NOW)
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "DeadlineExceeded", "late")


def test_conditions_keep_their_time_until_they_change_and_take_back_their_words() -> None:
    pod: Object = {"spec": {}}
    first = status_of(pod, [waiting(APP)], FRAME, [], NOW)
    ready = {each["type"]: each for each in first["conditions"]}["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    assert ready["message"] == "containers with unready status: [c]"
    later = NOW + dt.timedelta(seconds=9)
    second = status_of(pod, [waiting(APP)], FRAME, first["conditions"], later)
    assert second == first
    third = {
        each["type"]: each
        for each in status_of(pod, [runs(APP)], FRAME, first["conditions"], later)["conditions"]
    }
    assert third["Ready"]["lastTransitionTime"] == "2026-01-02T03:04:14Z"
    assert (third["Ready"]["reason"], third["Ready"]["message"]) == (None, None)
    assert third["PodScheduled"]["lastTransitionTime"] == "2026-01-02T03:04:05Z"


def test_a_containers_status_tells_its_devices_its_image_and_its_last_end() -> None:
    sight = Sight(
        container=APP,
        id="x",
        running_since=NOW,
        last=ended(3),
        restarts=2,
        devices={"metax-tech.com/gpu": [("a", True), ("b", False)]},
    )
    (status,) = status_of({"spec": {}}, [sight], FRAME, [], NOW)["containerStatuses"]
    assert status["containerID"] == "containerd://x"
    assert status["imageID"].startswith("registry/app@sha256:")
    assert status["lastState"]["terminated"]["exitCode"] == 3
    assert status["restartCount"] == 2
    assert status["allocatedResourcesStatus"] == [
        {
            "name": "metax-tech.com/gpu",
            "resources": [
                {"resourceID": "a", "health": "Healthy"},
                {"resourceID": "b", "health": "Unhealthy"},
            ],
        }
    ]


def test_the_pause_before_a_restart_is_none_at_first_and_grows_to_five_minutes() -> None:
    pauses = Pauses()
    assert [pauses.after(1) for _ in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]
    assert pauses.after(601) == 0
    assert [pause_text(each) for each in (10, 80, 300)] == ["10s", "1m20s", "5m0s"]


def asking(**limits: object) -> dict[str, object]:
    return {"name": "c", "resources": {"limits": limits}}


@pytest.mark.parametrize(
    ("spec", "counted"),
    [
        pytest.param({"containers": [asking(cpu="500m"), asking(cpu="1")]}, {"cpu": 1500}, id="a sum"),
        pytest.param(
            {"initContainers": [asking(cpu="2")], "containers": [asking(cpu="1")]},
            {"cpu": 2000},
            id="an init container that needs more",
        ),
        pytest.param(
            {
                "initContainers": [asking(cpu="1") | {"restartPolicy": "Always"}, asking(cpu="2")],
                "containers": [asking(cpu="1")],
            },
            {"cpu": 3000},
            id="beside a sidecar",
        ),
        pytest.param(
            {"containers": [asking(memory="1Gi")], "overhead": {"memory": "1Mi"}},
            {"memory": 2**30 + 2**20},
            id="overhead",
        ),
    ],
)
def test_what_a_pod_counts_for(spec: Object, counted: dict[str, int]) -> None:
    assert requests_of({"spec": spec}) == counted


ROOM: Mapping[str, int] = {"cpu": 4000, "memory": 2**33, "pods": 3, "a.example/x": 2, "a.example/none": 0}


@pytest.mark.parametrize(
    ("spec", "given", "reason"),
    [
        pytest.param({"containers": [asking(cpu="3")]}, {}, None, id="fits"),
        pytest.param({"containers": [asking(cpu="4")]}, {}, "OutOfcpu", id="processors"),
        pytest.param({"containers": [asking(memory="9Gi")]}, {}, "OutOfmemory", id="memory"),
        pytest.param({"containers": [asking(**{"a.example/x": 3})]}, {}, "OutOfa.example/x", id="too many"),
        pytest.param(
            {"containers": [asking(**{"a.example/x": 3})]}, {"a.example/x": 3}, None, id="was given"
        ),
        pytest.param({"containers": [asking(**{"a.example/none": 1})]}, {}, "OutOfa.example/none", id="none"),
        pytest.param({"containers": [asking(**{"b.example/y": 9})]}, {}, None, id="not named by the node"),
        pytest.param(
            {"containers": [asking()], "nodeSelector": {"disk": "ssd"}}, {}, "NodeAffinity", id="another node"
        ),
    ],
)
def test_a_pod_is_admitted_by_the_kubelets_own_count(
    spec: Object, given: dict[str, int], reason: str | None
) -> None:
    other: Object = {"spec": {"containers": [asking(cpu="1")]}}
    no = rejected({"spec": spec}, [other], ROOM, {"disk": "hdd"}, given)
    assert (None if no is None else no.reason) == reason


def test_a_node_takes_only_so_many_pods() -> None:
    pod: Object = {"spec": {"containers": []}}
    assert rejected(pod, [pod, pod], ROOM, {}, {}) is None
    assert rejected(pod, [pod, pod, pod], ROOM, {}, {}) == Rejected(
        "OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"
    )


@pytest.mark.parametrize(
    ("silence", "nodes", "period"),
    [
        pytest.param(40, 6, 10, id="a few"),
        pytest.param(40, 40, 20, id="some"),
        pytest.param(40, 1000, 30, id="many under a controller that looks"),
        pytest.param(3600, 1000, 500, id="many under one that does not"),
        pytest.param(8, 6, 6, id="under one that looks often"),
    ],
)
def test_leases_are_renewed_as_seldom_as_may_be(silence: float, nodes: int, period: float) -> None:
    assert Pulse(silence).period(nodes) == period
