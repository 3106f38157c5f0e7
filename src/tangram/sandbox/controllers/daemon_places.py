"""Where the pods of a DaemonSet belong and which of them come, go or are replaced next; decided without any I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from tangram.kube.objects import Object
from tangram.sandbox.controllers import taints
from tangram.sandbox.controllers.hands import copied
from tangram.sandbox.controllers.reading import (
    Now,
    created_at,
    is_available,
    is_going,
    is_ready,
    items,
    labels_of,
    part,
    spec_of,
)
from tangram.sandbox.controllers.revisions import HASH
from tangram.sandbox.controllers.shares import share
from tangram.sandbox.controllers.taints import NO_EXECUTE, NO_SCHEDULE, untolerated, wants

GENERATION: Final = "pod-template-generation"
NAME_FIELD: Final = "metadata.name"
_ALWAYS_TOLERATED: Final = (
    (taints.NOT_READY, NO_EXECUTE),
    (taints.UNREACHABLE, NO_EXECUTE),
    (taints.DISK_PRESSURE, NO_SCHEDULE),
    (taints.MEMORY_PRESSURE, NO_SCHEDULE),
    (taints.PID_PRESSURE, NO_SCHEDULE),
    (taints.UNSCHEDULABLE, NO_SCHEDULE),
)


class Fit(NamedTuple):
    starts: bool
    """A pod that is not there yet should come."""
    stays: bool
    """A pod that is there may stay."""


class Limits(Struct, frozen=True):
    """Of a rolling update, as numbers."""

    surge: int
    unavailable: int
    least: int = 0
    """Seconds for which a pod must be ready to count as available."""


def tolerations_for(spec: Object) -> list[Object]:
    """The pod's own tolerations and those that every daemon has: it is there because of the node, well or not."""
    added = [
        *_ALWAYS_TOLERATED,
        *([(taints.NETWORK_UNAVAILABLE, NO_SCHEDULE)] if spec.get("hostNetwork") else []),
    ]
    kept = [
        each
        for each in items(spec, "tolerations")
        if (each.get("key"), each.get("effect")) not in added or each.get("operator") != "Exists"
    ]
    return kept + [{"key": key, "operator": "Exists", "effect": effect} for key, effect in added]


def fit_of(template: Object, tolerations: Sequence[Object], node: Object) -> Fit:
    """Whether a node should have a pod of this template, or may keep the one it has."""
    spec = part(template, "spec")
    named = spec.get("nodeName")
    if (named and named != node["metadata"]["name"]) or not wants(spec, node):
        return Fit(starts=False, stays=False)
    if untolerated(node, tolerations, (NO_SCHEDULE, NO_EXECUTE)):
        return Fit(starts=False, stays=not untolerated(node, tolerations, (NO_EXECUTE,)))
    return Fit(starts=True, stays=True)


def template_for(owner: Object, digest: str, node: str) -> Object:
    """The template with the affinity that keeps its pod on this node, and no other."""
    template = copied(spec_of(owner)["template"])
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = (metadata.get("labels") or {}) | {HASH: digest}
    generation = part(owner, "metadata", "annotations").get("deprecated.daemonset.template.generation")
    if generation:
        metadata["labels"][GENERATION] = generation
    spec = template.setdefault("spec", {})
    spec["tolerations"] = tolerations_for(spec)
    affinity = spec["affinity"] = dict(spec.get("affinity") or {})
    node_affinity = affinity["nodeAffinity"] = dict(affinity.get("nodeAffinity") or {})
    fields = {"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [node]}]}
    # The node was chosen with every other requirement in mind; this one says it all.
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [fields]}
    return template


