"""Containers: names, images, ports, variables, mounts, probes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.downward import VARIABLE_FIELDS, field_faults, resource_field_faults
from tangram.sandbox.apiserver.rules.faulting import (
    child,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_found,
    not_negative,
    one_of,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, record, records, texts, word
from tangram.sandbox.apiserver.rules.resource_faults import requirement_faults
from tangram.sandbox.apiserver.rules.volume_faults import backstep_faults, descending_faults
from tangram.sandbox.apiserver.rules.wording import (
    config_key,
    header,
    identity,
    label,
    port_name,
    port_number,
    subdomain,
    variable,
)

PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")


def common_faults(container: Object, path: str, volumes: Mapping[str, Object], claims: list[str]) -> list[Fault]:
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
        *_variable_faults(container, path),
        *_variables_from_faults(container, path),
        *_mount_faults(container, path, volumes),
        *_device_faults(container, path, volumes),
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


def probing_faults(container: Object, path: str, grace: Any) -> list[Fault]:  # noqa: ANN401 - read from JSON
    """Probes and hooks."""
    faults: list[Fault] = []
    for name in ("postStart", "preStop"):
        hook = record(container, "lifecycle").get(name)
        if hook is not None:
            at = f"{path}.lifecycle.{name}"
            faults += handler_faults(record(container, "lifecycle", name), at, grace)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            probe = record(container, name)
            faults += _probe_faults(probe, f"{path}.{name}", grace)
            if name != "readinessProbe" and probe.get("successThreshold") != 1:
                at = f"{path}.{name}.successThreshold"
                faults.append(invalid(at, probe.get("successThreshold"), "must be 1"))
    return faults


def handler_faults(handler: Object, path: str, grace: Any) -> list[Fault]:  # noqa: ANN401 - read from JSON
    """Exactly one way of doing it."""
    named = [each for each in _HANDLERS if each in handler]
    if not named:
        return [required(path, "must specify a handler type")]
    first, *more = named
    faults = _handler(first, record(handler, first), child(path, first), grace)
    return [*faults, *(forbidden(child(path, each), "may not specify more than 1 handler type") for each in more)]


def _handler(kind: str, action: Object, path: str, grace: Any) -> list[Fault]:  # noqa: ANN401 - the same
    match kind:
        case "exec":
            return [] if texts(action, "command") else [required(f"{path}.command")]
        case "httpGet":
            faults = [] if word(action, "path") else [required(f"{path}.path")]
            faults += port_faults(action.get("port", 0), f"{path}.port")
            if word(action, "scheme") not in ("HTTP", "HTTPS"):
                faults.append(unsupported(f"{path}.scheme", word(action, "scheme"), ("HTTP", "HTTPS")))
            for each in records(action, "httpHeaders"):
                faults += each_invalid(f"{path}.httpHeaders", word(each, "name"), header(word(each, "name")))
            return faults
        case "sleep":
            seconds = action.get("seconds", 0)
            if grace is None or 0 <= seconds <= grace:
                return []
            return [invalid(path, seconds, f"must be non-negative and less than terminationGracePeriodSeconds ({grace})")]
        case _:
            return port_faults(action.get("port", 0), f"{path}.port")


def port_faults(port: Any, path: str) -> list[Fault]:  # noqa: ANN401 - read from JSON
    """A port by number or by name."""
    if isinstance(port, int):
        return each_invalid(path, port, port_number(port))
    return each_invalid(path, port, port_name(str(port)))


def _probe_faults(probe: Object, path: str, grace: Any) -> list[Fault]:  # noqa: ANN401 - the same
    faults = handler_faults(probe, path, grace)
    for name in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        faults += not_negative(f"{path}.{name}", probe.get(name, 0))
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        faults.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    return faults


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


def _variable_faults(container: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for at, each in placed(container, "env", path):
        name = word(each, "name")
        faults += each_invalid(f"{at}.name", name, variable(name)) if name else [required(f"{at}.name")]
        if "valueFrom" in each:
            faults += _value_faults(each, record(each, "valueFrom"), f"{at}.valueFrom")
    return faults


def _value_faults(each: Object, source: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    named = [name for name in _SOURCES if name in source]
    for name in named:
        faults += _REFERENCES[name](record(source, name), f"{path}.{name}")
    if not named:
        listed = ", ".join(f"`{name}`" for name in _SOURCES[:-1])
        faults.append(invalid(path, "", f"must specify one of: {listed} or `{_SOURCES[-1]}`"))
    elif word(each, "value"):
        faults.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(named) > 1:
        faults.append(invalid(path, "", "may not have more than one field specified at a time"))
    return faults


def _key_faults(reference: Object, path: str) -> list[Fault]:
    name, key = word(reference, "name"), word(reference, "key")
    faults = each_invalid(f"{path}.name", name, subdomain(name))
    return [*faults, *(each_invalid(f"{path}.key", key, config_key(key)) if key else [required(f"{path}.key")])]


def _file_key_faults(reference: Object, path: str) -> list[Fault]:
    return [required(f"{path}.{name}") for name in ("volumeName", "path", "key") if not word(reference, name)]


_REFERENCES: Final[Mapping[str, Callable[[Object, str], list[Fault]]]] = {
    "fieldRef": lambda reference, path: field_faults(reference, path, VARIABLE_FIELDS),
    "resourceFieldRef": resource_field_faults,
    "configMapKeyRef": _key_faults,
    "secretKeyRef": _key_faults,
    "fileKeyRef": _file_key_faults,
}


def _variables_from_faults(container: Object, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for at, each in placed(container, "envFrom", path):
        prefix = word(each, "prefix")
        faults += each_invalid(f"{at}.prefix", prefix, variable(prefix))
        named = [name for name in ("configMapRef", "secretRef") if name in each]
        faults += [required(f"{at}.{name}.name") for name in named if not word(record(each, name), "name")]
        if not named:
            faults.append(invalid(f"{path}.envFrom", "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(named) > 1:
            faults.append(invalid(f"{path}.envFrom", "", "may not have more than one field specified at a time"))
    return faults


def _mount_faults(container: Object, path: str, volumes: Mapping[str, Object]) -> list[Fault]:
    faults: list[Fault] = []
    places: set[str] = set()
    for at, mount in placed(container, "volumeMounts", path):
        name, place = word(mount, "name"), word(mount, "mountPath")
        faults += [] if name else [required(f"{at}.name")]
        faults += [] if name in volumes else [not_found(f"{at}.name", name)]
        faults += [] if place else [required(f"{at}.mountPath")]
        if place in places:
            faults.append(invalid(f"{at}.mountPath", place, "must be unique"))
        places.add(place)
        faults += _mount_option_faults(container, mount, f"{path}.volumeMounts", at)
    return faults


def _mount_option_faults(container: Object, mount: Object, path: str, at: str) -> list[Fault]:
    below, spelled = word(mount, "subPath"), word(mount, "subPathExpr")
    faults = descending_faults(below, f"{path}.subPath") if below else []
    if spelled:
        if below:
            detail = "subPathExpr and subPath are mutually exclusive"
            faults.append(invalid(f"{at}.subPathExpr", spelled, detail))
        faults += descending_faults(spelled, f"{path}.subPathExpr")
    propagation = word(mount, "mountPropagation")
    if propagation and propagation not in _PROPAGATIONS:
        faults.append(unsupported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
    privileged = record(container, "securityContext").get("privileged") is True
    if propagation == "Bidirectional" and not privileged:
        detail = "Bidirectional mount propagation is available only to privileged containers"
        faults.append(forbidden(f"{path}.mountPropagation", detail))
    return faults


def _device_faults(container: Object, path: str, volumes: Mapping[str, Object]) -> list[Fault]:
    faults: list[Fault] = []
    mounted = {word(each, "name") for each in records(container, "volumeMounts")}
    for at, device in placed(container, "volumeDevices", path):
        name, place = word(device, "name"), word(device, "devicePath")
        faults += [] if name else [required(f"{at}.name")]
        if name not in volumes:
            faults.append(not_found(f"{at}.name", name))
        elif not {"persistentVolumeClaim", "ephemeral"} & volumes[name].keys():
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            faults.append(invalid(f"{at}.name", name, detail))
        faults += [] if place else [required(f"{at}.devicePath")]
        if backstep_faults(place, at):
            faults.append(invalid(f"{at}.devicePath", place, "can not contain backsteps ('..')"))
        if name in mounted:
            faults.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
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
