"""Pods as they are created: what is filled in, and what is refused."""

from typing import Any

from builders.rule_cases.cases import Case, Object, box, merged, pod, thing

GPU = "example.com/gpu"


def one(name: str, container: Object | None = None, **spec: Any) -> Case:  # noqa: ANN401 - any JSON
    return Case(name, pod(*([box(**container)] if container is not None else []), **spec))


def resources(
    name: str, requests: Object | None = None, limits: Object | None = None, **spec: object
) -> Case:
    wanted = {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}
    return one(name, {"resources": wanted}, **spec)


def mounted(name: str, volume: Object, mount: Object | None = None) -> Case:
    mount = {"name": "v", "mountPath": "/v", **(mount or {})}
    return one(name, {"volumeMounts": [mount]}, volumes=[{"name": "v", **volume}])


def labelled(name: str, metadata: Object) -> Case:
    return Case(name, merged(pod(), {"metadata": metadata}))


FULL = pod(
    box(
        command=["sleep"], args=["1"], workingDir="/", tty=False, stdin=True,
        ports=[{"containerPort": 80, "name": "http"}, {"containerPort": 81, "protocol": "UDP", "hostPort": 8081}],
        env=[{"name": "A", "value": ""}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
             {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
             {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        envFrom=[{"configMapRef": {"name": "c"}, "prefix": "P_"}],
        resources={"limits": {"cpu": "1.5", "memory": "1024Mi", GPU: 2}, "requests": {"cpu": 0.1}},
        livenessProbe={"httpGet": {"port": 80}}, readinessProbe={"tcpSocket": {"port": "http"}, "periodSeconds": 3},
        startupProbe={"exec": {"command": ["true"]}, "failureThreshold": 9},
        lifecycle={"preStop": {"exec": {"command": ["true"]}}},
        securityContext={"privileged": True},
    ),
    initContainers=[box(name="before", image="busybox", restartPolicy="Always",
                        resources={"limits": {"cpu": "100m"}})],
    volumes=[
        {"name": "a"}, {"name": "b", "emptyDir": {}}, {"name": "c", "hostPath": {"path": "/dev"}},
        {"name": "d", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
        {"name": "e", "secret": {"secretName": "s"}},
        {"name": "f", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"name": "g", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "h", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "i", "emptyDir": {"medium": "Memory", "sizeLimit": "0.5Gi"}},
    ],
    tolerations=[{"operator": "Exists"}], nodeSelector={"a": "b"}, hostname="host", subdomain="sub",
    terminationGracePeriodSeconds=0, hostNetwork=False, imagePullSecrets=[{"name": "pull"}],
    topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                "labelSelector": {"matchLabels": {"a": "b"}}}],
    affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}}]}},
)  # fmt: skip

