"""Parts, nodes and the whole in words: what is told first, what is no problem, and when an installation is complete."""

from typing import Any

import pytest

from tangram.kube.api import Object
from tangram.services.operator.copies import seen_node
from tangram.services.operator.objects import name_of
from tangram.services.operator.part_pods import PartPod, PullWords, part_pod
from tangram.services.operator.parts.catalogue import PARTS
from tangram.services.operator.parts.pods import Site, selector
from tangram.services.operator.readiness import Judgement, World, judge
from tangram.wire.metax_labels import INSTALLED
from tangram.wire.operator.names import (
    DRIVER_READY,
    DRIVER_STATE,
    MACA_READY,
    MANAGED,
    RUNTIME_READY,
    RUNTIME_STATE,
    UPGRADE,
)
from tangram.wire.operator.node_states import (
    DriverState,
    Phase,
    RuntimeState,
    Upgrade,
    UpgradePhase,
    state_text,
)
from tangram.wire.operator.reading import read_spec
from tangram.wire.operator.spec import Spec
from tangram.wire.operator.status import MOST_PROBLEMS, PartState, State, UpgradeStatus

SITE = Site(namespace="metax-operator", image="i:1", version="1")
NEVER = read_spec({"spec": {"driver": {"deployPolicy": "Never"}}})
WITH_MACA = read_spec(
    {
        "spec": {
            "driver": {"deployPolicy": "Never"},
            "image": {"registry": "r.example"},
            "maca": {"payload": {"images": ["maca-native:1"]}},
        }
    }
)
ALL_READY = {INSTALLED: "true", MANAGED: "true", RUNTIME_READY: "true", DRIVER_READY: "true"}


def node(
    name: str,
    labels: dict[str, str] | None = None,
    *,
    ready: bool = True,
    cards: str = "8",
    **more: Any,  # noqa: ANN401 - any JSON
) -> Object:
    annotations = {key: state_text(state) for key, state in more.pop("states", {}).items()}
    return {
        "metadata": {
            "name": name,
            "labels": ALL_READY if labels is None else labels,
            "annotations": annotations,
        },
        "spec": more,
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "allocatable": {"cpu": "8", "metax-tech.com/gpu": cards},
        },
    }


def pod(part: str, on: str, *, ready: bool = True, statuses: list[Object] | None = None) -> PartPod:
    thing = {
        "metadata": {"name": f"{part}-{on}", "uid": f"{part}-{on}", "labels": selector(part)},
        "spec": {"nodeName": on},
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "containerStatuses": statuses or [],
        },
    }
    found = part_pod(thing)
    assert found is not None
    return found


def live_of(spec: Spec, count: int, **status: int) -> dict[Any, Object]:
    numbers = {
        "desiredNumberScheduled": count,
        "numberReady": count,
        "updatedNumberScheduled": count,
        "observedGeneration": 1,
    } | status
    found: dict[Any, Object] = {}
    for part in PARTS:
        for thing in part.make(spec, SITE) if part.wanted(spec) else ():
            found[name_of(thing)] = {
                **thing,
                "metadata": {**thing["metadata"], "generation": 1},
                "status": numbers,
            }
    return found


def judgement(
    *nodes: Object, spec: Spec = NEVER, pods: list[PartPod] | None = None, **more: object
) -> Judgement:
    names = [each["metadata"]["name"] for each in nodes]
    seen = [*(pods or []), *(pod(part, name) for name in names for part in ("gpu-label", "gpu-device"))]
    # A pod that was given stands for its part on its node.
    unique = list({each.uid: each for each in reversed(seen)}.values())
    fields: dict[str, Any] = {
        "spec": spec,
        "site": SITE,
        "live": live_of(spec, len(nodes)),
        "troubles": {},
        "nodes": [seen_node(each) for each in nodes],
        "pods": unique,
        "pod_words": PullWords().told(unique),
    }
    fields |= more
    return judge(World(**fields))


def part(found: Judgement, name: str) -> tuple[PartState, str]:
    told = next(each for each in found.parts if each.name == name)
    return told.state, told.message


def test_all_is_well() -> None:
    found = judgement(node("n1"), node("n2"))
    assert (found.state, found.message, found.ready_nodes) == (State.READY, "2 GPU nodes are ready", "2/2")
    assert found.complete
    assert found.degraded == ""


