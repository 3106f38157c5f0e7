"""ConfigMaps, Secrets, quotas, limits and storage."""

from builders.rule_cases.cases import Case, Object, thing


def config(name: str, change: Object, update: Object | None = None) -> Case:
    return Case(f"config-map-{name}", thing("ConfigMap", change), update)


def secret(name: str, change: Object, update: Object | None = None) -> Case:
    return Case(f"secret-{name}", thing("Secret", change), update)


def quota(name: str, spec: Object, update: Object | None = None, on: str = "") -> Case:
    return Case(f"quota-{name}", thing("ResourceQuota", {"spec": spec}), update, on)


def limit(name: str, *limits: Object) -> Case:
    return Case(f"limit-range-{name}", thing("LimitRange", {"spec": {"limits": list(limits)}}))


def claim(name: str, spec: Object, update: Object | None = None) -> Case:
    return Case(f"claim-{name}", thing("PersistentVolumeClaim", {"spec": spec}), update)


def volume(name: str, spec: Object, update: Object | None = None) -> Case:
    return Case(f"volume-{name}", thing("PersistentVolume", {"spec": spec}, name=f"volume-{name}"), update)


def storage(name: str, change: Object, update: Object | None = None) -> Case:
    start = thing("StorageClass", change, version="storage.k8s.io/v1", name=f"storage-{name}")
    return Case(f"storage-class-{name}", start, update)


GOOD_CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "",
    "resources": {"requests": {"storage": "1024Mi"}},
}
GOOD_VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}

CASES = (
    config("plain", {"data": {"a": "b"}, "binaryData": {"c": "AAAA"}}, {"data": {"a": "c", "d": "e"}}),
    config("empty", {"data": {}}),
    config("key-bad", {"data": {"a/b": "c", "..": "d", ".": "e", "..x": "f"}}),
    config("key-twice", {"data": {"a": "b"}, "binaryData": {"a": "AAAA"}}),
    config("too-large", {"data": {"a": "x" * (1024 * 1024 + 1)}}),
    config("immutable-changed", {"data": {"a": "b"}, "immutable": True}, {"data": {"a": "c"}}),
    config("immutable-undone", {"data": {"a": "b"}, "immutable": True}, {"immutable": False}),
    config("immutable-labelled", {"immutable": True}, {"metadata": {"labels": {"a": "b"}}}),
    config("annotations-too-large", {"metadata": {"annotations": {"a": "x" * (256 * 1024)}}}),
    secret("plain", {"data": {"a": "YQ=="}}),
    secret("string-data", {"data": {"a": "YQ==", "b": "Yg=="}, "stringData": {"a": "new", "c": "see"}}),
    secret("key-bad", {"stringData": {"a b": "c"}}),
    secret("type-changed", {"type": "example.com/x"}, {"type": "Opaque"}),
    secret("type-left-out", {"type": "example.com/x"}, {"type": None}),
    secret("immutable-changed", {"immutable": True, "data": {"a": "YQ=="}}, {"data": {"a": "Yg=="}}),
    secret("docker-without-key", {"type": "kubernetes.io/dockerconfigjson"}),
    secret("docker-no-json", {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{"}}),
    secret("tls-without-keys", {"type": "kubernetes.io/tls"}),
    secret("basic-auth", {"type": "kubernetes.io/basic-auth"}),
    secret("ssh-auth", {"type": "kubernetes.io/ssh-auth"}),
    secret("account-token", {"type": "kubernetes.io/service-account-token"}),
    quota("plain", {"hard": {"cpu": "1000m", "requests.example.com/gpu": 4, "pods": "10", "count/jobs.batch": "3"}},
          {"spec": {"hard": {"cpu": "2"}}, "status": {"hard": {"cpu": "3"}}}),
    quota("bad", {"hard": {"pods": "1.5", "requests.example.com/gpu": "-1", "nothing": "1"}}),
    quota("scopes-unknown", {"hard": {"pods": "1"}, "scopes": ["Odd"]}),
    quota("scopes-changed", {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}, {"spec": {"scopes": ["NotBestEffort"]}}),
    quota("status", {"hard": {"pods": "1"}}, {"status": {"hard": {"pods": "1"}, "used": {"pods": "-1"}}}, "status"),
    limit("defaults", {"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}, "default": {"memory": "1Gi"}}),
    limit("upside-down", {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}, "default": {"cpu": "3"}}),
    limit("pod-defaults", {"type": "Pod", "default": {"cpu": "1"}}),
    limit("twice", {"type": "Pod"}, {"type": "Pod"}),
    limit("claim-unbounded", {"type": "PersistentVolumeClaim"}),
    claim("plain", GOOD_CLAIM, {"metadata": {"labels": {"a": "b"}}}),
    claim("bad", {"accessModes": ["Sometimes"], "resources": {"requests": {"storage": "-1"}}}),
    claim("empty", {}),
    claim("changed", GOOD_CLAIM, {"spec": {"accessModes": ["ReadWriteMany"]}}),
    volume("plain", GOOD_VOLUME, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}}),
    volume("empty", {}),
    volume("two-sources", {**GOOD_VOLUME, "nfs": {"server": "s", "path": "/p"}}),
    volume("source-changed", GOOD_VOLUME, {"spec": {"hostPath": {"path": "/y"}}}),
    storage("plain", {"provisioner": "example.com/x"}),
    storage("bad", {"provisioner": "", "reclaimPolicy": "Odd", "volumeBindingMode": "Odd"}),
    storage("changed", {"provisioner": "example.com/x"}, {"provisioner": "example.com/y", "reclaimPolicy": "Retain",
                                                          "parameters": {"a": "b"}}),
)  # fmt: skip
