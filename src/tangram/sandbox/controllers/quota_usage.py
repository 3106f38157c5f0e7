"""How much of a ResourceQuota is used: by pods, by what they ask for, and by the number of other objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.controllers.reading import is_ended, items, part, spec_of
from tangram.sandbox.controllers.resources import Resource
from tangram.units.quantity import ZERO, Quantity, QuantityError, parse_quantity
from tangram.wire import loose
from tangram.wire.busiest import add, busiest

REQUESTS, LIMITS, COUNT = "requests.", "limits.", "count/"
PLAIN: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
COUNTED_BY_NAME: Final = frozenset(
    {
        "pods",
        "services",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "replicationcontrollers",
        "resourcequotas",
        "services.nodeports",
        "services.loadbalancers",
    }
)

Amounts = dict[str, Quantity]


def requests_of(pod: Object, which: str) -> Amounts:
    """What a pod asks for in all, and what it costs itself."""
    spec = spec_of(pod)

    def asked(container: Mapping[str, object]) -> Amounts:
        return _read(loose.members(loose.members(container.get("resources")).get(which)))

    amounts = busiest(spec, asked)
    if which == "requests" or amounts:
        add(amounts, _read(part(spec, "overhead")))
    return amounts


def pod_usage(pods: Iterable[Object], names: Iterable[str]) -> Amounts:
    """What these pods use of the named resources. Pods that have ended use nothing but their place in the list."""
    used: Amounts = dict.fromkeys(names, ZERO)
    for pod in pods:
        if "count/pods" in used:
            used["count/pods"] += Quantity.whole(1)
        if is_ended(pod):
            continue
        asked, limits = requests_of(pod, "requests"), requests_of(pod, "limits")
        for name in used:
            used[name] += _pod_amount(name, asked, limits)
    return used


def _pod_amount(name: str, asked: Amounts, limits: Amounts) -> Quantity:
    if name == "pods":
        return Quantity.whole(1)
    if name in PLAIN:
        return asked.get(name, ZERO)
    if name.startswith(REQUESTS):
        return asked.get(name.removeprefix(REQUESTS), ZERO)
    if name.startswith(LIMITS):
        return limits.get(name.removeprefix(LIMITS), ZERO)
    return ZERO


def is_of_pods(name: str) -> bool:
    """Whether a limit is about pods and what they ask for (claims ask for storage, which nobody has here)."""
    if name in PLAIN or name in ("pods", "count/pods"):
        return True
    return name.startswith((REQUESTS, LIMITS)) and "storage" not in name.replace("ephemeral-storage", "")


def counted_resource(name: str, served: Sequence[Resource]) -> Resource | None:
    """The kind whose objects a limit counts: `count/jobs.batch`, or the old names such as `configmaps`."""
    counted = name.removeprefix(COUNT) if name.startswith(COUNT) else name
    if counted == name and name not in COUNTED_BY_NAME:
        return None
    plural, _, group = counted.partition(".")
    return next((each for each in served if (each.plural, each.group) == (plural, group)), None)


def in_scopes(quota: Object, pod: Object) -> bool:
    """Whether a quota with scopes is about this pod."""
    scopes: list[str] = spec_of(quota).get("scopes") or []
    rules: list[Object] = [{"scopeName": name, "operator": "Exists"} for name in scopes]
    rules += items(spec_of(quota), "scopeSelector", "matchExpressions")
    return all(_in_scope(rule, pod) for rule in rules)


def _in_scope(rule: Object, pod: Object) -> bool:
    spec = spec_of(pod)
    terminating = spec.get("activeDeadlineSeconds") is not None
    best_effort = not any(
        part(each, "resources", which)
        for each in [*items(spec, "containers"), *items(spec, "initContainers")]
        for which in ("requests", "limits")
    )
    priority = spec.get("priorityClassName") or ""
    values: list[str] = rule.get("values") or []
    match rule["scopeName"], rule.get("operator"):
        case "Terminating", _:
            return terminating
        case "NotTerminating", _:
            return not terminating
        case "BestEffort", _:
            return best_effort
        case "NotBestEffort", _:
            return not best_effort
        case "PriorityClass", "In":
            return priority in values
        case "PriorityClass", "NotIn":
            return priority not in values
        case "PriorityClass", "DoesNotExist":
            return not priority
        case "PriorityClass", _:
            return bool(priority)
        case _:
            return False


def _read(amounts: Mapping[str, object]) -> Amounts:
    found: Amounts = {}
    for name, value in amounts.items():
        try:
            found[name] = parse_quantity(str(value))
        except QuantityError:
            continue
    return found