def test_a_node_that_offers_no_card_is_not_ready_though_gpu_device_is() -> None:
    found = judgement(node("n1", cards="0"), node("n2"))
    told = "gpu-device runs on n1, and the node offers no card yet: tangram devices says there what is wrong"
    assert (found.state, found.ready_nodes, found.complete) == (State.DEPLOYING, "1/2", False)
    assert part(found, "gpu-device") == (PartState.NOT_READY, told)


def test_a_node_that_the_administrator_did_not_choose_is_not_waited_for() -> None:
    spec = read_spec(
        {"spec": {"driver": {"deployPolicy": "Never"}, "devicePlugin": {"nodeSelector": {"pool": "a"}}}}
    )
    beside = [pod("gpu-device", "n2", ready=False)]
    chosen = node("n1", {**ALL_READY, "pool": "a"})
    assert judgement(chosen, node("n2", cards="0"), spec=spec, pods=beside).state is State.READY
    assert judgement(node("n1", {**ALL_READY, "pool": "a"}, cards="0"), spec=spec).state is State.DEPLOYING


def test_payloads_are_ready_on_a_node_when_all_its_payload_pods_are() -> None:
    """One DaemonSet brings the driver to both nodes, two more bring each the MXMACA of its product."""
    spec = read_spec(
        {
            "spec": {
                "image": {"registry": "r.example"},
                "driver": {"payload": {"version": "2.32.0"}},
                "maca": {"payload": {"images": ["maca-c500:3.0.0", "maca-n100:3.0.0"]}},
            }
        }
    )
    live = live_of(spec, 0)
    counts = {"metax-payloads": (2, 2), "metax-payloads-c500": (1, 1), "metax-payloads-n100": (1, 0)}
    for name, thing in live.items():
        wanted, ready = counts.get(name.name, (2, 2))
        numbers = {"desiredNumberScheduled": wanted, "numberReady": ready, "updatedNumberScheduled": wanted}
        live[name] = {**thing, "status": {**thing["status"], **numbers}}
    pods = [
        pod("payloads", "n1"),
        pod("payloads", "n2"),
        pod("payloads-c500", "n1"),
        pod("payloads-n100", "n2", ready=False),
    ]
    nodes = [node(name, {**ALL_READY, MACA_READY: "true"}) for name in ("n1", "n2")]
    found = judgement(*nodes, spec=spec, pods=pods, live=live)
    (told,) = [each for each in found.parts if each.name == "payloads"]
    assert (told.state, told.ready, told.wanted) == (PartState.NOT_READY, 1, 2)
    assert told.message == "ready on 1 of 2 nodes"
    lost = {name: thing for name, thing in live.items() if name.name != "metax-payloads-n100"}
    found = judgement(*nodes, spec=spec, pods=pods, live=lost)
    assert part(found, "payloads") == (PartState.NOT_READY, "not in the cluster yet")


def test_no_card_yet_is_well_too() -> None:
    found = judgement(node("cpu", {INSTALLED: "false"}))
    assert (found.state, found.message, found.complete) == (State.READY, "no node has MetaX cards yet", True)


def test_a_node_that_gpu_label_has_not_looked_at_is_waited_for() -> None:
    found = judgement(node("new", {}))
    assert (found.state, found.complete) == (State.READY, False)
    assert judgement(node("new", {}, unschedulable=True)).complete, (
        "labels are taken off while it is cordoned"
    )


WAITS = DriverState(phase=Phase.WAITING, why="it waits for the payload")
FAILS = DriverState(phase=Phase.FAILED, code="wrong-kernel", why="it is made for kernel 5.4")


