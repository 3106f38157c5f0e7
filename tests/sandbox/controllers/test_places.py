"""Where daemons belong, what they tolerate, and how an update goes from node to node."""

from __future__ import annotations

import datetime as dt

import pytest

from tangram.kube.objects import Object
from tangram.sandbox.controllers.daemon_places import (
    Fit,
    Limits,
    fit_of,
    limits_of,
    next_step,
    node_for,
    surplus_on,
    template_for,
    tolerations_for,
)
from tangram.sandbox.controllers.evictions import NEVER, seconds_tolerated
from tangram.sandbox.controllers.node_taints import taints_after
from tangram.sandbox.controllers.revisions import HASH
from tangram.sandbox.controllers.selecting import selects

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
YES, NO = Fit(starts=True, stays=True), Fit(starts=False, stays=False)


def node(*taints: tuple[str, str], name: str = "n", ready: str = "True", **labels: str) -> Object:
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": key, "effect": effect} for key, effect in taints]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def pod(
    name: str, digest: str, *, ready: bool = True, made: str = "2026-01-01T00:00:00Z", node: str = "n"
) -> Object:
    return {
        "metadata": {"name": name, "labels": {HASH: digest}, "creationTimestamp": made},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def fit(spec: Object, where: Object) -> Fit:
    return fit_of({"spec": spec}, tolerations_for(spec), where)


def required(*rules: Object, fields: bool = False) -> Object:
    term = {"matchFields" if fields else "matchExpressions": list(rules)}
    selector = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


@pytest.mark.parametrize(
    ("spec", "where", "expected"),
    [
        pytest.param({}, node(), YES, id="any node"),
        pytest.param({"nodeSelector": {"gpu": "c500"}}, node(gpu="c500"), YES, id="the label asked for"),
        pytest.param({"nodeSelector": {"gpu": "c500"}}, node(gpu="s4000"), NO, id="another label"),
        pytest.param(
            {}, node(("k", "NoSchedule")), Fit(starts=False, stays=True), id="a taint for newcomers"
        ),
        pytest.param({}, node(("k", "NoExecute")), NO, id="a taint for all"),
        pytest.param({}, node(("node.kubernetes.io/unschedulable", "NoSchedule")), YES, id="cordoned"),
        pytest.param({}, node(("node.kubernetes.io/not-ready", "NoExecute")), YES, id="not ready"),
        pytest.param(
            {},
            node(("node.kubernetes.io/network-unavailable", "NoSchedule")),
            Fit(starts=False, stays=True),
            id="no network",
        ),
        pytest.param(
            {"hostNetwork": True},
            node(("node.kubernetes.io/network-unavailable", "NoSchedule")),
            YES,
            id="the host's network",
        ),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]},
            node(("k", "NoExecute")),
            YES,
            id="tolerates everything",
        ),
        pytest.param(required({"key": "gpu", "operator": "Exists"}), node(), NO, id="affinity to a label"),
        pytest.param(
            required({"key": "size", "operator": "Gt", "values": ["7"]}),
            node(size="8"),
            YES,
            id="a greater number",
        ),
        pytest.param(
            required({"key": "size", "operator": "Lt", "values": ["7"]}),
            node(size="8"),
            NO,
            id="a smaller number",
        ),
        pytest.param(
            required({"key": "metadata.name", "operator": "In", "values": ["n"]}, fields=True),
            node(),
            YES,
            id="by name",
        ),
        pytest.param({"nodeName": "m"}, node(), NO, id="another node by name"),
    ],
)
def test_a_daemon_runs_where_it_fits(spec: Object, where: Object, expected: Fit) -> None:
    assert fit(spec, where) == expected


