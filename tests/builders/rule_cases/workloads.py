"""Deployments, ReplicaSets, DaemonSets, StatefulSets, ReplicationControllers and PodTemplates."""

from builders.rule_cases.cases import Case, Object, box, merged, template, thing, workload


def of(
    kind: str, name: str, change: Object | None = None, update: Object | None = None, on: str = ""
) -> Case:
    return Case(f"{kind.lower()}-{name}", workload(kind, change), update, on)


def spec(**fields: object) -> Object:
    return {"spec": fields}


OTHER_LABELS = {"template": {"metadata": {"labels": {"app": "y"}}}}
CONTROLLER = thing("ReplicationController", {"spec": {"template": template()}})

CASES = (
    *(of(kind, "plain") for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")),
    *(of(kind, "selector-missing", spec(selector=None)) for kind in ("Deployment", "ReplicaSet", "DaemonSet",
                                                                     "StatefulSet")),
    *(of(kind, "selector-of-others", spec(**OTHER_LABELS)) for kind in ("Deployment", "ReplicaSet", "DaemonSet",
                                                                        "StatefulSet")),
    *(of(kind, "selector-changed", None, spec(selector={"matchLabels": {"app": "y"}}, **OTHER_LABELS))
      for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")),
    *(of(kind, "image-changed", None, spec(template={"spec": {"containers": [box(image="app:2")]}}))
      for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")),
    *(of(kind, "restart-never", spec(template={"spec": {"restartPolicy": "Never"}}))
      for kind in ("Deployment", "DaemonSet", "StatefulSet")),
    *(of(kind, "status", None, {"status": {"replicas": 1, "readyReplicas": 1, "observedGeneration": 1},
                                "spec": {"replicas": 9}}, "status") for kind in ("Deployment", "ReplicaSet",
                                                                                 "StatefulSet")),
    of("Deployment", "scaled", None, spec(replicas=3)),
    of("Deployment", "replicas-zero", spec(replicas=0)),
    of("Deployment", "replicas-negative", spec(replicas=-1)),
    of("Deployment", "annotated", None, {"metadata": {"annotations": {"a": "b"}}}),
    of("Deployment", "labelled", None, {"metadata": {"labels": {"a": "b"}}}),
    of("Deployment", "unchanged", None, {"metadata": {"generation": 77}}),
    of("Deployment", "recreate", spec(strategy={"type": "Recreate"})),
    of("Deployment", "recreate-with-rolling", spec(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})),
    of("Deployment", "strategy-unknown", spec(strategy={"type": "Odd"})),
    of("Deployment", "rolling-both-zero", spec(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}})),
    of("Deployment", "rolling-bad", spec(strategy={"rollingUpdate": {"maxSurge": "x", "maxUnavailable": "120%"}})),
    of("Deployment", "rolling-negative", spec(strategy={"rollingUpdate": {"maxSurge": -1, "maxUnavailable": 1}})),
    of("Deployment", "deadline-below-ready", spec(minReadySeconds=10, progressDeadlineSeconds=5)),
    of("Deployment", "negatives", spec(minReadySeconds=-1, revisionHistoryLimit=-1)),
    of("Deployment", "selector-empty", spec(selector={"matchLabels": None})),
    of("Deployment", "selector-operator", spec(selector={"matchExpressions": [{"key": "app", "operator": "Is"},
                                                                             {"key": "app", "operator": "In"}]})),
    of("Deployment", "template-without-containers", spec(template={"spec": {"containers": []}})),
    of("Deployment", "template-label-bad", spec(template={"metadata": {"labels": {"a": "b c"}}})),
    of("Deployment", "template-gpu-fraction", spec(template={"spec": {"containers": [
        box(resources={"limits": {"example.com/gpu": "0.5"}})]}})),
    of("Deployment", "name-bad", {"metadata": {"name": "Bad_Name"}}),
    of("Deployment", "status-negative", None, {"status": {"replicas": -1, "readyReplicas": 3}}, "status"),
    of("ReplicaSet", "negatives", spec(replicas=-1, minReadySeconds=-1)),
    of("DaemonSet", "on-delete", spec(updateStrategy={"type": "OnDelete"})),
    of("DaemonSet", "strategy-unknown", spec(updateStrategy={"type": "Odd"})),
    of("DaemonSet", "rolling-both", spec(updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})),
    of("DaemonSet", "rolling-neither", spec(updateStrategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}})),
    of("DaemonSet", "status", None, {"status": {"currentNumberScheduled": 1, "desiredNumberScheduled": -1}}, "status"),
    of("DaemonSet", "strategy-changed", None, spec(updateStrategy={"type": "OnDelete", "rollingUpdate": None})),
    of("DaemonSet", "deadline", spec(template={"spec": {"activeDeadlineSeconds": 5}})),
    of("StatefulSet", "service-changed", spec(serviceName="a"), spec(serviceName="b")),
    of("StatefulSet", "scaled", None, spec(replicas=2)),
    of("StatefulSet", "strategy-unknown", spec(updateStrategy={"type": "Odd"}, podManagementPolicy="Odd")),
    of("StatefulSet", "claims", spec(volumeClaimTemplates=[{"metadata": {"name": "v"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}])),
    Case("rc-plain", CONTROLLER, spec(replicas=2)),
    Case("rc-selector-of-others", merged(CONTROLLER, spec(selector={"app": "y"}))),
    Case("rc-without-template", thing("ReplicationController", spec(replicas=-1))),
    Case("pod-template-plain", thing("PodTemplate", {"template": template()}),
         {"template": {"spec": {"containers": [box(image="app:2")]}}}),
    Case("pod-template-empty", thing("PodTemplate")),
    Case("revision-plain", thing("ControllerRevision", {"data": {"a": 1}, "revision": 1}, version="apps/v1"),
         {"revision": 2}),
    Case("revision-data-changed", thing("ControllerRevision", {"data": {"a": 1}, "revision": 1}, version="apps/v1"),
         {"data": {"a": 2}}),
    Case("revision-bad", thing("ControllerRevision", {"revision": -1}, version="apps/v1")),
)  # fmt: skip