@pytest.mark.parametrize(
    ("thing", "name", "message"),
    [
        pytest.param(
            node("n1", {INSTALLED: "true"}),
            "gpu-device",
            "n1 is not managed yet",
            id="unmarked",
        ),
        pytest.param(
            node("n1", {INSTALLED: "true", MANAGED: "true"}),
            "container-runtime",
            "the runtime metax is not ready on n1: container-runtime has not said anything yet",
            id="runtime-first",
        ),
        pytest.param(
            node(
                "n1",
                {INSTALLED: "true", MANAGED: "true", RUNTIME_READY: "false"},
                states={RUNTIME_STATE: RuntimeState(phase=Phase.FAILED, why="containerd refuses the file")},
            ),
            "container-runtime",
            "the runtime metax is not ready on n1: containerd refuses the file",
            id="runtime-failed",
        ),
        pytest.param(
            node("n1", {**ALL_READY, DRIVER_READY: "false"}, states={DRIVER_STATE: WAITS}),
            "driver-manager",
            "the driver is not ready on n1: it waits for the payload",
            id="driver",
        ),
        pytest.param(
            node("n1", {**ALL_READY, MACA_READY: "false"}),
            "driver-manager",
            "MXMACA is not ready on n1: driver-manager has not said anything yet",
            id="maca",
        ),
    ],
)
def test_the_first_thing_in_the_way_is_told(thing: Object, name: str, message: str) -> None:
    found = judgement(thing, spec=WITH_MACA)
    assert part(found, name) == (PartState.NOT_READY, message)
    assert (found.state, found.ready_nodes, found.complete) == (State.DEPLOYING, "0/1", False)


def test_failures_are_problems_and_waiting_is_none() -> None:
    waiting = node("n1", {**ALL_READY, DRIVER_READY: "false"}, states={DRIVER_STATE: WAITS})
    failing = node("n2", {**ALL_READY, DRIVER_READY: "false"}, states={DRIVER_STATE: FAILS})
    found = judgement(waiting, failing, node("n3", ready=False))
    assert [each.name for each in found.nodes.problems] == ["n2", "n3"]
    assert found.degraded == "the driver is not ready on n2: it is made for kernel 5.4"


def test_a_machine_that_is_away_is_told_and_holds_nobody_up() -> None:
    away = node("n2", ready=False)
    silent = [pod(name, "n2", ready=False) for name in ("gpu-label", "gpu-device", "container-runtime")]
    live = live_of(NEVER, 2, numberReady=1, updatedNumberScheduled=1)
    rest = [pod(name, "n2", ready=False) for name in ("driver-manager",)]
    found = judgement(node("n1"), away, pods=[*silent, *rest], live=live)
    assert (found.state, found.message) == (State.READY, "1 GPU node is ready, 1 away")
    assert (found.ready_nodes, found.degraded) == ("1/2", "n2 is not ready: its kubelet is silent")
    assert not found.complete, "it went away in the middle"
    never_seen = node("n2", {}, ready=False)
    assert judgement(node("n1"), never_seen, pods=[*silent, *rest], live=live).complete, "it was never here"


def test_an_upgrade_that_was_taken_back_is_told_though_the_node_works() -> None:
    note = Upgrade(to="2.33.0", phase=UpgradePhase.FAILED, why="the driver lists no card")
    found = judgement(
        node("n1", states={UPGRADE: note, DRIVER_STATE: DriverState(phase=Phase.FAILED, running="2.32.0")})
    )
    assert (found.state, found.ready_nodes) == (State.READY, "1/1")
    assert found.degraded == "n1 stays with 2.32.0: the driver lists no card"


def test_a_node_that_we_hold_is_told_by_the_upgrade() -> None:
    note = Upgrade(to="2.33.0", phase=UpgradePhase.UPDATING)
    held = node("n1", {MANAGED: "true"}, states={UPGRADE: note}, unschedulable=True)
    upgrade = UpgradeStatus(to="2.33.0", updating=1, message="n1 is being changed")
    found = judgement(held, node("n2"), upgrade=upgrade)
    assert (found.state, found.message, found.upgrading) == (State.DEPLOYING, "n1 is being changed", True)
    assert (found.ready_nodes, found.degraded) == ("1/2", "")


def test_a_node_that_others_cordoned_is_not_waited_for() -> None:
    found = judgement(node("n1", {MANAGED: "true"}, unschedulable=True), node("n2"))
    assert (found.state, found.message) == (State.READY, "1 GPU node is ready, 1 cordoned")
    assert found.ready_nodes == "1/1"


def test_a_part_that_cannot_be_applied_is_an_error_whatever_else_is_well() -> None:
    found = judgement(
        node("n1"), troubles={"gpu-device": "DaemonSet metax-gpu-device could not be applied: no"}
    )
    assert found.state is State.ERROR
    assert found.message == "gpu-device: DaemonSet metax-gpu-device could not be applied: no"