def test_a_pod_knows_the_node_it_is_meant_for_before_it_is_bound() -> None:
    owner: Object = {
        "metadata": {"name": "d", "annotations": {"deprecated.daemonset.template.generation": "3"}},
        "spec": {"template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}}},
    }
    made = template_for(owner, "abc", "node-7")
    assert node_for({"metadata": {}, "spec": made["spec"]}) == "node-7"
    assert made["metadata"]["labels"] == {"app": "x", HASH: "abc", "pod-template-generation": "3"}
    assert owner["spec"]["template"]["spec"] == {"containers": []}


def test_percentages_of_an_update_are_rounded_up() -> None:
    owner: Object = {"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}}}
    assert limits_of(owner, 25) == Limits(0, 3)


def test_of_several_pods_on_a_node_the_oldest_stays() -> None:
    pods = [pod("b", "1", made="2026-01-02T00:00:00Z"), pod("a", "1", made="2026-01-01T00:00:00Z")]
    assert [each["metadata"]["name"] for each in surplus_on(pods, "1", 0, NOW, surging=False)] == ["b"]


def test_with_surge_the_old_pod_stays_until_the_new_one_works() -> None:
    old = pod("old", "1")
    assert surplus_on([old, pod("new", "2", ready=False)], "2", 0, NOW, surging=True) == []
    assert surplus_on([old, pod("new", "2")], "2", 0, NOW, surging=True) == [old]


def test_an_update_replaces_broken_pods_at_once_and_working_ones_within_the_limit() -> None:
    by_node = {name: [pod(name, "1", ready=name != "a", node=name)] for name in "abcd"}
    step = next_step(by_node, dict.fromkeys("abcd", YES), "2", Limits(0, 2), NOW)
    assert [each["metadata"]["name"] for each in step.doomed] == ["a", "b"]
    assert step.nodes == []


def test_an_update_waits_while_too_many_are_missing() -> None:
    by_node = {"a": [pod("new", "2", ready=False)], "b": [pod("old", "1", node="b")]}
    assert next_step(by_node, dict.fromkeys("ab", YES), "2", Limits(0, 1), NOW).doomed == []


def test_an_update_with_surge_makes_new_pods_beside_old_ones() -> None:
    by_node = {name: [pod(name, "1", node=name)] for name in "abc"}
    step = next_step(by_node, dict.fromkeys("abc", YES), "2", Limits(2, 0), NOW)
    assert (step.doomed, step.nodes) == ([], ["a", "b"])


def test_a_taint_follows_the_state_of_the_node_and_leaves_others_alone() -> None:
    def marks(seen: Object) -> set[tuple[str, str]]:
        return {(each["key"], each["effect"]) for each in taints_after(seen, NOW)}

    silent = node(("mine", "NoSchedule"), ("node.kubernetes.io/not-ready", "NoSchedule"), ready="Unknown")
    away = "node.kubernetes.io/unreachable"
    assert marks(silent) == {("mine", "NoSchedule"), (away, "NoSchedule"), (away, "NoExecute")}
    well = node((away, "NoExecute"), ("mine", "NoSchedule"))
    assert marks(well) == {("mine", "NoSchedule")}
    well["spec"]["unschedulable"] = True
    assert ("node.kubernetes.io/unschedulable", "NoSchedule") in marks(well)


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], 0.0, id="none"),
        pytest.param([{"operator": "Exists"}], NEVER, id="for ever"),
        pytest.param([{"key": "k", "operator": "Exists", "tolerationSeconds": 300}], 300.0, id="for a time"),
        pytest.param(
            [
                {"operator": "Exists", "tolerationSeconds": 300},
                {"key": "k", "operator": "Exists", "tolerationSeconds": 5},
            ],
            5.0,
            id="for the shortest time",
        ),
        pytest.param([{"key": "k", "operator": "Exists", "effect": "NoSchedule"}], 0.0, id="another effect"),
        pytest.param([{"key": "k", "value": "other"}], 0.0, id="another value"),
    ],
)
def test_a_pod_bears_a_taint_as_long_as_it_says(tolerations: list[Object], expected: float) -> None:
    bearer: Object = {"metadata": {}, "spec": {"tolerations": tolerations}}
    assert seconds_tolerated(bearer, node(("k", "NoExecute"))) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param(None, False, id="no selector selects nothing"),
        pytest.param({}, True, id="an empty one everything"),
        pytest.param({"matchLabels": {"app": "x"}}, True, id="a label"),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["y"]}]}, False, id="not among"
        ),
        pytest.param(
            {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["y"]}]},
            True,
            id="absent counts as not in",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "Later"}]}, False, id="an operator nobody knows"
        ),
    ],
)
def test_selectors_select_as_kubernetes_does(selector: Object | None, expected: bool) -> None:  # noqa: FBT001 - a case
    assert selects(selector, {"app": "x"}) is expected