CASES = (
    Case("pod-plain", pod()),
    Case("pod-full", FULL),
    Case("pod-with-a-status", merged(pod(), {"status": {"phase": "Running", "podIP": "10.0.0.1"}})),
    Case("pod-empties-and-nulls", merged(pod(), {
        "metadata": {"labels": {}, "annotations": {}, "finalizers": [], "creationTimestamp": None},
        "spec": {"nodeSelector": {}, "volumes": [], "affinity": {}, "hostNetwork": False, "nodeName": "",
                 "priorityClassName": "", "tolerations": []}})),
    Case("pod-gated", pod(schedulingGates=[{"name": "example.com/wait"}])),
    Case("pod-on-a-node", pod(nodeName="some-node")),
    Case("pod-of-the-system-class", pod(priorityClassName="system-node-critical")),
    one("pod-image-latest", {"image": "app:latest"}),
    one("pod-image-without-tag", {"image": "registry.example:5000/app"}),
    one("pod-image-by-digest", {"image": "app@sha256:" + "0" * 64}),
    one("pod-host-network-ports", {"ports": [{"containerPort": 80}]}, hostNetwork=True),
    one("pod-grpc-probe", {"livenessProbe": {"grpc": {"port": 9}}}),
    one("pod-guaranteed", {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}),
    one("pod-burstable", {"resources": {"requests": {"cpu": "1"}}}),
    one("pod-only-gpu-is-best-effort", {"resources": {"limits": {GPU: "1"}}}),
    resources("pod-odd-quantities", {"cpu": "1000m", "memory": "1e3"}, {"cpu": "2000m", "memory": "1000000Ki"}),
    resources("pod-quantity-below-a-thousandth", {"cpu": "0.0001"}),
    resources("pod-pod-level-limits", None, {"cpu": "1"}, resources={"limits": {"cpu": "2", "memory": "1Gi"}}),
    # Names and metadata that are refused.
    Case("pod-name-with-capitals", thing("Pod", {"spec": pod()["spec"]}, name="Bad_Name")),
    Case("pod-name-too-long", thing("Pod", {"spec": pod()["spec"]}, name="a" * 254)),
    labelled("pod-label-value-with-space", {"labels": {"a": "b c"}}),
    labelled("pod-label-key-with-space", {"labels": {"a b": "c"}}),
    labelled("pod-label-key-two-slashes", {"labels": {"a/b/c": "d"}}),
    labelled("pod-label-value-too-long", {"labels": {"a": "x" * 64}}),
    labelled("pod-label-prefix-bad", {"labels": {"Upper.Case/x": "d"}}),
    labelled("pod-annotation-key-bad", {"annotations": {"_bad_": "c"}}),
    labelled("pod-annotation-key-with-capitals", {"annotations": {"Example.com/Key": "c"}}),
    labelled("pod-finalizer-without-domain", {"finalizers": ["plain"]}),
    labelled("pod-owner-incomplete", {"ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]}),
    labelled("pod-two-controllers", {"ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "1", "controller": True},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "b", "uid": "2", "controller": True}]}),
    labelled("pod-owned-by-an-event", {"ownerReferences": [
        {"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "1"}]}),
    # Containers that are refused.
    Case("pod-without-containers", thing("Pod", {"spec": {"containers": []}})),
    Case("pod-without-spec", thing("Pod")),
    one("pod-container-without-name", {"name": ""}),
    one("pod-container-name-bad", {"name": "Main_1"}),
    one("pod-container-without-image", {"image": ""}),
    one("pod-image-with-spaces", {"image": " app "}),
    Case("pod-two-containers-one-name", pod(box(), box())),
    Case("pod-init-and-container-one-name", pod(box(), initContainers=[box()])),
    one("pod-pull-policy-unknown", {"imagePullPolicy": "Sometimes"}),
    one("pod-message-policy-unknown", {"terminationMessagePolicy": "Shout"}),
    one("pod-port-out-of-range", {"ports": [{"containerPort": 70000}, {"containerPort": 0}]}),
    one("pod-port-names", {"ports": [{"containerPort": 1, "name": "Bad_Name"}, {"containerPort": 2, "name": "x" * 16},
                                     {"containerPort": 3, "name": "ok"}, {"containerPort": 4, "name": "ok"},
                                     {"containerPort": 5, "name": "123"}]}),
    one("pod-port-protocol-unknown", {"ports": [{"containerPort": 1, "protocol": "ICMP"}]}),
    one("pod-host-port-twice", {"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]}),
    one("pod-host-network-other-port", {"ports": [{"containerPort": 1, "hostPort": 5}]}, hostNetwork=True),
    one("pod-env-names", {"env": [{"name": ""}, {"name": "a=b"}, {"name": "1ok"}]}),
    one("pod-env-two-sources", {"env": [{"name": "A", "value": "b", "valueFrom": {"fieldRef": {
        "fieldPath": "metadata.name"}}}]}),
    one("pod-env-no-source", {"env": [{"name": "A", "valueFrom": {}}]}),
    one("pod-env-field-unknown", {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nope"}}},
                                          {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.nope"}}}]}),
    one("pod-env-annotation-ok", {"env": [{"name": "A", "valueFrom": {"fieldRef": {
        "fieldPath": "metadata.annotations['example.com/x']"}}}]}),
    one("pod-env-resource-unknown", {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {
        "resource": "limits.gpu"}}}]}),
    one("pod-env-secret-without-key", {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]}),
    one("pod-env-from-nothing", {"envFrom": [{}]}),
    one("pod-probe-without-handler", {"livenessProbe": {}}),
    one("pod-probe-two-handlers", {"livenessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}}),
    one("pod-probe-negative", {"livenessProbe": {"exec": {"command": []}, "periodSeconds": -1,
                                                 "successThreshold": 2}}),
    one("pod-readiness-success-threshold", {"readinessProbe": {"tcpSocket": {"port": 0}, "successThreshold": 2}}),
    one("pod-lifecycle-empty", {"lifecycle": {"postStart": {}}}),
    one("pod-init-with-probe", None, initContainers=[box(name="i", livenessProbe={"tcpSocket": {"port": 1}})]),
    one("pod-sidecar-restart-never-again", None, initContainers=[box(name="i", restartPolicy="Sometimes")]),
    one("pod-ephemeral-at-create", None, ephemeralContainers=[box(name="e")]),
    # Resources that are refused.
    resources("pod-request-over-limit", {"cpu": "2"}, {"cpu": "1"}),
    resources("pod-gpu-request-unlike-limit", {GPU: 1}, {GPU: 2}),
    resources("pod-gpu-without-limit", {GPU: 1}),
    resources("pod-gpu-fraction", None, {GPU: "500m"}),
    resources("pod-negative", {"cpu": "-1"}),
    resources("pod-resource-unknown", None, {"gpu": "1"}),
    resources("pod-resource-name-bad", None, {"Bad Name/x": "1"}),
    resources("pod-kubernetes-io-resource", None, {"kubernetes.io/batch": "1"}),
    resources("pod-requests-prefix", None, {"requests.example.com/gpu": "1"}),
    resources("pod-hugepages-without-memory", None, {"hugepages-2Mi": "4Mi"}),
    resources("pod-storage-resource", None, {"storage": "1Gi"}),
    # Volumes that are refused.
    mounted("pod-mount-ok", {"emptyDir": {}}),
    mounted("pod-volume-name-bad", {"name": "V_1"}),
    mounted("pod-mount-without-path", {}, {"mountPath": ""}),
    mounted("pod-mount-of-no-volume", {}, {"name": "other"}),
    mounted("pod-mount-sub-path-back", {}, {"subPath": "../x"}),
    mounted("pod-mount-sub-path-absolute", {}, {"subPath": "/x", "subPathExpr": "y"}),
    mounted("pod-volume-two-sources", {"emptyDir": {}, "hostPath": {"path": "/"}}),
    mounted("pod-host-path-back", {"hostPath": {"path": "/a/../b"}}),
    mounted("pod-host-path-type", {"hostPath": {"path": "", "type": "Nope"}}),
    mounted("pod-config-map-without-name", {"configMap": {"items": [{"key": "", "path": "/abs"}],
                                                          "defaultMode": 999}}),
    mounted("pod-secret-without-name", {"secret": {}}),
    mounted("pod-claim-without-name", {"persistentVolumeClaim": {"claimName": ""}}),
    mounted("pod-projected-nothing", {"projected": {"sources": [{}]}}),
    one("pod-two-volumes-one-name", None, volumes=[{"name": "v"}, {"name": "v"}]),
    one("pod-two-mounts-one-path", {"volumeMounts": [{"name": "v", "mountPath": "/v"}] * 2}, volumes=[{"name": "v"}]),
    # The rest of the pod.
    one("pod-restart-policy-unknown", None, restartPolicy="Sometimes"),
    one("pod-dns-policy-unknown", None, dnsPolicy="Mine"),
    one("pod-dns-none-without-servers", None, dnsPolicy="None"),
    one("pod-grace-negative", None, terminationGracePeriodSeconds=-5),
    one("pod-deadline-zero", None, activeDeadlineSeconds=0),
    one("pod-node-selector-bad", None, nodeSelector={"a b": "c d"}),
    one("pod-node-name-bad", None, nodeName="Bad_Node"),
    one("pod-node-name-and-gates", None, nodeName="node", schedulingGates=[{"name": "a.b/c"}]),
    one("pod-gate-bad", None, schedulingGates=[{"name": "Bad Gate"}, {"name": "a"}, {"name": "a"}]),
    one("pod-hostname-bad", None, hostname="Bad.Host", subdomain="Sub_"),
    one("pod-account-name-bad", None, serviceAccountName="Not_Ok"),
    one("pod-scheduler-name-bad", None, schedulerName="My Scheduler"),
    one("pod-host-pid-shared", None, hostPID=True, shareProcessNamespace=True),
    one("pod-toleration-operator", None, tolerations=[{"key": "a", "operator": "Is"}]),
    one("pod-toleration-effect", None, tolerations=[{"key": "a", "operator": "Exists", "value": "b",
                                                     "effect": "Sometimes"}]),
    one("pod-toleration-seconds-without-no-execute", None, tolerations=[{"key": "a", "operator": "Equal",
                                                                          "tolerationSeconds": 3}]),
    one("pod-toleration-empty-key", None, tolerations=[{"operator": "Equal"}]),
    one("pod-toleration-key-bad", None, tolerations=[{"key": "a b", "operator": "Exists"}]),
    one("pod-node-affinity-bad", None, affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "b", "operator": "Is"},
                                                    {"key": "c", "operator": "Gt", "values": ["x", "y"]},
                                                    {"key": "d", "operator": "Exists", "values": ["x"]}]}]}}}),
    one("pod-node-affinity-empty", None, affinity={"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}}),
    one("pod-affinity-bad", None, affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}]}}),
    one("pod-affinity-weight", None, affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}]}}),
    one("pod-spread-bad", None, topologySpreadConstraints=[
        {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "No"}]),
    one("pod-spread-twice", None, topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}] * 2),
    one("pod-pull-secret-unnamed", None, imagePullSecrets=[{}]),
    one("pod-privileged-without-escalation", {"securityContext": {"privileged": True,
                                                                  "allowPrivilegeEscalation": False}}),
    one("pod-run-as-negative", {"securityContext": {"runAsUser": -1}}, securityContext={"fsGroup": -1}),
    one("pod-priority-by-hand", None, priority=5),
    one("pod-priority-class-unknown", None, priorityClassName="no-such-class"),
    one("pod-preemption-unknown", None, preemptionPolicy="Maybe"),
    one("pod-runtime-class-bad", None, runtimeClassName="Not_Ok"),
    one("pod-host-aliases-bad", None, hostAliases=[{"ip": "nope", "hostnames": ["Bad_"]}]),
    one("pod-os-unknown", None, os={"name": "plan9"}),
)  # fmt: skip
