"""What is read of nodes and pods: which pods hold cards, and whose a cordon is."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram.services.operator.node_views import gpu_pod, is_ours, moment, node_view
from tangram.wire.operator import names
from tangram.wire.operator.node_states import Upgrade, UpgradePhase, state_text

GPU = "metax-tech.com/gpu"


def pod(*, phase: str = "Running", node: str = "n1", **parts: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    metadata = {"namespace": "a", "name": "p", "uid": "u", **parts.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"nodeName": node, **parts}, "status": {"phase": phase}}


def asking(resource: str, amount: object = "1", side: str = "limits") -> list[dict[str, Any]]:
    return [{"name": "c", "resources": {side: {resource: amount}}}]


@pytest.mark.parametrize(
    ("thing", "holds"),
    [
        pytest.param(pod(containers=asking(GPU)), True, id="whole card"),
        pytest.param(pod(containers=asking("metax-tech.com/sgpu")), True, id="slice"),
        pytest.param(pod(containers=asking("metax-tech.com/vfio-gpu")), True, id="passed through"),
        pytest.param(pod(containers=asking("metax-tech.com/gpu", side="requests")), True, id="requests only"),
        pytest.param(pod(initContainers=asking(GPU)), True, id="init container"),
        pytest.param(pod(containers=asking("koordinator.sh/gpu")), True, id="in Koordinator's words"),
        pytest.param(pod(containers=asking(GPU, 1), phase="Pending"), True, id="bound, not started"),
        pytest.param(pod(containers=asking(GPU), phase="Unknown"), True, id="nobody knows"),
        pytest.param(pod(containers=asking(GPU), phase="Succeeded"), False, id="over"),
        pytest.param(pod(containers=asking(GPU), phase="Failed"), False, id="failed"),
        pytest.param(pod(containers=asking(GPU), node=""), False, id="not bound"),
        pytest.param(pod(containers=asking(GPU, "0")), False, id="none of it"),
        pytest.param(pod(containers=asking("nvidia.com/gpu")), False, id="other vendor"),
        pytest.param(
            pod(metadata={"annotations": {"hami.io/metax-gpu-devices-allocated": "a,Metax,65536,100:;"}}),
            True,
            id="HAMi",
        ),
        pytest.param(
            pod(metadata={"annotations": {"metax-tech.com/gpu-devices-allocated": "[]"}}),
            True,
            id="ours, in doubt",
        ),
        pytest.param(
            pod(
                metadata={
                    "annotations": {"scheduling.koordinator.sh/device-allocated": '{"gpu":[{"minor":0}]}'}
                }
            ),
            True,
            id="Koordinator",
        ),
        pytest.param(
            pod(
                metadata={
                    "annotations": {"scheduling.koordinator.sh/device-allocated": '{"rdma":[{"minor":0}]}'}
                }
            ),
            False,
            id="Koordinator, no card",
        ),
        pytest.param(
            pod(metadata={"annotations": {"scheduling.koordinator.sh/device-allocated": "{"}}),
            True,
            id="unreadable",
        ),
    ],
)
def test_a_pod_holds_cards_by_what_it_asks_for_or_was_given(thing: dict[str, Any], holds: bool) -> None:  # noqa: FBT001
    assert (gpu_pod(thing) is not None) is holds


def test_of_a_pod_is_known_who_keeps_it_and_when_it_goes() -> None:
    owner = {"kind": "DaemonSet", "name": "exporter", "controller": True}
    metadata = {"ownerReferences": [owner], "deletionTimestamp": "2026-05-04T12:00:30Z"}
    found = gpu_pod(pod(containers=asking(GPU), metadata=metadata))
    assert found is not None
    assert (found.full_name, found.owner, found.daemon, found.mirror) == (
        "a/p",
        "DaemonSet exporter",
        True,
        False,
    )
    assert found.leaves_by == dt.datetime(2026, 5, 4, 12, 0, 30, tzinfo=dt.UTC)
    mirror = gpu_pod(
        pod(containers=asking(GPU), metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    )
    assert mirror is not None
    assert mirror.stays


def node(annotations: dict[str, str], labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "n1",
            "resourceVersion": "3",
            "annotations": annotations,
            "labels": labels or {},
        },
        "spec": {"unschedulable": True},
    }


@pytest.mark.parametrize(
    ("note", "held", "unreadable"),
    [
        pytest.param(state_text(Upgrade(to="2", phase=UpgradePhase.CORDONED)), True, False, id="cordoned"),
        pytest.param(state_text(Upgrade(to="2", phase=UpgradePhase.UPDATING)), True, False, id="updating"),
        pytest.param(state_text(Upgrade(to="2", phase=UpgradePhase.FAILED)), False, False, id="failed"),
        pytest.param("", False, True, id="empty"),
        pytest.param('{"to":"2","phase":"new"}', False, True, id="of another release"),
    ],
)
def test_a_cordon_is_ours_only_with_a_note_that_says_so(note: str, held: bool, unreadable: bool) -> None:  # noqa: FBT001
    view = node_view(node({names.UPGRADE: note}))
    assert (view.held, view.upgrade_unreadable, view.cordoned_by_others) == (held, unreadable, not held)


def test_nodes_that_only_gpu_label_knows_are_not_the_operators() -> None:
    assert not is_ours(node_view(node({}, {"metax-tech.com/gpu.installed": "false"})))
    assert is_ours(node_view(node({names.DRIVER_STATE: "{}"})))
    assert is_ours(node_view(node({}, {names.MANAGED: "true"})))
    assert not is_ours(node_view(node({})))


@pytest.mark.parametrize("text", ["", "soon", "2026-05-04", "2026-05-04T12:00:00", "99999"])
def test_a_time_without_a_zone_or_sense_is_none(text: str) -> None:
    assert moment(text) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "status", "annotations", "labels", "containers", "resources", "limits"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(thing=st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), JSON))
def test_nothing_that_a_server_could_send_stops_the_reader(thing: dict[str, Any]) -> None:
    node_view(thing)
    gpu_pod(thing)
