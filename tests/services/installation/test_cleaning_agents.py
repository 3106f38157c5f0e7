"""Whose pods are agents of ours, which of them matter, and which pods hold cards."""

from __future__ import annotations

from typing import Any

import pytest

from tangram.services.installation.cleaning_agents import AgentPod, agent_in, company, holder_in
from tangram.services.installation.cleaning_waiting import about_strays

Object = dict[str, Any]


def pod(*command: str, **more: Any) -> Object:  # noqa: ANN401 - parts of a pod
    container = {"image": "registry.example/tangram:1", "command": list(command), **more.get("container", {})}
    return {
        "metadata": {"namespace": "home", "name": "it", **more.get("metadata", {})},
        "spec": {"nodeName": "gpu-1", "containers": [container]},
        "status": more.get("status", {"phase": "Running"}),
    }


@pytest.mark.parametrize(
    ("thing", "roles"),
    [
        pytest.param(pod("tangram", "gpu-device"), ("gpu-device",), id="agent"),
        pytest.param(pod("gpu-label"), ("gpu-label",), id="by-its-image"),
        pytest.param(pod("tangram", "scheduler"), ("scheduler",), id="scheduler"),
        pytest.param(
            pod("tangram", "gpu-device", status={"phase": "Pending"}), ("gpu-device",), id="not-yet"
        ),
        pytest.param(pod("tangram", "gpu-device", status={"phase": "Succeeded"}), None, id="over"),
        pytest.param(pod("tangram", "gpu-aware"), None, id="writes-to-no-node"),
        pytest.param(pod("tangram", "cleanup"), None, id="the-one-who-cleans-up"),
        pytest.param(pod("gpu-device", container={"image": "cloud/gpu-device"}), None, id="the-vendors"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_an_agent_is_known_by_what_it_runs(thing: Object, roles: tuple[str, ...] | None) -> None:
    found = agent_in(thing)
    assert (None if found is None else found.roles) == roles


def test_an_agent_says_whose_it_is() -> None:
    owners = [{"kind": "Node", "name": "x"}, {"kind": "DaemonSet", "name": "agents", "controller": True}]
    metadata = {
        "labels": {"app.kubernetes.io/name": "metax-gpu-extensions"},
        "ownerReferences": owners,
        "deletionTimestamp": "2026-11-15T21:00:00Z",
    }
    found = agent_in(pod("tangram", "gpu-device", metadata=metadata))
    assert found is not None
    assert (found.chart, found.owner, found.leaving) == ("metax-gpu-extensions", "DaemonSet agents", True)
    stranger = agent_in(pod("tangram", "gpu-device", metadata={"labels": {"app.kubernetes.io/name": "else"}}))
    assert stranger is not None
    assert stranger.chart == ""


@pytest.mark.parametrize(
    ("kind", "name", "labels", "way_out"),
    [
        pytest.param("DaemonSet", "agents", {}, "(kubectl -n gpu delete daemonset agents)", id="daemons"),
        pytest.param(
            "ReplicaSet",
            "mine-7d9f",
            {"pod-template-hash": "7d9f"},
            "(kubectl -n gpu delete deployment mine)",
            id="what would make the ReplicaSet again",
        ),
        pytest.param(
            "Node",
            "gpu-1",
            {},
            "(remove its manifest on gpu-1, from the folder in which the kubelet looks for static pods)",
            id="a static pod, never its node",
        ),
    ],
)
def test_an_agent_that_nobody_owns_is_ended_where_it_is_made(
    kind: str, name: str, labels: dict[str, str], way_out: str
) -> None:
    owners = [{"kind": kind, "name": name, "controller": True}]
    metadata = {"namespace": "gpu", "name": "it", "labels": labels, "ownerReferences": owners}
    found = agent_in(pod("tangram", "scheduler", metadata=metadata))
    assert found is not None
    assert about_strays((found,)).endswith(way_out)


def agent(role: str = "gpu-device", **more: Any) -> AgentPod:  # noqa: ANN401 - fields of the record
    fields: dict[str, Any] = {
        "namespace": "home",
        "name": "it",
        "node": "gpu-1",
        "roles": (role,),
        "chart": "tangram",
        "leaving": False,
        "owner": "",
    }
    return AgentPod(**(fields | more))


@pytest.mark.parametrize(
    ("one", "nodes", "group"),
    [
        pytest.param(agent(), None, "ours", id="of-the-release"),
        pytest.param(agent(namespace="else"), None, "others", id="another-namespace"),
        pytest.param(agent(chart="metax-gpu-extensions"), None, "others", id="the-other-chart"),
        pytest.param(
            agent(chart="metax-gpu-extensions", leaving=True),
            None,
            "others",
            id="the-other-chart-is-upgraded",
        ),
        pytest.param(agent(chart=""), None, "strays", id="of-no-release"),
        pytest.param(agent(chart="", leaving=True), None, "ours", id="of-no-release-and-leaving"),
        pytest.param(agent(), ("gpu-2",), "", id="on-a-node-that-is-not-asked-about"),
        pytest.param(agent(), ("gpu-1",), "ours", id="on-one-that-is"),
        pytest.param(agent("scheduler"), ("gpu-1",), "others", id="a-scheduler-serves-all-nodes"),
        pytest.param(agent("scheduler", chart=""), ("gpu-2",), "others", id="so-does-one-of-no-release"),
        pytest.param(agent("scheduler", chart=""), None, "strays", id="which-is-in-the-way-of-the-whole"),
    ],
)
def test_whose_an_agent_is(one: AgentPod, nodes: tuple[str, ...] | None, group: str) -> None:
    found = company([one], "home", "tangram", nodes)
    groups = {name for name in ("ours", "others", "strays") if getattr(found, name)}
    assert groups == ({group} if group else set())


@pytest.mark.parametrize(
    ("others", "node", "roles"),
    [
        pytest.param([], "gpu-1", {"gpu-label", "gpu-device", "scheduler"}, id="nobody-else"),
        pytest.param([agent("gpu-label")], "gpu-1", {"gpu-device", "scheduler"}, id="labels-are-kept"),
        pytest.param([agent("gpu-label")], "gpu-2", {"gpu-label", "gpu-device", "scheduler"}, id="elsewhere"),
        pytest.param([agent()], "gpu-1", {"scheduler"}, id="an-agent-needs-the-labels-of-its-node"),
        pytest.param([agent("scheduler")], "gpu-2", {"gpu-label", "gpu-device"}, id="a-scheduler-anywhere"),
    ],
)
def test_what_is_nobodys_any_more(others: list[AgentPod], node: str, roles: set[str]) -> None:
    elsewhere = [agent(one.roles[0], namespace="else", node=one.node) for one in others]
    assert company(elsewhere, "home", "tangram", None).roles_to_clean("tangram", node) == roles
    assert "scheduler" not in company(elsewhere, "home", "metax-gpu-extensions", None).roles_to_clean(
        "metax-gpu-extensions", node
    )


@pytest.mark.parametrize(
    ("thing", "holds"),
    [
        pytest.param(
            pod("sh", container={"resources": {"limits": {"metax-tech.com/sgpu": "1"}}}), True, id="asks"
        ),
        pytest.param(
            pod("sh", metadata={"annotations": {"hami.io/mthreads-vgpu-devices-allocated": "x"}}),
            True,
            id="was-given",
        ),
        pytest.param(
            pod("sh", metadata={"annotations": {"hami.io/mthreads-vgpu-devices-allocated": " "}}),
            False,
            id="was-given-nothing",
        ),
        pytest.param(pod("sh", container={"resources": {"limits": {"cpu": "1"}}}), False, id="none"),
        pytest.param(
            pod(
                "sh",
                container={"resources": {"requests": {"mthreads.com/gpu": "1"}}},
                status={"phase": "Failed"},
            ),
            False,
            id="over",
        ),
        pytest.param({"spec": {"containers": [{"resources": 7}]}}, False, id="nonsense"),
    ],
)
def test_which_pods_hold_cards(thing: Object, *, holds: bool) -> None:
    assert (holder_in(thing) is not None) is holds
