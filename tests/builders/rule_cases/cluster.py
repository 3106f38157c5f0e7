"""Nodes, namespaces, leases, events and what else keeps a cluster together."""

from builders.rule_cases.cases import Case, Object, merged, thing


def node(name: str, change: Object | None = None, update: Object | None = None, on: str = "") -> Case:
    return Case(f"node-{name}", thing("Node", change, name=f"node-{name}"), update, on)


def taints(*listed: Object) -> Object:
    return {"spec": {"taints": list(listed)}}


def event(name: str, change: Object | None = None, update: Object | None = None) -> Case:
    start = thing("Event", {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "rules"}})
    return Case(f"event-{name}", merged(start, change or {}), update)


def new_event(name: str, change: Object | None = None, update: Object | None = None) -> Case:
    start = thing("Event", {
        "eventTime": "2030-01-01T00:00:00.000000Z", "reportingController": "example.com/c", "reportingInstance": "i",
        "action": "Act", "reason": "Why", "type": "Normal", "regarding": {"kind": "Pod", "name": "p",
                                                                         "namespace": "rules"},
    }, version="events.k8s.io/v1")  # fmt: skip
    return Case(f"new-event-{name}", merged(start, change or {}), update)


def lease(name: str, spec: Object, update: Object | None = None) -> Case:
    return Case(f"lease-{name}", thing("Lease", {"spec": spec}, version="coordination.k8s.io/v1"), update)


READY = {"type": "Ready", "status": "True", "reason": "Why"}
NAME_LABEL = "kubernetes.io/metadata.name"
CAPACITY = {"cpu": "4", "memory": "1024Mi", "example.com/gpu": 8}

CASES = (
    node("plain"),
    node("with-status", {"status": {"capacity": CAPACITY, "conditions": [READY], "addresses": [
        {"type": "InternalIP", "address": "10.0.0.1"}], "nodeInfo": {"kubeletVersion": "v1.36.3"}}}),
    node("status-write", None, {"status": {"capacity": CAPACITY, "allocatable": {"cpu": "3"}},
                                "spec": {"unschedulable": True}}, "status"),
    node("status-bad-quantity", None, {"status": {"capacity": {"cpu": "-1", "example.com/gpu": "1.5"}}}, "status"),
    node("status-same-address", None, {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}] * 2}},
         "status"),
    node("main-write-keeps-status", {"status": {"capacity": CAPACITY}}, {"status": {"capacity": {"cpu": "99"}},
                                                                       "metadata": {"labels": {"a": "b"}}}),
    node("cordon", None, {"spec": {"unschedulable": True}}),
    node("taint", taints({"key": "a", "effect": "NoSchedule"}), {"spec": {"taints": []}}),
    node("taint-bad", taints({"key": "a b", "value": "c d", "effect": "Never"}, {"key": "", "effect": ""})),
    node("taint-twice", taints({"key": "a", "effect": "NoSchedule"},
                               {"key": "a", "effect": "NoSchedule", "value": "b"})),
    node("taint-time", taints({"key": "a", "effect": "NoExecute", "timeAdded": "2030-01-01T02:00:00+02:00"})),
    node("pod-cidr-bad", {"spec": {"podCIDR": "10.0.0.0", "podCIDRs": ["10.0.0.0"]}}),
    node("pod-cidr-set", None, {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}}),
    node("pod-cidr-changed", {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}},
         {"spec": {"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]}}),
    node("provider-changed", {"spec": {"providerID": "a"}}, {"spec": {"providerID": "b"}}),
    Case("node-name-bad", thing("Node", name="Node_1")),
    Case("node-label-bad", thing("Node", {"metadata": {"labels": {"a": "-"}}}, name="node-label-bad")),
    Case("namespace-plain", thing("Namespace", name="ns-plain")),
    Case("namespace-name-bad", thing("Namespace", name="ns.dots")),
    Case("namespace-name-too-long", thing("Namespace", name="n" * 64)),
    Case("namespace-finalizers", thing("Namespace", {"spec": {"finalizers": ["example.com/x"]}}, name="ns-finalizers")),
    Case("namespace-finalizer-bad", thing("Namespace", {"spec": {"finalizers": ["Bad Name"]}}, name="ns-finalizer")),
    Case("namespace-label-kept", thing("Namespace", {"metadata": {"labels": {NAME_LABEL: "other"}}}, name="ns-label"),
         {"metadata": {"labels": {NAME_LABEL: None}}}),
    Case("namespace-update", thing("Namespace", name="ns-update"), {"metadata": {"labels": {"a": "b"}},
                                                                    "spec": {"finalizers": []},
                                                                    "status": {"phase": "Terminating"}}),
    Case("namespace-status", thing("Namespace", name="ns-status"), {"status": {"phase": "Terminating"}}, "status"),
    lease("plain", {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2030-01-01T00:00:00.000000Z"},
          {"spec": {"holderIdentity": "you", "leaseTransitions": 1}}),
    lease("time-without-fraction", {"renewTime": "2030-01-01T00:00:00Z"}),
    lease("empty", {}),
    lease("bad", {"holderIdentity": "", "leaseDurationSeconds": 0, "leaseTransitions": -1}),
    event("plain", {"reason": "Why", "message": "so", "type": "Normal", "count": 1,
                    "firstTimestamp": "2030-01-01T00:00:00Z", "source": {"component": "me"}},
          {"count": 2, "message": "again"}),
    event("bare"),
    event("of-a-node", {"metadata": {"namespace": "rules"}, "involvedObject": {"kind": "Node", "name": "n",
                                                                              "namespace": None}}),
    event("of-another-namespace", {"involvedObject": {"namespace": "elsewhere"}}),
    event("new-style-incomplete", {"eventTime": "2030-01-01T00:00:00.000000Z"}),
    new_event("plain", None, {"series": {"count": 2, "lastObservedTime": "2030-01-01T00:00:01.000000Z"}}),
    new_event("incomplete", {"eventTime": None, "reportingController": "", "action": "", "type": "Odd"}),
    new_event("changed", None, {"note": "other", "reason": "Because"}),
    Case("account-plain", thing("ServiceAccount"), {"automountServiceAccountToken": False}),
    Case("account-name-bad", thing("ServiceAccount", name="Bad_Name")),
    Case("binding-without-target", thing("Binding", {"target": {}})),
)  # fmt: skip
