"""What the recorded answers do not show: doors of their own, waiting pods, addresses, accounts."""

import copy
from typing import Any

import pytest

from builders.rule_cases.cases import pod, thing
from tangram.sandbox.apiserver.builtin import BUILT_IN
from tangram.sandbox.apiserver.kinds import Kind
from tangram.sandbox.apiserver.refusals import Refused
from tangram.sandbox.apiserver.rules import (
    SYSTEM_PRIORITY_CLASSES,
    Rules,
    admit_node,
    admit_pod,
    give_addresses,
    metadata_faults,
    rules_of,
)
from tangram.sandbox.apiserver.rules.cronjobs import schedule_faults
from tangram.sandbox.apiserver.rules.qos import qos_class

Object = dict[str, Any]


def kind(name: str, group: str = "") -> Kind:
    return next(each for each in BUILT_IN if (each.kind, each.group) == (name, group))


def made(start: Object) -> tuple[Rules, Object]:
    group, _, _ = start["apiVersion"].rpartition("/")
    rules, created = rules_of(kind(start["kind"], group)), copy.deepcopy(start)
    rules.prepare_create(created)
    return rules, created


def test_the_contents_of_a_namespace_are_let_go_through_a_door_of_their_own() -> None:
    rules, old = made(thing("Namespace"))
    for door, left in (("", ["kubernetes"]), ("finalize", [])):
        new = {**copy.deepcopy(old), "spec": Object()}
        rules.prepare_update(new, old, door)
        assert new["spec"].get("finalizers", []) == left
        assert rules.faults(new, old, door) == []


def test_a_finalizer_without_a_domain_is_refused_at_that_door_too() -> None:
    rules, old = made(thing("Namespace"))
    new = {**old, "spec": {"finalizers": ["mine"]}}
    assert [fault.field for fault in rules.faults(new, old, "finalize")] == ["spec.finalizers[0]"]


def test_a_namespace_that_goes_says_so_and_no_other() -> None:
    rules, old = made(thing("Namespace"))
    going = {**old, "metadata": {**old["metadata"], "deletionTimestamp": "2030-01-01T00:00:00Z"}}
    assert rules.faults({**going, "status": {"phase": "Terminating"}}, going, "status") == []
    assert [
        each.field for each in rules.faults({**going, "status": {"phase": "Active"}}, going, "status")
    ] == ["status.Phase"]


def test_finalizers_are_not_added_to_what_is_being_deleted() -> None:
    _, old = made(thing("ConfigMap", {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}}))
    new = {**old, "metadata": {**old["metadata"], "finalizers": ["a.b/c"]}}
    (fault,) = metadata_faults(new, kind("ConfigMap"), old)
    assert fault.message == (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
        '[]string{"a.b/c"}'
    )


def ended(code: int) -> Object:
    return {"containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": code}}}]}


@pytest.mark.parametrize(
    ("policy", "code", "refused"),
    [
        pytest.param("Never", 1, True, id="never started again"),
        pytest.param("OnFailure", 1, False, id="started again after a failure"),
        pytest.param("OnFailure", 0, True, id="not after a success"),
        pytest.param("Always", 0, False, id="always started again"),
    ],
)
def test_a_container_that_ended_runs_again_only_where_it_may(policy: str, code: int, refused: bool) -> None:  # noqa: FBT001 - a column of the table
    rules, old = made(pod(restartPolicy=policy))
    old["status"] |= ended(code)
    new = copy.deepcopy(old)
    new["status"]["containerStatuses"][0]["state"] = {"running": {}}
    assert bool(rules.faults(new, old, "status")) is refused


def test_a_bound_pod_is_nominated_nowhere() -> None:
    rules, old = made(pod(nodeName="here"))
    new = copy.deepcopy(old)
    new["status"]["nominatedNodeName"] = "there"
    assert [fault.reason for fault in rules.faults(new, old, "status")] == ["FieldValueForbidden"]


def test_what_a_kubelet_forgets_to_repeat_is_kept() -> None:
    rules, old = made(pod())
    old["status"] |= {"observedGeneration": 3, "conditions": [{"type": "Ready", "observedGeneration": 2}]}
    old["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"}]
    new = copy.deepcopy(old)
    del new["metadata"]["ownerReferences"]
    status: Object = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    new["status"] = status
    rules.prepare_update(new, old, "status")
    assert status["qosClass"] == "BestEffort"
    assert status["observedGeneration"] == 3
    assert status["conditions"][0]["observedGeneration"] == 2
    assert new["metadata"]["ownerReferences"] == old["metadata"]["ownerReferences"]


def test_patience_with_silent_nodes_comes_back_when_it_is_taken_away() -> None:
    rules, old = made(pod())
    admit_pod(old, None)
    new = copy.deepcopy(old)
    new["spec"].pop("tolerations")
    rules.prepare_update(new, old, "")
    assert new["spec"]["tolerations"] == old["spec"]["tolerations"]


