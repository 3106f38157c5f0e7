"""What containers may ask for: known or qualified names, whole cards, limits that are not below requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.apiserver.refusals import Fault
from tangram.sandbox.apiserver.rules.faulting import (
    NOT_NEGATIVE,
    child,
    duplicate,
    each_invalid,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
)
from tangram.sandbox.apiserver.rules.looking import placed, quantities, quantity, record, records, word
from tangram.sandbox.apiserver.wording import qualified
from tangram.units.quantity import Quantity

COUNTED_OBJECTS: Final = (
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
)  # fmt: skip
CONTAINER_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
QUOTA_RESOURCES: Final = frozenset({
    *CONTAINER_RESOURCES, *COUNTED_OBJECTS, "requests.storage",
    *(f"{side}.{name}" for side in ("requests", "limits") for name in CONTAINER_RESOURCES),
})  # fmt: skip
STANDARD: Final = QUOTA_RESOURCES | {"storage"}
_HUGE: Final = "hugepages-"
_REQUESTS: Final = "requests."

Naming = Callable[[str, str], list[Fault]]


def is_native(name: str) -> bool:
    """Kubernetes' own."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Somebody else's, such as a card."""
    if is_native(name) or name.startswith(_REQUESTS):
        return False
    return not qualified(f"{_REQUESTS}{name}")


def name_faults(name: str, path: str) -> list[Fault]:
    """Of any resource."""
    faults = each_invalid(path, name, qualified(name))
    if not faults and "/" not in name and name not in STANDARD and not name.startswith(_HUGE):
        faults.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return faults


def container_name_faults(name: str, path: str) -> list[Fault]:
    """Of a resource that a container asks for."""
    faults = name_faults(name, path)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not name.startswith(_HUGE):
            faults.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        faults.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return faults


def pod_name_faults(name: str, path: str) -> list[Fault]:
    """Of a resource that a pod asks for as a whole."""
    faults = name_faults(name, path)
    if not faults and name not in ("cpu", "memory") and not name.startswith(_HUGE):
        faults.append(unsupported(path, name, ("cpu", "hugepages-", "memory")))
    return faults


def amount_faults(name: str, amount: Quantity, path: str) -> list[Fault]:
    """Never below zero, and whole where only whole things are counted."""
    faults = [invalid(path, str(amount), NOT_NEGATIVE)] if amount.sign < 0 else []
    if (name in COUNTED_OBJECTS or is_extended(name)) and not amount.is_integer:
        faults.append(invalid(path, str(amount), "must be an integer"))
    return faults


def requirement_faults(
    resources: Object, claims: list[str], path: str, naming: Naming = container_name_faults
) -> list[Fault]:
    """Of limits and requests together."""
    limits, requests = quantities(resources, "limits"), quantities(resources, "requests")
    faults: list[Fault] = []
    for side, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            at = f"{path}.{side}[{name}]"
            faults += [*naming(name, at), *amount_faults(name, amount, at), *_huge_faults(name, amount, at)]
            if side == "requests":
                faults += _against_limit(name, amount, limits.get(name), path)
    asked = {*limits, *requests}
    if any(name.startswith(_HUGE) for name in asked) and not asked & {"cpu", "memory"}:
        faults.append(forbidden(path, "HugePages require cpu or memory"))
    return [*faults, *_claim_faults(resources, claims, path)]


def _against_limit(name: str, amount: Quantity, limit: Quantity | None, path: str) -> list[Fault]:
    may_exceed = is_native(name) and not name.startswith(_HUGE)
    at = child(path, "requests")
    if limit is None:
        if may_exceed:
            return []
        return [required(child(path, "limits"), "Limit must be set for non overcommitable resources")]
    if amount != limit and not may_exceed:
        return [invalid(at, str(amount), f"must be equal to {name} limit of {limit}")]
    if amount > limit:
        return [invalid(at, str(amount), f"must be less than or equal to {name} limit of {limit}")]
    return []


def _huge_faults(name: str, amount: Quantity, path: str) -> list[Fault]:
    if not name.startswith(_HUGE):
        return []
    page = quantity(name.removeprefix(_HUGE))
    if page.sign > 0 and amount.sign > 0 and amount.nanos % page.nanos == 0:
        return []
    return [invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")]


def _claim_faults(resources: Object, claims: list[str], path: str) -> list[Fault]:
    faults: list[Fault] = []
    seen: set[str] = set()
    for at, claim in placed(resources, "claims", path):
        name = word(claim, "name")
        if not name:
            faults.append(required(at))
            continue
        key = f"{name}/{claim['request']}" if word(claim, "request") else name
        if key in seen or name in seen:
            faults.append(duplicate(at, key))
        seen.add(key)
        if name not in claims:
            missing = not_found(at, name)
            listed = f": {', '.join(sorted(claims))}" if claims else " which is empty"
            detail = f"{missing.message}: must be one of the names in pod.spec.resourceClaims{listed}"
            faults.append(Fault(missing.field, missing.reason, detail))
    return faults


def pod_requirement_faults(spec: Object, claims: list[str], path: str) -> list[Fault]:
    """Of what a pod asks for as a whole, which its containers share."""
    whole, at = record(spec, "resources"), child(path, "resources")
    if "resources" not in spec:
        return []
    faults = requirement_faults(whole, claims, at, pod_name_faults)
    if whole.get("claims"):
        faults.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    requests, limits = quantities(whole, "requests"), quantities(whole, "limits")
    for name, amount in requests.items():
        total = sum(_asked(spec, name), start=Quantity(0))
        if total > amount:
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            faults.append(invalid(f"{at}.requests[{name}]", str(amount), detail))
    for position, container in enumerate(records(spec, "containers")):
        for name, amount in quantities(record(container, "resources"), "limits").items():
            if name in limits and amount > limits[name]:
                where = f"{at}.containers[{position}][{name}].limits"
                faults.append(
                    invalid(where, str(amount), f"must be less than or equal to pod limits of {limits[name]}")
                )
    return faults


def _asked(spec: Object, name: str) -> list[Quantity]:
    found = [
        quantities(record(each, "resources"), "requests").get(name) for each in records(spec, "containers")
    ]
    return [each for each in found if each is not None]
