"""Pods as they are changed: hardly anything may be."""

from builders.rule_cases.cases import Case, Object, box, merged, pod

GATED = pod(schedulingGates=[{"name": "a.b/one"}, {"name": "a.b/two"}], nodeSelector={"a": "b"})


def changed(name: str, start: Object | None = None, **spec: object) -> Case:
    return Case(f"pod-update-{name}", start or pod(), {"spec": spec})


def status(name: str, change: Object) -> Case:
    return Case(f"pod-status-{name}", pod(), {"status": change}, on="status")


CASES = (
    Case("pod-update-labels", pod(), {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}),
    Case("pod-update-label-bad", pod(), {"metadata": {"labels": {"a": "b c"}}}),
    Case("pod-update-status-is-ignored", pod(), {"status": {"phase": "Running"}}),
    changed("image", None, containers={"0": {"image": "app:2"}}),
    changed("image-emptied", None, containers={"0": {"image": ""}}),
    changed("image-with-space", None, containers={"0": {"image": " app"}}),
    changed("add-toleration", None, tolerations=[{"key": "k", "operator": "Exists"}]),
    changed("drop-toleration", pod(tolerations=[{"key": "k", "operator": "Exists"}]), tolerations=[]),
    changed("deadline", None, activeDeadlineSeconds=100),
    changed("deadline-raised", pod(activeDeadlineSeconds=5), activeDeadlineSeconds=6),
    changed("deadline-removed", pod(activeDeadlineSeconds=5), activeDeadlineSeconds=None),
    changed("grace", None, terminationGracePeriodSeconds=3),
    changed("grace-from-negative-to-one", pod(terminationGracePeriodSeconds=-1), terminationGracePeriodSeconds=1),
    changed("restart-policy", None, restartPolicy="Never"),
    changed("node-name", None, nodeName="other"),
    changed("node-selector", None, nodeSelector={"a": "b"}),
    changed("env", None, containers={"0": {"env": [{"name": "A", "value": "b"}]}}),
    changed("more-containers", None, containers=[box(), box(name="second")]),
    changed("fewer-containers", pod(box(), box(name="second")), containers=[box()]),
    changed("resources", None, containers={"0": {"resources": {"limits": {"cpu": "1"}}}}),
    changed("gates-removed", GATED, schedulingGates=[]),
    changed("one-gate-removed", GATED, schedulingGates=[{"name": "a.b/two"}]),
    changed("gate-added", None, schedulingGates=[{"name": "a.b/c"}]),
    changed("gated-selector-narrowed", GATED, nodeSelector={"c": "d"}),
    changed("gated-selector-changed", GATED, nodeSelector={"a": "other"}),
    changed("gated-affinity", GATED, affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}}),
    changed("ephemeral", None, ephemeralContainers=[box(name="debug")]),
    Case("pod-ephemeral-added", pod(), {"spec": {"ephemeralContainers": [box(name="debug")]}}, "ephemeralcontainers"),
    Case("pod-ephemeral-with-ports", pod(), {"spec": {"ephemeralContainers": [
        box(name="debug", ports=[{"containerPort": 1}], targetContainerName="nope")]}}, "ephemeralcontainers"),
    status("running", {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "hostIP": "10.0.0.1",
                       "startTime": "2030-01-02T03:04:05+01:00",
                       "conditions": [{"type": "Ready", "status": "True"}],
                       "containerStatuses": [{"name": "main", "image": "i", "imageID": "", "state": {"running": {}}}]}),
    status("qos-class", {"qosClass": "Guaranteed"}),
    status("bad-ip", {"podIP": "x", "podIPs": [{"ip": "x"}]}),
    status("condition-unqualified", {"conditions": [{"type": "not ok", "status": "True"}]}),
    status("unknown-container", {"containerStatuses": [{"name": "other", "image": "i", "imageID": ""}]}),
    status("nominated", {"nominatedNodeName": "Bad_Name"}),
    Case("pod-status-keeps-spec", merged(pod(), {"metadata": {"labels": {"a": "b"}}}), {
        "metadata": {"labels": {"c": "d"}, "annotations": {"e": "f"}}, "spec": {"nodeName": "other"},
        "status": {"phase": "Failed", "reason": "Evicted"}}, on="status"),
)  # fmt: skip