def node_for(pod: Object) -> str:
    """The node a daemon's pod is meant for, bound or not."""
    spec = spec_of(pod)
    if spec.get("nodeName"):
        return spec["nodeName"]
    required = part(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in items(required, "nodeSelectorTerms"):
        for rule in items(term, "matchFields"):
            if rule["key"] == NAME_FIELD and len(rule.get("values") or []) == 1:
                return rule["values"][0]
    return ""


def limits_of(owner: Object, wanted: int) -> Limits:
    """Of so many pods in all; where nothing may come on top and nothing may be missing, one may be missing."""
    rolling = part(spec_of(owner), "updateStrategy", "rollingUpdate")
    surge = share(rolling.get("maxSurge", 0), wanted, up=True)
    unavailable = share(rolling.get("maxUnavailable", 1), wanted, up=True)
    least = spec_of(owner).get("minReadySeconds") or 0
    return Limits(surge, unavailable if surge or unavailable else 1, least)


def oldest_first(pods: Sequence[Object]) -> list[Object]:
    """Bound ones before others, then by age."""

    def rank(pod: Object) -> tuple[bool, str, str]:
        return not spec_of(pod).get("nodeName"), created_at(pod), pod["metadata"]["name"]

    return sorted(pods, key=rank)


def surplus_on(pods: Sequence[Object], digest: str, least: int, now: Now, *, surging: bool) -> list[Object]:
    """Of the living pods on one node, those that are one too many."""
    ordered = oldest_first(pods)
    if not surging:
        return ordered[1:]
    new = [pod for pod in ordered if labels_of(pod).get(HASH) == digest]
    old = [pod for pod in ordered if labels_of(pod).get(HASH) != digest]
    doomed = new[1:] + old[1:]
    if new and old and (not is_ready(old[0]) or is_available(new[0], least, now)):
        doomed.append(old[0])
    return doomed


class Step(NamedTuple):
    doomed: list[Object]
    nodes: list[str]
    """Where a new pod comes beside an old one."""


def next_step(
    by_node: Mapping[str, Sequence[Object]],
    fits: Mapping[str, Fit],
    digest: str,
    limits: Limits,
    now: Now,
) -> Step:
    """What a rolling update may do now. Nodes whose pods the ordinary rules still have to sort out are left alone."""
    pairs: dict[str, tuple[Object | None, Object | None]] = {}
    busy = 0
    for node, pods in by_node.items():
        alive = [pod for pod in pods if not is_going(pod)]
        new = [pod for pod in alive if labels_of(pod).get(HASH) == digest]
        old = [pod for pod in alive if labels_of(pod).get(HASH) != digest]
        if len(new) > 1 or len(old) > 1:
            busy += 1
        else:
            pairs[node] = (new[0] if new else None, old[0] if old else None)
    if limits.surge:
        return _with_surge(pairs, fits, busy, limits, now)
    return _without_surge(pairs, busy, limits, now)


_Pairs = Mapping[str, tuple[Object | None, Object | None]]


def _without_surge(pairs: _Pairs, busy: int, limits: Limits, now: Now) -> Step:
    broken: list[Object] = []
    candidates: list[Object] = []
    missing = busy
    for new, old in pairs.values():
        if old is not None and new is None:
            if is_available(old, limits.least, now):
                candidates.append(old)
            else:
                broken.append(old)
                missing += 1
        elif new is None or old is not None or not is_available(new, limits.least, now):
            missing += 1
    return Step(broken + candidates[: max(limits.unavailable - missing, 0)], [])


def _with_surge(pairs: _Pairs, fits: Mapping[str, Fit], surged: int, limits: Limits, now: Now) -> Step:
    doomed: list[Object] = []
    displaced: list[Object] = []
    at_once: list[str] = []
    candidates: list[str] = []
    working = 0
    for node, (new, old) in pairs.items():
        shown = old if old is not None else new
        working += shown is not None and is_available(shown, limits.least, now)
        if old is None:
            continue
        if new is not None:
            if is_available(new, limits.least, now):
                doomed.append(old)
            else:
                surged += 1
            continue
        wanted = node in fits and fits[node].starts
        works = is_available(old, limits.least, now)
        if wanted:
            (candidates if works else at_once).append(node)
        else:
            (displaced if works else doomed).append(old)
    desired = sum(fit.starts for fit in fits.values())
    doomed += displaced[: max(working - desired, 0)]
    return Step(doomed, at_once + candidates[: max(limits.surge - surged, 0)])
