"""References from a pod to its own fields, in variables and in files."""

from __future__ import annotations

import re
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import each_invalid, invalid, required, unsupported
from tangram.sandbox.apiserver.rules.looking import quantity, word
from tangram.sandbox.apiserver.wording import qualified

VARIABLE_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_KNOWN: Final = frozenset({
    *VARIABLE_FIELDS, "metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName",
    "status.phase", "spec.host",
})  # fmt: skip
_RESOURCES: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage",
    "requests.memory",
)  # fmt: skip
_CORE_DIVISORS: Final = ("1m", "1")
_BYTE_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_HUGE: Final = ("limits.hugepages-", "requests.hugepages-")
_ONE_ENTRY: Final = re.compile(r"(.*)\['(.*)'\]", re.DOTALL)


def field_faults(reference: Object, path: str, legal: tuple[str, ...]) -> list[Fault]:
    """A field of the pod, or one label or annotation of it."""
    version, field = word(reference, "apiVersion"), word(reference, "fieldPath")
    for name, value in (("apiVersion", version), ("fieldPath", field)):
        if not value:
            return [required(f"{path}.{name}")]
    at = f"{path}.fieldPath"
    if version != "v1":
        return [invalid(at, field, f"error converting fieldPath: unsupported pod version: {version}")]
    one = _ONE_ENTRY.fullmatch(field)
    if one:
        if one[1] == "metadata.annotations":
            return each_invalid(path, one[2].lower(), qualified(one[2].lower()))
        if one[1] == "metadata.labels":
            return each_invalid(path, one[2], qualified(one[2]))
        return [
            invalid(at, field, f"error converting fieldPath: field label does not support subscript: {field}")
        ]
    if field not in _KNOWN:
        return [invalid(at, field, f"error converting fieldPath: field label not supported: {field}")]
    return [] if field in legal or field == "spec.host" else [unsupported(at, field, sorted(legal))]


def resource_field_faults(reference: Object, path: str, *, names_container: bool = False) -> list[Fault]:
    """What a container asks for."""
    resource = word(reference, "resource")
    if names_container and not word(reference, "containerName"):
        return [required(f"{path}.containerName")]
    if not resource:
        return [required(f"{path}.resource")]
    if resource not in _RESOURCES and not resource.startswith(_HUGE):
        return [unsupported(f"{path}.resource", resource, _RESOURCES)]
    return _divisor_faults(resource, reference, f"{path}.divisor")


def _divisor_faults(resource: str, reference: Object, path: str) -> list[Fault]:
    divisor = quantity(reference.get("divisor", "0"))
    _, _, name = resource.partition(".")
    legal = _CORE_DIVISORS if name == "cpu" else _BYTE_DIVISORS
    if divisor.sign == 0 or str(divisor) in legal:
        return []
    said = "1m and 1" if name == "cpu" else ", ".join(_BYTE_DIVISORS)
    kind = {"ephemeral-storage": "local ephemeral storage"}.get(name, name.partition("-")[0])
    detail = f"only divisor's values {said} are supported with the {kind} resource"
    return [invalid(path, resource, detail)]
