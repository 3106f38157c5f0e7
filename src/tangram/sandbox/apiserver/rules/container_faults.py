"""Containers: names, images, ports, and what they may do on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    duplicate,
    each_invalid,
    invalid,
    one_of,
    required,
)
from tangram.sandbox.apiserver.rules.looking import placed, record, texts, word
from tangram.sandbox.apiserver.rules.mount_faults import device_faults, mount_faults
from tangram.sandbox.apiserver.rules.resource_faults import requirement_faults
from tangram.sandbox.apiserver.rules.variable_faults import variable_faults, variables_from_faults
from tangram.sandbox.apiserver.rules.volume_faults import descending_faults
from tangram.sandbox.apiserver.wording import (
    identity,
    label,
    port_name,
    port_number,
)

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")


def common_faults(
    container: Object, path: str, volumes: Mapping[str, Object], claims: list[str]
) -> list[Fault]:
    """What holds for containers of every kind."""
    name = word(container, "name")
    faults = each_invalid(f"{path}.name", name, label(name)) if name else [required(f"{path}.name")]
    if not word(container, "image"):
        faults.append(required(f"{path}.image"))
    policy = word(container, "terminationMessagePolicy")
    return [
        *faults,
        *one_of(f"{path}.terminationMessagePolicy", policy, ("File", "FallbackToLogsOnError")),
        *_port_faults(container, path),
        *variable_faults(container, path),
        *variables_from_faults(container, path),
        *mount_faults(container, path, volumes),
        *device_faults(container, path, volumes),
        *one_of(f"{path}.imagePullPolicy", word(container, "imagePullPolicy"), PULL_POLICIES),
        *requirement_faults(record(container, "resources"), claims, f"{path}.resources"),
        *_security_faults(container, path),
    ]


def image_faults(container: Object, path: str) -> list[Fault]:
    """Of a pod's container alone: templates are not looked at so closely."""
    image = word(container, "image")
    if image == image.strip():
        return []
    return [invalid(f"{path}.image", image, "must not have leading or trailing whitespace")]


def _port_faults(container: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    names: set[str] = set()
    for at, port in placed(container, "ports", path):
        name, number = word(port, "name"), port.get("containerPort", 0)
        wrong = port_name(name) if name else []
        faults += each_invalid(f"{at}.name", name, wrong)
        if not wrong and name in names:
            faults.append(duplicate(f"{at}.name", name))
        names |= {name} - {""}
        if number == 0:
            faults.append(required(f"{at}.containerPort"))
        else:
            faults += each_invalid(f"{at}.containerPort", number, port_number(number))
        if port.get("hostPort"):
            faults += each_invalid(f"{at}.hostPort", port["hostPort"], port_number(port["hostPort"]))
        faults += one_of(f"{at}.protocol", word(port, "protocol"), PROTOCOLS)
    return faults


def host_port_faults(containers: list[Object], path: str) -> list[Fault]:
    """No port of the machine is taken twice."""
    faults: list[Fault] = []
    taken: set[str] = set()
    for position, container in enumerate(containers):
        for at, port in placed(container, "ports", f"{path}[{position}]"):
            if port.get("hostPort"):
                place = f"{word(port, 'protocol')}/{word(port, 'hostIP')}/{port['hostPort']}"
                if place in taken:
                    faults.append(duplicate(f"{at}.hostPort", place))
                taken.add(place)
    return faults


def _security_faults(container: Object, path: str) -> list[Fault]:
    context, at = record(container, "securityContext"), f"{path}.securityContext"
    faults: list[Fault] = []
    for name in ("runAsUser", "runAsGroup"):
        if name in context:
            faults += each_invalid(f"{at}.{name}", context[name], identity(context[name]))
    faults += profile_faults(context, at)
    if context.get("allowPrivilegeEscalation") is False:
        opening = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged") is True:
            faults.append(invalid(at, context, f"{opening} `privileged` to true"))
        if "CAP_SYS_ADMIN" in texts(record(context, "capabilities"), "add"):
            faults.append(invalid(at, context, f"{opening} `capabilities.Add` CAP_SYS_ADMIN"))
    return faults


def profile_faults(context: Object, path: str) -> list[Fault]:
    """Of a container's or a pod's seccomp profile."""
    if "seccompProfile" not in context:
        return []
    profile, at = record(context, "seccompProfile"), f"{path}.seccompProfile"
    kind, local = word(profile, "type"), profile.get("localhostProfile")
    faults = one_of(f"{at}.type", kind, _PROFILES)
    if kind == "Localhost":
        if local is None:
            return [*faults, required(f"{at}.localhostProfile", "must be set when seccomp type is Localhost")]
        return [*faults, *descending_faults(str(local), f"{at}.localhostProfile")]
    if local is not None:
        detail = "can only be set when seccomp type is Localhost"
        faults.append(invalid(f"{at}.localhostProfile", profile, detail))
    return faults
