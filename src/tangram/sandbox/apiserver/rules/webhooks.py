"""Configurations of admission webhooks."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    duplicate,
    each_invalid,
    invalid,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, record, records, texts, word
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.rules.selectors import selector_faults
from tangram.sandbox.apiserver.wording import old_label, port_number, subdomain

OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES: Final = ("*", "Cluster", "Namespaced")
REVIEWS: Final = ("v1", "v1beta1")
_WORDS: Final = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "sideEffects": ("None", "NoneOnDryRun"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}


def _fill_hooks(thing: Object) -> None:
    for hook in records(thing, "webhooks"):
        hook.setdefault("failurePolicy", "Fail")
        hook.setdefault("matchPolicy", "Equivalent")
        hook.setdefault("namespaceSelector", {})
        hook.setdefault("objectSelector", {})
        hook.setdefault("timeoutSeconds", 10)
        for rule in records(hook, "rules"):
            rule.setdefault("scope", "*")
        service = record(hook, "clientConfig", "service")
        if service:
            service.setdefault("port", 443)


def _fill_mutating(thing: Object) -> None:
    _fill_hooks(thing)
    for hook in records(thing, "webhooks"):
        hook.setdefault("reinvocationPolicy", "Never")


def _hooks_faults(new: Object, _old: Object | None) -> list[Fault]:
    faults: list[Fault] = []
    names: set[str] = set()
    for at, hook in placed(new, "webhooks", ""):
        name = word(hook, "name")
        faults += _hook_faults(hook, at)
        if name and name in names:
            faults.append(duplicate(f"{at}.name", name))
        names.add(name)
    return faults


def _hook_faults(hook: Object, path: str) -> list[Fault]:
    faults = _name_faults(word(hook, "name"), f"{path}.name")
    for at, rule in placed(hook, "rules", path):
        faults += _rule_faults(rule, at)
    for name, legal in _WORDS.items():
        if name in hook and hook[name] not in legal:
            faults.append(unsupported(f"{path}.{name}", hook[name], legal))
    if "sideEffects" not in hook:
        faults.append(required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun"))
    if not 1 <= hook.get("timeoutSeconds", 10) <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        faults.append(invalid(f"{path}.timeoutSeconds", hook["timeoutSeconds"], detail))
    for name in ("namespaceSelector", "objectSelector"):
        faults += selector_faults(hook.get(name), f"{path}.{name}")
    faults += _client_faults(record(hook, "clientConfig"), f"{path}.clientConfig")
    return [
        *faults,
        *_review_faults(texts(hook, "admissionReviewVersions"), f"{path}.admissionReviewVersions"),
    ]


def _name_faults(name: str, path: str) -> list[Fault]:
    if not name:
        return [required(path)]
    faults = each_invalid(path, name, subdomain(name))
    if not faults and name.count(".") < 2:
        faults.append(
            invalid(path, name, "should be a domain with at least three segments separated by dots")
        )
    return faults


def _rule_faults(rule: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for name, plural in (
        ("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions"),
        ("resources", ""),
    ):  # fmt: skip
        said = texts(rule, name)
        if not said:
            faults.append(required(f"{path}.{name}"))
        if plural and len(said) > 1 and "*" in said:
            faults.append(
                invalid(f"{path}.{name}", said, f"if '*' is present, must not specify other {plural}")
            )
    for position, operation in enumerate(texts(rule, "operations")):
        if operation not in OPERATIONS:
            faults.append(unsupported(f"{path}.operations[{position}]", operation, OPERATIONS))
    resources = texts(rule, "resources")
    if len(resources) > 1 and "*/*" in resources:
        faults.append(
            invalid(f"{path}.resources", resources, "if '*/*' is present, must not specify other resources")
        )
    if "*" in resources and any("/" not in each and each != "*" for each in resources):
        detail = "if '*' is present, must not specify other resources without subresources"
        faults.append(invalid(f"{path}.resources", resources, detail))
    scope = word(rule, "scope")
    return faults if scope in SCOPES else [*faults, unsupported(f"{path}.scope", scope, SCOPES)]


def _client_faults(client: Object, path: str) -> list[Fault]:
    if ("url" in client) == ("service" in client):
        return [required(path, "exactly one of url or service is required")]
    if "url" in client:
        return _url_faults(str(client["url"]), f"{path}.url")
    service, at = record(client, "service"), f"{path}.service"
    faults: list[Fault] = []
    if not word(service, "name"):
        faults.append(required(f"{at}.name", "service name is required"))
    if not word(service, "namespace"):
        faults.append(required(f"{at}.namespace", "service namespace is required"))
    port = service.get("port", 443)
    if port_number(port):
        faults.append(invalid(f"{at}.port", port, f"port is not valid: {port_number(port)[0]}"))
    return faults


def _url_faults(url: str, path: str) -> list[Fault]:
    form = "; desired format: https://host[/path]"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{form}")]
    faults: list[Fault] = []
    if parts.scheme != "https":
        faults.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{form}"))
    if not parts.netloc:
        faults.append(invalid(path, parts.netloc, f"host must be specified{form}"))
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        faults.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        faults.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        faults.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return faults


def _review_faults(versions: list[str], path: str) -> list[Fault]:
    if not versions:
        return [required(path, f"must specify one of {', '.join(REVIEWS)}")]
    faults: list[Fault] = []
    for position, version in enumerate(versions):
        if version in versions[:position]:
            faults.append(invalid(f"{path}[{position}]", version, "duplicate version"))
            continue
        faults += each_invalid(f"{path}[{position}]", version, old_label(version))
    if not set(versions) & set(REVIEWS):
        faults.append(invalid(path, versions, f"must include at least one of {', '.join(REVIEWS)}"))
    return faults


MUTATING: Final = Ruling(fill=_fill_mutating, faults=_hooks_faults, counts=("webhooks",))
VALIDATING: Final = Ruling(fill=_fill_hooks, faults=_hooks_faults, counts=("webhooks",))
