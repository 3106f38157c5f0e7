"""Budgets, priorities, rights and runtime classes."""

from builders.rule_cases.cases import Case, Object, thing

RBAC = "rbac.authorization.k8s.io/v1"


def budget(name: str, spec: Object, update: Object | None = None, on: str = "") -> Case:
    return Case(
        f"budget-{name}", thing("PodDisruptionBudget", {"spec": spec}, version="policy/v1"), update, on
    )


def priority(name: str, change: Object, update: Object | None = None, called: str = "") -> Case:
    start = thing("PriorityClass", change, version="scheduling.k8s.io/v1", name=called or f"priority-{name}")
    return Case(f"priority-{name}", start, update)


def rights(kind: str, name: str, change: Object, update: Object | None = None) -> Case:
    start = thing(kind, change, version=RBAC, name=f"{kind.lower()}-{name}")
    return Case(f"{kind.lower()}-{name}", start, update)


SELECTOR = {"selector": {"matchLabels": {"a": "b"}}}
GROUP = "rbac.authorization.k8s.io"
ROLE = {"roleRef": {"kind": "Role", "name": "r"}}

CASES = (
    budget("plain", {"minAvailable": 1, **SELECTOR}, {"spec": {"minAvailable": 2}}),
    budget("percent", {"maxUnavailable": "50%", **SELECTOR}),
    budget("both", {"minAvailable": 1, "maxUnavailable": 1, **SELECTOR}),
    budget("bad", {"minAvailable": "x", **SELECTOR, "unhealthyPodEvictionPolicy": "Odd"}),
    budget("negative", {"maxUnavailable": -1, **SELECTOR}),
    budget("too-many-percent", {"maxUnavailable": "101%", **SELECTOR}),
    budget("status", {"minAvailable": 1, **SELECTOR}, {"status": {"disruptionsAllowed": 1, "currentHealthy": 2,
                                                                  "desiredHealthy": -1, "expectedPods": 2}}, "status"),
    budget("status-good", {"minAvailable": 1}, {"status": {"disruptionsAllowed": 1, "observedGeneration": 1},
                                                "spec": {"minAvailable": 5}}, "status"),
    priority("plain", {"value": 10, "description": "d"}, {"description": "e"}),
    priority("value-changed", {"value": 10}, {"value": 11}),
    priority("preemption-changed", {"value": 10}, {"preemptionPolicy": "Never"}),
    priority("preemption-unknown", {"value": 10, "preemptionPolicy": "Odd"}),
    priority("too-high", {"value": 1000000001}),
    priority("system-name", {"value": 10}, None, "system-mine"),
    rights("Role", "plain", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
    rights("Role", "without-rules", {}),
    rights("Role", "bad", {"rules": [{"apiGroups": [], "resources": [], "verbs": []},
                                     {"nonResourceURLs": ["/x"], "verbs": ["get"]}]}),
    rights("ClusterRole", "plain", {"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]}),
    rights("ClusterRole", "bad", {"rules": [{"nonResourceURLs": ["/x"], "resources": ["pods"], "verbs": ["get"]}]}),
    rights("RoleBinding", "plain", {**ROLE, "subjects": [{"kind": "User", "name": "u"}, {
        "kind": "ServiceAccount", "name": "s", "namespace": "n"}]}),
    rights("RoleBinding", "bad", {"roleRef": {"apiGroup": "odd", "kind": "Odd", "name": ""}, "subjects": [
        {"kind": "ServiceAccount", "name": "s"}, {"kind": "Odd", "name": ""}]}),
    rights("RoleBinding", "role-changed", ROLE, {"roleRef": {"name": "other"}}),
    rights("ClusterRoleBinding", "plain", {"roleRef": {"kind": "ClusterRole", "name": "c"}, "subjects": [
        {"kind": "Group", "name": "g"}]}),
    rights("ClusterRoleBinding", "to-a-role", {"roleRef": {"kind": "Role", "name": "c"}}),
    Case("runtime-class-plain", thing("RuntimeClass", {"handler": "h"}, version="node.k8s.io/v1", name="rc-plain"),
         {"handler": "other"}),
    Case("runtime-class-bad", thing("RuntimeClass", {"handler": "Not_Ok"}, version="node.k8s.io/v1", name="rc-bad")),
)  # fmt: skip
