"""Probes and hooks of containers."""

from __future__ import annotations

from typing import Any, Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    child,
    each_invalid,
    forbidden,
    invalid,
    not_negative,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import record, records, texts, word
from tangram.sandbox.apiserver.wording import header, port_name, port_number

_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def probing_faults(container: Object, path: str, grace: Any) -> list[Fault]:  # noqa: ANN401 - any JSON
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


def handler_faults(handler: Object, path: str, grace: Any) -> list[Fault]:  # noqa: ANN401 - any JSON
    """Exactly one way of doing it."""
    named = [each for each in _HANDLERS if each in handler]
    if not named:
        return [required(path, "must specify a handler type")]
    first, *more = named
    faults = _handler(first, record(handler, first), child(path, first), grace)
    return [
        *faults,
        *(forbidden(child(path, each), "may not specify more than 1 handler type") for each in more),
    ]


def _handler(kind: str, action: Object, path: str, grace: Any) -> list[Fault]:  # noqa: ANN401 - any JSON
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
            return [
                invalid(
                    path,
                    seconds,
                    f"must be non-negative and less than terminationGracePeriodSeconds ({grace})",
                )
            ]
        case _:
            return port_faults(action.get("port", 0), f"{path}.port")


def port_faults(port: Any, path: str) -> list[Fault]:  # noqa: ANN401 - any JSON
    """A port by number or by name."""
    if isinstance(port, int):
        return each_invalid(path, port, port_number(port))
    return each_invalid(path, port, port_name(str(port)))


def _probe_faults(probe: Object, path: str, grace: Any) -> list[Fault]:  # noqa: ANN401 - any JSON
    faults = handler_faults(probe, path, grace)
    for name in (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ):
        faults += not_negative(f"{path}.{name}", probe.get(name, 0))
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        faults.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    return faults
