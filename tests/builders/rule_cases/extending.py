"""Webhook configurations and CustomResourceDefinitions."""

from builders.rule_cases.cases import Case, Object, merged, thing

ADMISSION = "admissionregistration.k8s.io/v1"
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://hook.example/x"},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


def hooks(kind: str, name: str, *webhooks: Object, update: Object | None = None) -> Case:
    called = f"{kind.lower()}-{name}"
    start = thing(f"{kind}WebhookConfiguration", {"webhooks": list(webhooks)}, version=ADMISSION, name=called)
    return Case(called, start, update)


def crd(name: str, change: Object | None = None, update: Object | None = None, called: str = "") -> Case:
    plural = f"{name.replace('-', '')}s"
    schema = {"openAPIV3Schema": {"type": "object"}}
    start = thing("CustomResourceDefinition", {"spec": {
        "group": "rules.example.com", "scope": "Namespaced",
        "names": {"plural": plural, "kind": plural.capitalize()},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }}, version="apiextensions.k8s.io/v1", name=called or f"{plural}.rules.example.com")  # fmt: skip
    return Case(f"crd-{name}", merged(start, change or {}), update)


CASES = (
    hooks("Mutating", "plain", HOOK, update={"webhooks": [HOOK | {"failurePolicy": "Ignore"}]}),
    hooks("Validating", "plain", HOOK, update={"metadata": {"labels": {"a": "b"}}}),
    hooks("Mutating", "service", HOOK | {"clientConfig": {"service": {"name": "s", "namespace": "n"}}}),
    hooks("Mutating", "bad", HOOK | {"name": "short", "sideEffects": "Unknown", "failurePolicy": "Odd",
                                     "timeoutSeconds": 31, "matchPolicy": "Odd", "reinvocationPolicy": "Odd",
                                     "admissionReviewVersions": []}),
    hooks("Validating", "bad-client", HOOK | {"clientConfig": {}}),
    hooks("Validating", "bad-url", HOOK | {"clientConfig": {"url": "http://user@hook.example/x?y#z"}}),
    hooks("Validating", "bad-rules", HOOK | {"rules": [{"apiGroups": [], "apiVersions": [], "operations": ["ODD"],
                                                        "resources": [], "scope": "Odd"}]}),
    hooks("Validating", "same-names", HOOK, HOOK),
    crd("plain", None, {"spec": {"names": {"shortNames": ["pl"]}}}),
    crd("labelled", None, {"metadata": {"labels": {"a": "b"}}}),
    crd("cluster-scoped", {"spec": {"scope": "Cluster"}}),
    crd("scope-unknown", {"spec": {"scope": "Odd"}}),
    crd("misnamed", None, None, "other.example.com"),
    crd("without-versions", {"spec": {"versions": []}}),
    crd("two-storage", {"spec": {"versions": [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
        {"name": "v2", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}),
    crd("kind-bad", {"spec": {"names": {"kind": "Bad Kind"}}}),
    crd("group-changed", None, {"spec": {"scope": "Cluster", "names": {"kind": "Other"}}}),
)  # fmt: skip