def test_a_roll_out_is_not_ready_before_every_pod_is_new() -> None:
    found = judgement(node("n1"), live=live_of(NEVER, 1, updatedNumberScheduled=0))
    assert part(found, "gpu-label") == (PartState.NOT_READY, "is being rolled out")
    assert part(judgement(node("n1"), live=live_of(NEVER, 1, observedGeneration=0)), "gpu-label")[1] == (
        "is being rolled out"
    )
    assert part(judgement(node("n1"), live=live_of(NEVER, 1, numberReady=0)), "gpu-label")[1] == (
        "ready on 0 of 1 nodes"
    )


def container(reason: str, message: str = "", **more: Any) -> Object:  # noqa: ANN401 - any JSON
    waiting = {"reason": reason, "message": message}
    return {"name": "driver", "image": "r.example/d:1", "state": {"waiting": waiting}, **more}


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        pytest.param(
            container("ErrImagePull", "no such host"),
            "payload image r.example/d:1 cannot be pulled on n1: no such host",
            id="pull",
        ),
        pytest.param(
            container("InvalidImageName", "could not parse"),
            "payload image r.example/d:1 cannot be pulled on n1: could not parse",
            id="name",
        ),
        pytest.param(
            container(
                "CrashLoopBackOff",
                "back-off 10s",
                lastState={"terminated": {"exitCode": 1, "message": "mx-payload: the disk is full.\n"}},
            ),
            "container driver of payloads on n1 ends again and again: mx-payload: the disk is full.",
            id="ends",
        ),
        pytest.param(
            container("CrashLoopBackOff", "", lastState={"terminated": {"exitCode": 137}}),
            "container driver of payloads on n1 ends again and again: exit status 137",
            id="killed",
        ),
        pytest.param(
            container("CreateContainerConfigError", 'secret "payload-key" not found'),
            'container driver of payloads on n1 cannot be started: secret "payload-key" not found',
            id="secret",
        ),
    ],
)
def test_what_keeps_a_pod_from_working_is_told_in_the_kubelets_words(status: Object, sentence: str) -> None:
    live = live_of(WITH_MACA, 1, numberReady=0)
    ill = pod("payloads", "n1", ready=False, statuses=[status])
    found = judgement(node("n1"), spec=WITH_MACA, pods=[ill], live=live)
    assert part(found, "payloads") == (PartState.NOT_READY, sentence)
    assert [each.message for each in found.nodes.problems] == [sentence]


def test_a_pod_that_just_starts_is_no_problem() -> None:
    starting = pod("payloads", "n1", ready=False, statuses=[container("ContainerCreating")])
    assert starting.troubles == ()


def test_many_problems_are_counted_and_some_are_named() -> None:
    failing = [
        node(f"n{number:03}", {**ALL_READY, DRIVER_READY: "false"}, states={DRIVER_STATE: FAILS})
        for number in range(300)
    ]
    found = judgement(*failing)
    assert (len(found.nodes.problems), found.nodes.more) == (MOST_PROBLEMS, 300 - MOST_PROBLEMS)


def test_our_scheduler_counts_where_it_is_expected() -> None:
    spec = read_spec({"spec": {"driver": {"deployPolicy": "Never"}, "gpuScheduler": {"deploy": True}}})
    assert part(judgement(node("n1")), "gpu-scheduler")[0] is PartState.IGNORED
    assert part(judgement(node("n1"), spec=spec), "gpu-scheduler") == (
        PartState.NOT_READY,
        (
            "tangram-scheduler is not installed in this cluster: helm upgrade of chart metax-operator with "
            "gpuScheduler.deploy=true brings it (docs/metax-operator.md)"
        ),
    )
    there = read_spec(
        {
            "spec": {
                "driver": {"deployPolicy": "Never"},
                "gpuScheduler": {"deploy": True, "namespace": "metax-operator"},
            }
        }
    )
    assert part(judgement(node("n1"), spec=there, schedulers=[False, False]), "gpu-scheduler") == (
        PartState.NOT_READY,
        (
            "none of 2 pods of tangram-scheduler is ready in namespace metax-operator: kubectl -n metax-operator "
            "describe pods -l app.kubernetes.io/component=scheduler says why"
        ),
    )
    found = judgement(node("n1"), spec=spec, schedulers=[True, False])
    assert part(found, "gpu-scheduler") == (PartState.READY, "1 of 2 pods are ready")
