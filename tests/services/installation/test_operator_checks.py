"""What `verify` says of a GPU Operator: nothing where there is none, and of every node that is not ready why."""

from __future__ import annotations

from typing import Any

import pytest

from builders.installations import good_standing, served_node
from tangram.services.installation.asking import Told
from tangram.services.installation.operator_checks import operated_nodes, operator
from tangram.services.installation.standing import Standing
from tangram.services.installation.verify import judge_standing
from tangram.wire.operator import names
from tangram.wire.operator.node_states import DriverState, MacaState, Phase, RuntimeState, state_text

Object = dict[str, Any]


def managed(name: str, **states: DriverState | MacaState | RuntimeState) -> Object:
    node = served_node(name=name)
    node["metadata"]["labels"][names.MANAGED] = "true"
    keys = {"driver": names.DRIVER_STATE, "maca": names.MACA_STATE, "runtime": names.RUNTIME_STATE}
    node["metadata"]["annotations"] |= {keys[key]: state_text(state) for key, state in states.items()}
    return node


def operated(*nodes: Object, **status: Any) -> Standing:  # noqa: ANN401 - whatever a status has
    standing = good_standing()
    said = {"state": "ready", "observedGeneration": 3, "readyNodes": "2/2"} | status
    standing.operator = Told(
        ({"metadata": {"name": names.OBJECT, "generation": 3}, "status": said},),
    )
    standing.nodes = Told(nodes)
    return standing


RUNTIME = RuntimeState(phase=Phase.READY, engine="containerd")
DRIVER = DriverState(phase=Phase.READY, running="2.32.0")
MACA = MacaState(phase=Phase.READY, default="2.23.0.4")
WELL = managed("gpu-1", driver=DRIVER, maca=MACA, runtime=RUNTIME)


def told(standing: Standing) -> list[str]:
    found = [*operator(standing), *operated_nodes(standing)]
    return [f"{each.outcome}: {each.why}" for each in found]


def test_without_an_operator_nothing_is_said_of_one() -> None:
    assert told(good_standing()) == []
    assert not any("operat" in each.check for each in judge_standing(good_standing()).findings)


def test_an_operator_whose_nodes_are_ready_is_well() -> None:
    assert told(operated(WELL)) == [
        "ok: everything is applied and ready on 2/2 nodes",
        "ok: runtime, driver and MXMACA are ready on 1 node",
    ]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        pytest.param(
            {"state": "deploying", "message": "gpu-device waits for 1 node"},
            "fail: its state is deploying: gpu-device waits for 1 node",
            id="on-its-way",
        ),
        pytest.param(
            {"observedGeneration": 2},
            "fail: the operator has not seen the last change of its object",
            id="late",
        ),
        pytest.param({"state": "odd"}, "fail: the status cannot be read: ", id="of-another-version"),
        pytest.param(
            {"upgradeStatus": {"to": "2.33.0", "failed": 2}},
            "warn: driver 2.33.0 failed on 2 nodes, which run the one before",
            id="upgrade-failed",
        ),
    ],
)
def test_what_the_operator_says_of_itself_is_passed_on(status: Object, says: str) -> None:
    assert any(each.startswith(says) for each in told(operated(WELL, **status)))


def test_a_node_that_is_not_ready_is_named_with_the_words_of_its_agent() -> None:
    failed = DriverState(phase=Phase.FAILED, why="the kernel refuses the module")
    ill = managed("gpu-2", driver=failed, runtime=RUNTIME)
    new = managed("gpu-3")
    assert told(operated(WELL, ill, new))[1:] == [
        "fail: gpu-2: driver is failed (the kernel refuses the module)",
        "fail: gpu-3: nobody has said anything of its driver yet",
        "fail: gpu-3: nobody has said anything of its runtime yet",
        "ok: runtime, driver and MXMACA are ready on 1 node",
    ]


def test_who_may_not_see_the_object_is_told_so() -> None:
    standing = good_standing()
    standing.operator = Told(status=403, message="forbidden")
    assert told(standing) == ["skip: clusteroperators may not be read (forbidden)"]
