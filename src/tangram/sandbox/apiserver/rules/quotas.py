"""ResourceQuotas and LimitRanges."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import duplicate, forbidden, invalid, required, unchanged
from tangram.sandbox.apiserver.rules.looking import placed, quantities, record, records, texts, word
from tangram.sandbox.apiserver.rules.resource_faults import (
    QUOTA_RESOURCES,
    amount_faults,
    container_name_faults,
    name_faults,
)
from tangram.sandbox.apiserver.rules.ruling import Ruling
from tangram.sandbox.apiserver.wording import qualified
from tangram.units.quantity import Quantity

SCOPES: Final = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)  # fmt: skip
_PODS_ONLY: Final = ("BestEffort",)
_OPPOSITES: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_COMPUTE: Final = frozenset({
    "pods", "cpu", "memory", "ephemeral-storage",
    *(f"{side}.{name}" for side in ("requests", "limits") for name in ("cpu", "memory", "ephemeral-storage")),
})  # fmt: skip


def _quota_name_faults(name: str, path: str) -> list[Fault]:
    faults = name_faults(name, path)
    if (
        "/" not in name
        and name not in QUOTA_RESOURCES
        and not name.startswith(("hugepages-", "requests.hugepages-"))
    ):
        faults.append(invalid(path, name, "must be a standard resource for quota"))
    return faults


def _amounts_faults(thing: Object, name: str, path: str) -> list[Fault]:
    faults: list[Fault] = []
    for resource, amount in quantities(thing, name).items():
        at = f"{path}.{name}[{resource}]"
        faults += [*_quota_name_faults(resource, at), *amount_faults(resource, amount, at)]
    return faults


def _quota_faults(new: Object, old: Object | None) -> list[Fault]:
    spec = record(new, "spec")
    faults = [*_amounts_faults(spec, "hard", "spec"), *_scope_faults(spec)]
    if old is not None:
        faults += unchanged("spec.scopes", spec.get("scopes"), record(old, "spec").get("scopes"))
    return faults


def _scope_faults(spec: Object) -> list[Fault]:
    scopes, path = texts(spec, "scopes"), "spec.scopes"
    faults: list[Fault] = []
    for scope in scopes:
        if scope not in SCOPES:
            faults.append(invalid(path, scopes, "unsupported scope"))
            continue
        allowed = {"pods"} if scope in _PODS_ONLY else _COMPUTE
        if any(name in QUOTA_RESOURCES and name not in allowed for name in record(spec, "hard")):
            faults.append(invalid(path, scopes, "unsupported scope applied to resource"))
    if any(pair <= set(scopes) for pair in _OPPOSITES):
        faults.append(invalid(path, scopes, "conflicting scopes"))
    return faults


def _quota_status_faults(new: Object, _old: Object) -> list[Fault]:
    status = record(new, "status")
    return [*_amounts_faults(status, "hard", "status"), *_amounts_faults(status, "used", "status")]


QUOTA: Final = Ruling(faults=_quota_faults, status_faults=_quota_status_faults)


def _fill_limits(thing: Object) -> None:
    for limit in records(thing["spec"], "limits"):
        if word(limit, "type") != "Container":
            continue
        default = {**record(limit, "max"), **record(limit, "default")}
        asked = {**record(limit, "min"), **default, **record(limit, "defaultRequest")}
        if default:
            limit["default"] = default
        if asked:
            limit["defaultRequest"] = asked


def _limit_faults(new: Object, _old: Object | None) -> list[Fault]:
    faults: list[Fault] = []
    kinds: set[str] = set()
    for at, limit in placed(record(new, "spec"), "limits", "spec"):
        kind = word(limit, "type")
        faults += _kind_faults(kind, f"{at}.type")
        if kind in kinds:
            faults.append(duplicate(f"{at}.type", kind))
        kinds.add(kind)
        for side in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            if kind == "Pod" and side.startswith("default"):
                if record(limit, side):
                    faults.append(forbidden(f"{at}.{side}", "may not be specified when `type` is 'Pod'"))
                continue
            for name in record(limit, side):
                where = f"{at}.{side}[{name}]"
                pods = kind in ("Pod", "Container")
                faults += container_name_faults(name, where) if pods else name_faults(name, where)
        if kind == "PersistentVolumeClaim" and not {"storage"} & {
            *record(limit, "min"),
            *record(limit, "max"),
        }:
            detail = "either minimum or maximum storage value is required, but neither was provided"
            faults.append(required(f"{at}.limits", detail))
        faults += _order_faults(limit, at, pods_default=kind != "Pod")
    return faults


def _kind_faults(kind: str, path: str) -> list[Fault]:
    wrong = qualified(kind)
    if wrong:
        return [invalid(path, kind, each) for each in wrong]
    if "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
        return [invalid(path, kind, "must be a standard limit type or fully qualified")]
    return []


def _order_faults(limit: Object, path: str, *, pods_default: bool) -> list[Fault]:
    """From the least to the most."""
    least, most = quantities(limit, "min"), quantities(limit, "max")
    default = quantities(limit, "default") if pods_default else {}
    asked = quantities(limit, "defaultRequest") if pods_default else {}
    faults: list[Fault] = []

    def ordered(
        side: str, shown: str, low: tuple[str, dict[str, Quantity]], high: tuple[str, dict[str, Quantity]]
    ) -> None:
        for name in low[1].keys() & high[1].keys():
            if low[1][name] > high[1][name]:
                value = {"low": low, "high": high}[shown][1][name]
                detail = f"{low[0]} value {low[1][name]} is greater than {high[0]} value {high[1][name]}"
                faults.append(invalid(f"{path}.{side}[{name}]", str(value), detail))

    ordered("min", "low", ("min", least), ("max", most))
    ordered("defaultRequest", "high", ("min", least), ("default request", asked))
    ordered("defaultRequest", "low", ("default request", asked), ("max", most))
    ordered("defaultRequest", "low", ("default request", asked), ("default limit", default))
    ordered("default", "low", ("min", least), ("default", default))
    ordered("default", "high", ("default", default), ("max", most))
    return faults


LIMITS: Final = Ruling(fill=_fill_limits, faults=_limit_faults)
