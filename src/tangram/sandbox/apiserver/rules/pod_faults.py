"""What is wrong with a pod, or with the pod in a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.container_faults import (
    common_faults,
    host_port_faults,
    image_faults,
    profile_faults,
)
from tangram.sandbox.apiserver.rules.faulting import (
    child,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, quantities, record, records, texts, word
from tangram.sandbox.apiserver.rules.metadata import annotation_faults, label_faults
from tangram.sandbox.apiserver.rules.placement_faults import affinity_faults, spread_faults, toleration_faults
from tangram.sandbox.apiserver.rules.probe_faults import probing_faults
from tangram.sandbox.apiserver.rules.resource_faults import amount_faults, pod_requirement_faults
from tangram.sandbox.apiserver.rules.volume_faults import volume_faults
from tangram.sandbox.apiserver.wording import (
    LARGEST_INT32,
    address,
    identity,
    label,
    qualified,
    subdomain,
)

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
CONTAINER_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_FOR_INITS: Final = "may not be set for init containers without restartPolicy=Always"
_FOR_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_NOT_EPHEMERAL: Final = ("ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_MOST_NAMESERVERS: Final = 3


def pod_faults(pod: Object, old: Object | None) -> list[Fault]:
    """Of a pod, its metadata excepted."""
    spec = record(pod, "spec")
    faults = pod_spec_faults(spec, "spec")
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for at, container in placed(spec, name, "spec"):
            faults += image_faults(container, at)
    if old is None:
        if records(spec, "ephemeralContainers"):
            faults.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        if word(spec, "nodeName") and records(spec, "schedulingGates"):
            faults.append(
                forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
            )
    return faults


def template_faults(template: Object, path: str) -> list[Fault]:
    """Of a template that pods are made from."""
    metadata = record(template, "metadata")
    faults = label_faults(metadata.get("labels"), f"{path}.labels")
    faults += annotation_faults(metadata.get("annotations"), f"{path}.annotations")
    faults += pod_spec_faults(record(template, "spec"), f"{path}.spec", in_template=True)
    if records(record(template, "spec"), "ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        faults.append(forbidden(f"{path}.spec.ephemeralContainers", detail))
    return faults


def pod_spec_faults(spec: Object, path: str, *, in_template: bool = False) -> list[Fault]:
    """Of what a pod is."""
    faults, volumes = volume_faults(spec, path)
    claims = [word(each, "name") for each in records(spec, "resourceClaims")]
    return [
        *faults,
        *_container_faults(spec, path, volumes, claims),
        *_init_faults(spec, path, volumes, claims),
        *_ephemeral_faults(spec, path, volumes, claims),
        *pod_requirement_faults(spec, claims, path),
        *_host_network_faults(spec, path, in_template=in_template),
        *_word_faults(spec, path),
        *label_faults(spec.get("nodeSelector"), f"{path}.nodeSelector"),
        *_security_faults(spec, path),
        *affinity_faults(spec, path),
        *_dns_faults(spec, path),
        *_gate_faults(spec, path),
        *spread_faults(spec, path),
        *_name_faults(spec, path),
        *_number_faults(spec, path),
        *toleration_faults(spec, path),
        *_alias_faults(spec, path),
    ]


def _container_faults(
    spec: Object, path: str, volumes: Mapping[str, Object], claims: list[str]
) -> list[Fault]:
    containers = records(spec, "containers")
    if not containers:
        return [required(f"{path}.containers")]
    faults: list[Fault] = []
    names: set[str] = set()
    for at, container in placed(spec, "containers", path):
        faults += common_faults(container, at, volumes, claims)
        if word(container, "name") in names:
            faults.append(duplicate(f"{at}.name", word(container, "name")))
        names.add(word(container, "name"))
        faults += probing_faults(container, at, spec.get("terminationGracePeriodSeconds"))
        faults += _restart_faults(container, at)
    return [*faults, *host_port_faults(containers, f"{path}.containers")]


def _restart_faults(container: Object, path: str) -> list[Fault]:
    policy = word(container, "restartPolicy")
    if policy and policy not in CONTAINER_RESTART_POLICIES:
        return [unsupported(f"{path}.restartPolicy", policy, CONTAINER_RESTART_POLICIES)]
    if not policy and records(container, "restartPolicyRules"):
        return [required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")]
    return []


def _init_faults(spec: Object, path: str, volumes: Mapping[str, Object], claims: list[str]) -> list[Fault]:
    faults: list[Fault] = []
    names = {word(each, "name") for each in records(spec, "containers")}
    for at, container in placed(spec, "initContainers", path):
        name = word(container, "name")
        faults += common_faults(container, at, volumes, claims)
        faults += _restart_faults(container, at)
        if name in names:
            faults.append(duplicate(f"{at}.name", name))
        names.add(name)
        faults += host_port_faults([container], f"{path}.initContainers")
        if word(container, "restartPolicy") == "Always":
            faults += probing_faults(container, at, spec.get("terminationGracePeriodSeconds"))
        else:
            for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if field in container:
                    faults.append(forbidden(f"{at}.{field}", _FOR_INITS))
    return faults


def _ephemeral_faults(
    spec: Object, path: str, volumes: Mapping[str, Object], claims: list[str]
) -> list[Fault]:
    faults: list[Fault] = []
    others = {word(each, "name") for kind in ("containers", "initContainers") for each in records(spec, kind)}
    names = set(others)
    for at, container in placed(spec, "ephemeralContainers", path):
        name, target = word(container, "name"), word(container, "targetContainerName")
        faults += common_faults(container, at, volumes, claims)
        if name in names:
            faults.append(duplicate(f"{at}.name", name))
        names.add(name)
        if target and target not in others:
            faults.append(not_found(f"{at}.targetContainerName", target))
        faults += [
            forbidden(f"{at}.{field}", _FOR_EPHEMERAL) for field in _NOT_EPHEMERAL if container.get(field)
        ]
        for where, mount in placed(container, "volumeMounts", at):
            faults += [
                forbidden(f"{where}.{field}", _FOR_EPHEMERAL)
                for field in ("subPath", "subPathExpr")
                if word(mount, field)
            ]
    return faults


def _host_network_faults(spec: Object, path: str, *, in_template: bool) -> list[Fault]:
    if not spec.get("hostNetwork"):
        return []
    faults: list[Fault] = []
    for at, container in placed(spec, "containers", path):
        for where, port in placed(container, "ports", at):
            there = port.get("hostPort", 0)
            if there != port.get("containerPort", 0) and not (in_template and not there):
                detail = "must match `containerPort` when `hostNetwork` is true"
                faults.append(invalid(f"{where}.hostPort", there, detail))
    return faults


def _word_faults(spec: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for name, legal in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", DNS_POLICIES)):
        value = word(spec, name)
        if value not in legal:
            faults.append(
                unsupported(child(path, name), value, legal) if value else required(child(path, name))
            )
    preemption = word(spec, "preemptionPolicy")
    if preemption not in ("", "PreemptLowerPriority", "Never"):
        faults.append(unsupported(f"{path}.preemptionPolicy", preemption, ("PreemptLowerPriority", "Never")))
    if "os" in spec:
        system = word(record(spec, "os"), "name")
        if not system:
            faults.append(required(f"{path}.os.name"))
        elif system not in ("linux", "windows"):
            faults.append(unsupported(f"{path}.os", system, ("linux", "windows")))
    return faults


def _security_faults(spec: Object, path: str) -> list[Fault]:
    context, at = record(spec, "securityContext"), f"{path}.securityContext"
    faults: list[Fault] = []
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        if name in context:
            faults += each_invalid(f"{at}.{name}", context[name], identity(context[name]))
    for position, group in enumerate(context.get("supplementalGroups") or ()):
        faults += each_invalid(f"{at}.supplementalGroups[{position}]", group, identity(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        faults.append(invalid(f"{at}.shareProcessNamespace", True, detail))  # noqa: FBT003 - the value that is wrong
    change = word(context, "fsGroupChangePolicy")
    if change not in ("", "Always", "OnRootMismatch"):
        faults.append(unsupported(f"{at}.fsGroupChangePolicy", change, ("Always", "OnRootMismatch")))
    faults += profile_faults(context, at)
    if spec.get("hostUsers") is False:
        for name, shown in (("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(name):
                faults.append(forbidden(f"{path}.{shown}", "when `hostUsers` is false"))
    return faults


def _dns_faults(spec: Object, path: str) -> list[Fault]:
    own, at = spec.get("dnsConfig"), f"{path}.dnsConfig"
    config = record(spec, "dnsConfig")
    if word(spec, "dnsPolicy") == "None":
        if own is None:
            return [required(at, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not texts(config, "nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{at}.nameservers", detail)]
    faults: list[Fault] = []
    servers = texts(config, "nameservers")
    if len(servers) > _MOST_NAMESERVERS:
        detail = f"must not have more than {_MOST_NAMESERVERS} nameservers"
        faults.append(invalid(f"{at}.nameservers", servers, detail))
    for position, server in enumerate(servers):
        faults += each_invalid(f"{at}.nameservers[{position}]", server, address(server))
    for where, option in placed(config, "options", at):
        if not word(option, "name"):
            faults.append(required(where, "must not be empty"))
    return faults


def _gate_faults(spec: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for at, gate in placed(spec, "readinessGates", path):
        kind = word(gate, "conditionType")
        faults += each_invalid(f"{at}.conditionType", kind, qualified(kind))
    seen: set[str] = set()
    for at, gate in placed(spec, "schedulingGates", path):
        name = word(gate, "name")
        faults += each_invalid(at, name, qualified(name))
        if name in seen:
            faults.append(duplicate(at, name))
        seen.add(name)
    return faults


def _name_faults(spec: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for field, wording in (
        ("serviceAccountName", subdomain), ("nodeName", subdomain), ("hostname", label), ("subdomain", label),
        ("priorityClassName", subdomain), ("runtimeClassName", subdomain),
    ):  # fmt: skip
        value = word(spec, field)
        if value:
            faults += each_invalid(child(path, field), value, wording(value))
    return faults


def _number_faults(spec: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    if spec.get("terminationGracePeriodSeconds") is None:
        faults.append(required(f"{path}.terminationGracePeriodSeconds"))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= LARGEST_INT32:
        detail = f"must be between 1 and {LARGEST_INT32}, inclusive"
        faults.append(invalid(f"{path}.activeDeadlineSeconds", deadline, detail))
    for name, amount in quantities(spec, "overhead").items():
        faults += amount_faults(name, amount, f"{path}.overhead.limits[{name}]")
    return faults


def _alias_faults(spec: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for at, alias in placed(spec, "hostAliases", path):
        faults += each_invalid(f"{at}.ip", word(alias, "ip"), address(word(alias, "ip")))
        for position, host in enumerate(texts(alias, "hostnames")):
            faults += each_invalid(f"{at}.hostnames[{position}]", host, subdomain(host))
    return faults
