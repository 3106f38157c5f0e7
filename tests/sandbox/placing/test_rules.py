"""kube-scheduler's own filters: which nodes they leave, and in which words they refuse the others."""

from typing import Any

import pytest

from builders.placing import Recorded, node, picture, pod, trying
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.rules import Judge
from tangram.sandbox.placing.trying import Chosen, Unfit

NAME = "kubernetes.io/hostname"
BUSY = {"key": "busy", "value": "yes", "effect": "NoSchedule"}


def terms(kind: str, *labels: str, key: str = NAME, **more: object) -> dict[str, Any]:
    required = [
        {"labelSelector": {"matchLabels": {"app": one}}, "topologyKey": key, **more} for one in labels
    ]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def wanted(*rules: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": [{"matchExpressions": list(rules)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


@pytest.mark.parametrize(
    ("asks", "fits"),
    [
        pytest.param(pod("p"), {"large", "small"}, id="one cpu"),
        pytest.param(pod("p", {"cpu": "2001m"}), {"large"}, id="more than the small one has"),
        pytest.param(pod("p", {"memory": "17Gi"}), set[str](), id="more memory than any has"),
        pytest.param(pod("p", {"example.com/card": 1}), {"large"}, id="a card"),
        pytest.param(pod("p", {"example.com/ignored": 1}), {"large", "small"}, id="what an extender counts"),
        pytest.param(pod("p", overhead={"cpu": "1500m"}), {"large"}, id="overhead"),
        pytest.param(
            pod("p", resources={"requests": {"cpu": "7"}}), {"large"}, id="resources of the whole pod"
        ),
        pytest.param(
            pod("p", initContainers=[{"resources": {"requests": {"cpu": "3"}}}]),
            {"large"},
            id="an init container",
        ),
        pytest.param(
            pod(
                "p", initContainers=[{"restartPolicy": "Always", "resources": {"requests": {"cpu": "1500m"}}}]
            ),
            {"large"},
            id="a sidecar",
        ),
        pytest.param(
            pod("p", tolerations=[{"operator": "Exists"}]),
            {"large", "small", "tainted", "cordoned"},
            id="all tolerated",
        ),
        pytest.param(pod("p", tolerations=[{**BUSY}]), {"large", "small", "tainted"}, id="a taint tolerated"),
        pytest.param(
            pod("p", tolerations=[{**BUSY, "value": "no"}]), {"large", "small"}, id="another value tolerated"
        ),
        pytest.param(pod("p", nodeSelector={"zone": "east"}), {"large"}, id="a selector"),
        pytest.param(
            pod("p", **wanted({"key": "rank", "operator": "Gt", "values": ["4"]})), {"large"}, id="a number"
        ),
        pytest.param(
            pod("p", **wanted({"key": "zone", "operator": "DoesNotExist"})), {"small"}, id="no label"
        ),
        pytest.param(
            pod("p", **wanted({"key": "zone", "operator": "Later"})), set[str](), id="an unknown operator"
        ),
        pytest.param(pod("p", **terms("podAffinity", "friend")), {"small"}, id="near a friend"),
        pytest.param(pod("p", **terms("podAffinity", "friend", "other")), set[str](), id="near two at once"),
        pytest.param(pod("p", **terms("podAntiAffinity", "friend")), {"large"}, id="away from a friend"),
        pytest.param(
            pod("p", **terms("podAffinity", "kin"), labels={"app": "kin"}),
            {"large", "small"},
            id="the first of a kind",
        ),
        pytest.param(pod("p", labels={"app": "disliked"}), {"large"}, id="where nobody minds it"),
        pytest.param(
            pod("p", labels={"app": "disliked"}, namespace="other"), {"large", "small"}, id="unknown there"
        ),
        pytest.param(
            pod("p", **terms("podAntiAffinity", "far", namespaceSelector={"matchLabels": {"team": "red"}})),
            {"large"},
            id="away from another namespace",
        ),
    ],
)
def test_a_node_is_left_exactly_when_no_rule_objects(asks: Pod, fits: set[str]) -> None:
    seen = picture(
        [
            node("large", labels={"zone": "east", "rank": "5"}, **{"example.com/card": "4"}),
            node("small", labels={"rank": "4"}, cpu="3"),
            node("tainted", taints=[BUSY]),
            node("cordoned", cordoned=True),
        ],
        [
            pod("friend", on="small", labels={"app": "friend"}, **terms("podAntiAffinity", "disliked")),
            pod("far", {}, on="small", labels={"app": "far"}, namespace="red"),
        ],
    )
    seen.namespaces["red"] = {"team": "red"}
    judge = Judge.of(asks, seen, frozenset({"example.com/ignored"}))
    assert {host.name for host in seen.nodes if judge.verdict(host) is None} == fits


def with_port(name: str, address: str = "", *, protocol: str = "TCP", on: str = "") -> Pod:
    port = {"hostPort": 8080, "hostIP": address, "protocol": protocol}
    return pod(name, on=on, containers=[{"name": "main", "ports": [port]}])


@pytest.mark.parametrize(
    ("taken", "asked", "free"),
    [
        pytest.param(with_port("a", on="n"), with_port("b"), False, id="the same port"),
        pytest.param(with_port("a", on="n"), with_port("b", protocol="UDP"), True, id="another protocol"),
        pytest.param(
            with_port("a", "10.0.0.1", on="n"), with_port("b", "10.0.0.2"), True, id="another address"
        ),
        pytest.param(with_port("a", "10.0.0.1", on="n"), with_port("b"), False, id="every address"),
    ],
)
def test_a_host_port_is_given_once(taken: Pod, asked: Pod, *, free: bool) -> None:
    seen = picture([node("n")], [taken])
    assert (Judge.of(asked, seen, frozenset()).verdict(seen.nodes[0]) is None) is free


def spread(*zones: str, skew: int = 1, **more: object) -> Pod:
    constraint = {
        "maxSkew": skew,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }
    return pod(
        "p",
        topologySpreadConstraints=[constraint],
        labels={"app": "web"},
        nodeSelector=dict.fromkeys(zones, "y"),
    )


@pytest.mark.parametrize(
    ("asks", "fits"),
    [
        pytest.param(spread(), {"west"}, id="where fewer are"),
        pytest.param(spread(skew=3), {"east", "west"}, id="within the skew"),
        pytest.param(spread(skew=2, minDomains=3), {"west"}, id="too few domains count as an empty one"),
        pytest.param(
            spread(whenUnsatisfiable="ScheduleAnyway"), {"east", "west", "nowhere"}, id="only preferred"
        ),
        pytest.param(spread(labelSelector={}), {"east", "west"}, id="an empty selector counts nobody"),
        pytest.param(spread("chosen"), {"east"}, id="only nodes it may use count"),
        pytest.param(spread("chosen", nodeAffinityPolicy="Ignore"), set[str](), id="all nodes count"),
    ],
)
def test_spreading_forbids_what_would_make_the_difference_too_large(asks: Pod, fits: set[str]) -> None:
    seen = picture(
        [
            node("east", labels={"zone": "east", "chosen": "y"}),
            node("west", labels={"zone": "west"}),
            node("nowhere"),
        ],
        [*(pod(f"w{number}", on="east", labels={"app": "web"}) for number in range(2))],
    )
    judge = Judge.of(asks, seen, frozenset())
    assert {host.name for host in seen.nodes if judge.verdict(host) is None} == fits


async def test_reasons_are_counted_and_sorted_as_kube_scheduler_does() -> None:
    seen = picture(
        [
            *(node(f"t{number}", taints=[BUSY]) for number in range(11)),
            node("a", cpu="0"),
            node("b", cpu="0", memory="1Gi"),
            node("c", cordoned=True),
            node("d", pods="0"),
        ]
    )
    decided = await trying(seen).decide(pod("p", {"cpu": "1", "memory": "2Gi"}))
    assert isinstance(decided, Unfit)
    assert decided.message == (
        "0/15 nodes are available: 1 Insufficient memory, 1 Too many pods, 1 node(s) were unschedulable, "
        "11 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to deallocate, preemption: 0/15 nodes "
        "are available: 1 No preemption victims found for incoming pod, 14 Preemption is not helpful for scheduling."
    )


async def test_a_pod_that_names_its_node_is_looked_at_there_alone() -> None:
    named = {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
    }
    asks = pod("p", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": named}})
    seen = picture([node("a"), node("b")])
    assert await trying(seen).decide(asks) == Chosen("b")
    seen.put_node(node("b", cpu="0"))
    decided = await trying(seen).decide(asks)
    assert isinstance(decided, Unfit)
    assert decided.message.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


async def test_a_nominated_pod_holds_its_place_against_its_equals_and_not_against_the_more_important() -> (
    None
):
    seen = picture([node("n")])
    seen.nominate(pod("first", {"cpu": "6"}, priority=5), "n")
    assert isinstance(await trying(seen).decide(pod("equal", {"cpu": "6"}, priority=5)), Unfit)
    assert await trying(seen).decide(pod("urgent", {"cpu": "6"}, priority=6)) == Chosen("n")
    assert await trying(seen).decide(pod("small", {"cpu": "2"})) == Chosen("n")
    seen.forget_nomination("uid-first")
    assert await trying(seen).decide(pod("equal", {"cpu": "6"}, priority=5)) == Chosen("n")


async def test_of_many_nodes_only_a_part_is_looked_at_unless_all_are_asked_for() -> None:
    seen = picture([node(f"n{number}") for number in range(300)])
    extenders = Recorded()
    some = trying(seen, extenders)
    for _ in range(2):
        await some.decide(pod("p"))
    await trying(seen, extenders, percentageOfNodesToScore=100).decide(pod("p"))
    assert [len(each) for each in extenders.offered] == [144, 144, 300]
    assert extenders.offered[1][0] == "n144", "the next look begins where the last one ended"
