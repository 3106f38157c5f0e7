"""What is said of an installation: nothing of one that is whole, and of every gap what to do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.installations import (
    AGENT,
    DENIED,
    MAY_NOT,
    NO_DRY_RUN,
    good_door,
    good_standing,
    served_node,
    workload,
)
from tangram.drivers.doctor.findings import Outcome
from tangram.services.installation.asking import Told
from tangram.services.installation.standing import AgentPage, Door, LeaseSeen, Page, Standing
from tangram.services.installation.verify import judge_standing

NOT_REACHED = 'Internal error occurred: failed calling webhook "pods.tangram.dev": connection refused'
NOT_TRUSTED = 'failed calling webhook "pods.tangram.dev": x509: certificate signed by unknown authority'


def told(standing: Standing, check: str) -> str:
    return "; ".join(
        f"{each.outcome} {each.why} -> {each.todo}"
        for each in judge_standing(standing).findings
        if each.check == check
    )


def test_an_installation_that_is_whole_has_nothing_to_do() -> None:
    found = judge_standing(good_standing())
    assert [each for each in found.findings if each.outcome is not Outcome.OK] == []
    assert found.failing == []
    assert {each.check for each in found.findings} == {
        "workloads",
        "nodes",
        "node-resources",
        "node-labels",
        "agents",
        "scheduler",
        "explain",
        "metrics",
        "kube-scheduler-lease",
        "webhook-completes",
        "webhook-refuses",
    }


@pytest.mark.parametrize(
    ("node", "check", "outcome", "says"),
    [
        pytest.param(
            served_node(amounts=("", "")), "node-resources", "fail", "gpu-1 announces no card", id="silent"
        ),
        pytest.param(
            served_node(amounts=("16", "0")), "node-resources", "fail", "none can be given", id="all-broken"
        ),
        pytest.param(
            served_node(amounts=("16", "0"), annotations={**AGENT, "hami.io/device-cordon": "GPU-1"}),
            "node-resources",
            "warn",
            "tangram uncordon gives them back",
            id="all-cordoned",
        ),
        pytest.param(
            served_node(amounts=("16", "8")), "node-resources", "ok", "metax-tech.com/sgpu 8 of 16", id="half"
        ),
        pytest.param(served_node(labels={}), "node-labels", "fail", "no label that says", id="no-labels"),
        pytest.param(
            served_node(labels={"metax-tech.com/gpu.installed": "true"}),
            "node-labels",
            "fail",
            "the driver is not ready",
            id="no-driver",
        ),
        pytest.param(
            served_node(annotations={"tangram.dev/agent": "stopping"}),
            "agents",
            "fail",
            "has stopped",
            id="stopping",
        ),
        pytest.param(
            served_node(annotations={}),
            "agents",
            "warn",
            "somebody else's plugin announces",
            id="closed-plugin",
        ),
        pytest.param(
            served_node(amounts=("16", "0"), labels={}, cordoned=True),
            "nodes",
            "skip",
            "is cordoned",
            id="cordoned",
        ),
    ],
)
def test_what_a_node_shows(node: dict[str, Any], check: str, outcome: str, says: str) -> None:
    standing = good_standing(node)
    said = told(standing, check)
    assert said.startswith(f"{outcome} ")
    assert says in said
    assert bool(judge_standing(standing).failing) is (outcome == "fail")


def test_only_nodes_that_speak_of_cards_are_expected_unless_they_were_chosen() -> None:
    plain = {"metadata": {"name": "cpu-1"}, "status": {"capacity": {"cpu": "8"}}}
    assert [node.name for node in good_standing(served_node(), plain).expected()] == ["gpu-1"]
    chosen = good_standing(served_node(), plain, selector="gpu=true")
    assert "fail cpu-1 announces no card" in told(chosen, "node-resources")
    assert told(good_standing(plain), "nodes").startswith("fail no node has a label, an agent or a resource")
    assert told(good_standing(nodes=Told(), selector="a=b"), "nodes").startswith(
        "fail there are no nodes that match"
    )
    hidden = good_standing(nodes=Told(status=403, message="no"))
    assert judge_standing(hidden).failing == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"ready": 1}, "1 of 2 pods are ready ->", id="one-missing"),
        pytest.param({"current": False}, "not all are of the newest generation", id="half-way"),
    ],
)
def test_a_workload_that_is_not_ready_fails(changes: dict[str, Any], says: str) -> None:
    said = told(good_standing(workloads=(workload(**changes),)), "workloads")
    assert said.startswith("fail DaemonSet kube-system/tangram-gpu-device (gpu-device): ")
    assert says in said


def test_workloads_that_cannot_be_seen_are_skipped() -> None:
    assert told(good_standing(workloads=()), "workloads").startswith("skip no Deployment and no DaemonSet")
    assert told(good_standing(workloads=(), workloads_unknown="no"), "workloads").startswith(
        "skip workloads may"
    )


@pytest.mark.parametrize(
    ("changes", "outcome", "says"),
    [
        pytest.param(
            {"doors": (good_door(readyz=Page(503, "the copy of the cluster is not complete")),)},
            "fail",
            "the copy of the cluster is not complete",
            id="not-ready",
        ),
        pytest.param(
            {"doors": (good_door(readyz=Page(403, MAY_NOT)),)},
            "skip",
            "may not be asked through",
            id="no-right",
        ),
        pytest.param(
            {"doors": (good_door(readyz=Page(0, "ssl: certificate verify failed")),)},
            "fail",
            "does not vouch for",
            id="wrong-authority",
        ),
        pytest.param(
            {"doors": (good_door(readyz=Page(0, "no route to host")),)},
            "skip",
            "from within the cluster",
            id="far",
        ),
        pytest.param(
            {"doors": (good_door(readyz=Page(503, "no endpoints available")),)},
            "skip",
            "the webhook, which is the same program, answers",
            id="no-pod-behind",
        ),
        pytest.param(
            {
                "doors": (good_door(readyz=Page(503, "no endpoints available")),),
                "refused": Told(status=500, message=NOT_REACHED),
            },
            "fail",
            "no endpoints available",
            id="nobody-behind",
        ),
        pytest.param({"doors": (Door("Service a/b", closed="a reason"),)}, "skip", "a reason", id="by-name"),
        pytest.param({"doors": ()}, "skip", "no webhook of Tangram says where", id="unknown"),
    ],
)
def test_the_scheduler(changes: dict[str, Any], outcome: str, says: str) -> None:
    said = told(good_standing(**changes), "scheduler")
    assert said.startswith(f"{outcome} ")
    assert says in said


def test_a_page_that_is_not_served_fails() -> None:
    standing = good_standing(
        doors=(good_door(explain=Page(404, "no such path"), metrics=Page(200, "# HELP")),)
    )
    assert told(standing, "explain").startswith(
        "fail /explain of Service kube-system/tangram-scheduler answers 404"
    )
    assert told(standing, "metrics").startswith("ok ")


@pytest.mark.parametrize(
    ("lease", "outcome", "says"),
    [
        pytest.param(LeaseSeen("a/b", Told(({},)), "host_1"), "fail", "was last held by host_1", id="left"),
        pytest.param(LeaseSeen("a/b", Told(({},))), "fail", "is held by nobody", id="empty"),
        pytest.param(
            LeaseSeen("a/b", Told(status=404, message="no")), "warn", "there is no Lease a/b", id="none"
        ),
        pytest.param(
            LeaseSeen("a/b", Told(status=403, message="no")), "skip", "may not be read", id="hidden"
        ),
    ],
)
def test_the_lease_of_the_kube_scheduler(lease: LeaseSeen, outcome: str, says: str) -> None:
    said = told(good_standing(lease=lease), "kube-scheduler-lease")
    assert said.startswith(f"{outcome} ")
    assert says in said


@pytest.mark.parametrize(
    ("completed", "outcome", "says"),
    [
        pytest.param(
            Told(({"spec": {"schedulerName": "default-scheduler"}},)),
            "fail",
            "let in as it was written",
            id="unseen",
        ),
        pytest.param(
            Told(({"spec": {"schedulerName": "other"}},)),
            "fail",
            "add a profile for other",
            id="name-not-served",
        ),
        pytest.param(Told(status=500, message=NOT_REACHED), "fail", "does not reach the webhook", id="away"),
        pytest.param(
            Told(status=500, message=NOT_TRUSTED), "fail", "does not trust the webhook", id="wrong-ca"
        ),
        pytest.param(Told(status=403, message=MAY_NOT), "skip", "may not be tried", id="no-right"),
        pytest.param(Told(status=404, message="no"), "skip", "there is no namespace default", id="no-place"),
        pytest.param(Told(status=403, message="exceeded quota"), "warn", "by somebody else", id="quota"),
        pytest.param(Told(status=0, message="silence"), "skip", "could not be tried", id="silence"),
        pytest.param(Told(status=400, message=NO_DRY_RUN), "skip", "could not be tried", id="no-dry-run"),
    ],
)
def test_what_becomes_of_a_pod_that_must_be_completed(completed: Told, outcome: str, says: str) -> None:
    said = told(good_standing(completed=completed), "webhook-completes")
    assert said.startswith(f"{outcome} ")
    assert says in said


def test_what_becomes_of_a_pod_that_must_be_refused() -> None:
    assert DENIED.partition(": ")[2].rstrip(".") in told(good_standing(), "webhook-refuses")
    let_in = good_standing(refused=Told(({"spec": {}},)))
    assert told(let_in, "webhook-refuses").startswith(
        "fail a pod in default that asks for more than a card has"
    )
    away = good_standing(refused=Told(status=500, message=NOT_REACHED))
    assert told(away, "webhook-refuses").startswith("fail the API server does not reach")


def test_where_no_configuration_can_be_seen_any_name_of_ours_will_do() -> None:
    named = Told(({"spec": {"schedulerName": "other"}},))
    assert told(good_standing(completed=named, served=None), "webhook-completes").startswith("ok ")


def test_metrics_of_agents_never_fail_it() -> None:
    pages = (
        AgentPage("a/one", Page(200, "# HELP")),
        AgentPage("a/two", Page(403, MAY_NOT)),
        AgentPage("a/three", Page(503, "error trying to reach service")),
    )
    standing = good_standing(agent_pages=pages)
    assert [each.split()[0] for each in told(standing, "agent-metrics").split("; ")[:3]] == [
        "ok",
        "skip",
        "warn",
    ]
    assert judge_standing(standing).failing == []


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["metadata", "status", "spec"]),
            st.one_of(
                st.none(),
                st.dictionaries(
                    st.sampled_from(["capacity", "allocatable", "labels", "annotations", "name"]),
                    st.one_of(
                        st.text(max_size=4),
                        st.dictionaries(st.sampled_from(["metax-tech.com/sgpu", "x"]), st.text(max_size=4)),
                    ),
                ),
            ),
        ),
        max_size=3,
    ),
    st.sampled_from(["", "gpu=true"]),
)
def test_no_node_whatever_it_says_keeps_a_finding_from_being_made(
    nodes: list[dict[str, Any]], selector: str
) -> None:
    found = judge_standing(good_standing(nodes=Told(tuple(nodes)), selector=selector))
    assert all(each.why for each in found.findings)