def test_a_pod_has_the_priority_of_its_class_and_no_other() -> None:
    critical = SYSTEM_PRIORITY_CLASSES[1]
    good = pod(priorityClassName="system-node-critical")
    admit_pod(good, critical)
    assert good["spec"]["priority"] == 2000001000
    with pytest.raises(Refused, match=r"the integer value of priority \(7\) must not be provided"):
        admit_pod(pod(priority=7), critical)


def test_a_token_is_mounted_unless_the_account_or_the_pod_says_no() -> None:
    for start, account, mounted in (
        (pod(), {}, True),
        (pod(), {"automountServiceAccountToken": False}, False),
        (pod(automountServiceAccountToken=True), {"automountServiceAccountToken": False}, True),
        (pod(automountServiceAccountToken=False), {}, False),
    ):
        admit_pod(start, None, account=account, suffix="abcde")
        assert ("volumes" in start["spec"]) is mounted
        before = copy.deepcopy(start)
        admit_pod(start, None, account=account, suffix="fghij")
        assert start == before


def test_a_pod_takes_the_pull_secrets_of_its_account() -> None:
    start = pod()
    admit_pod(start, None, account={"imagePullSecrets": [{"name": "s"}]}, suffix="")
    assert start["spec"]["imagePullSecrets"] == [{"name": "s"}]
    assert "volumes" not in start["spec"]


def test_a_new_node_is_kept_free_until_it_is_seen_ready() -> None:
    node = thing("Node")
    admit_node(node)
    admit_node(node)
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_a_service_is_given_what_it_lacks_and_keeps_what_it_has() -> None:
    _, service = made(
        thing("Service", {"spec": {"type": "NodePort", "ports": [{"port": 1, "nodePort": 31000}]}})
    )
    give_addresses(service, lambda: "10.96.0.7", lambda: 30007)
    give_addresses(service, lambda: "10.96.0.8", lambda: 30008)
    assert service["spec"]["clusterIP"] == "10.96.0.7"
    assert service["spec"]["ports"][0]["nodePort"] == 31000
    _, headless = made(thing("Service", {"spec": {"clusterIP": "None", "ports": [{"port": 1}]}}))
    give_addresses(headless, lambda: "10.96.0.7", lambda: 30007)
    assert headless["spec"]["clusterIPs"] == ["None"]


def test_a_services_ports_stay_when_it_is_replaced_without_them() -> None:
    rules, old = made(thing("Service", {"spec": {"type": "NodePort", "ports": [{"port": 1}]}}))
    give_addresses(old, lambda: "10.96.0.7", lambda: 30007)
    new = thing("Service", {"spec": {"type": "NodePort", "ports": [{"port": 1}]}})
    rules.prepare_update(new, old, "")
    assert new["spec"]["clusterIP"] == "10.96.0.7"
    assert new["spec"]["ports"][0]["nodePort"] == 30007


def test_cards_do_not_make_a_pod_less_evictable() -> None:
    def of(**limits: str) -> str:
        return qos_class(made(pod({"name": "a", "image": "b", "resources": {"limits": limits}}))[1])

    assert of(**{"example.com/gpu": "1"}) == "BestEffort"
    assert of(cpu="1", **{"example.com/gpu": "1"}) == "Burstable"
    assert of(cpu="1", memory="1Gi", **{"example.com/gpu": "1"}) == "Guaranteed"


def test_a_kind_without_rules_of_its_own_is_still_named_and_labelled() -> None:
    rules = rules_of(Kind(group="example.com", kind="Widget", plural="widgets"))
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "Bad Name"}}
    rules.prepare_create(widget)
    assert [fault.field for fault in rules.faults(widget, None, "")] == ["metadata.name"]


@pytest.mark.parametrize(
    ("schedule", "wrong"),
    [
        pytest.param("*/5 0-6,12 1 jan-mar mon", "", id="good"),
        pytest.param("@every 1h30m", "", id="every"),
        pytest.param("@sometimes", "unrecognized descriptor: @sometimes", id="descriptor"),
        pytest.param("60 * * * *", "end of range (60) above maximum (59): 60", id="too late"),
        pytest.param("* * 0 * *", "beginning of range (0) below minimum (1): 0", id="too early"),
        pytest.param("* 9-5 * * *", "beginning of range (9) beyond end of range (5): 9-5", id="backwards"),
        pytest.param("*/0 * * * *", "step of range should be a positive number: */0", id="no step"),
        pytest.param("1-2-3 * * * *", "too many hyphens: 1-2-3", id="hyphens"),
        pytest.param(
            "* * * * xyz",
            'failed to parse int from xyz: strconv.Atoi: parsing "xyz": invalid syntax',
            id="word",
        ),
    ],
)
def test_schedules_are_read_as_cron_reads_them(schedule: str, wrong: str) -> None:
    said = [fault.message for fault in schedule_faults(schedule, "spec.schedule")]
    assert said == ([f'Invalid value: "{schedule}": {wrong}'] if wrong else [])
