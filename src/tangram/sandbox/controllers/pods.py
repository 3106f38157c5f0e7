"""Pods made from a template, the order in which a controller gives them up, and which of them are its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Final

from tangram.kube.errors import NOT_FOUND, ApiError
from tangram.kube.objects import Object
from tangram.sandbox.controllers.copies import Copy
from tangram.sandbox.controllers.hands import Hands, copied, namespace_ends
from tangram.sandbox.controllers.reading import (
    Now,
    condition_of,
    conditions_of,
    controller_of,
    created_at,
    finalizers_of,
    is_going,
    is_ready,
    items,
    labels_of,
    owners_of,
    part,
    phase_of,
    spec_of,
    status_of,
    uid_of,
)
from tangram.sandbox.controllers.resources import PODS, Resource
from tangram.sandbox.controllers.selecting import selects
from tangram.wire.timestamps import to_second

COST: Final = "controller.kubernetes.io/pod-deletion-cost"
DISRUPTED: Final = "DisruptionTarget"
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Letters and digits that spell no words."""


def pod_from(template: Object, resource: Resource, owner: Object) -> Object:
    """A pod as the template describes it, with a name of its own and its owner."""
    metadata = part(template, "metadata")
    made: Object = {
        "metadata": {
            "generateName": f"{owner['metadata']['name']}-",
            "namespace": owner["metadata"]["namespace"],
            "labels": dict(metadata.get("labels") or {}),
            "annotations": dict(metadata.get("annotations") or {}),
            "finalizers": list(metadata.get("finalizers") or []),
            "ownerReferences": [resource.reference(owner)],
        },
        "spec": copied(part(template, "spec")),
    }
    return made


async def create_pod(
    hands: Hands, component: str, resource: Resource, owner: Object, pod: Object
) -> Object | None:
    """Make a pod and tell of it. Nothing is made, and nothing told, in a namespace that is going away."""
    try:
        made = await hands.create(hands.copies.of(PODS), pod, owner["metadata"]["namespace"])
    except ApiError as error:
        if namespace_ends(error):
            return None
        hands.tell(component, resource, owner, "FailedCreate", f"Error creating: {error.message}", bad=True)
        raise
    hands.tell(component, resource, owner, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
    return made


async def delete_pod(hands: Hands, component: str, resource: Resource, owner: Object, pod: Object) -> None:
    """Ask for the end of a pod and tell of it."""
    name = pod["metadata"]["name"]
    try:
        gone = await hands.delete(hands.copies.of(PODS), pod)
    except ApiError as error:
        hands.tell(component, resource, owner, "FailedDelete", f"Error deleting: {error.message}", bad=True)
        raise
    if gone:
        hands.tell(component, resource, owner, "SuccessfulDelete", f"Deleted pod: {name}")


def disrupted(pod: Object, reason: str, message: str, now: Now) -> Object:
    """The pod with the condition that somebody else ends it, and why."""
    told = {
        "type": DISRUPTED,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": to_second(now),
    }
    others = [each for each in conditions_of(pod) if each["type"] != DISRUPTED]
    return {**pod, "status": {**status_of(pod), "conditions": [*others, told]}}


def first_to_go(pods: Sequence[Object], crowded: dict[str, int] | None = None) -> list[Object]:
    """Pods in the order in which they can best be spared.

    Unscheduled before scheduled, waiting before running, not ready before ready, cheap before dear, from crowded nodes
    before lonely ones, ready for a short time before those ready for long, restarted before steady, young before old.
    """
    crowds = crowded or {}
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}

    def rank(pod: Object) -> tuple[object, ...]:
        ready = condition_of(pod, "Ready") or {}
        since = str(ready.get("lastTransitionTime") or "") if is_ready(pod) else ""
        restarts = max((each.get("restartCount") or 0 for each in _containers(pod)), default=0)
        return (
            bool(spec_of(pod).get("nodeName")),
            phases.get(phase_of(pod), 1),
            is_ready(pod),
            _cost(pod),
            -crowds.get(spec_of(pod).get("nodeName") or "", 0),
            _Later(since),
            -restarts,
            _Later(created_at(pod)),
        )

    return sorted(pods, key=rank)


class _Later(str):
    """A moment as text, of which the later one comes first."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def _containers(pod: Object) -> list[Object]:
    return items(status_of(pod), "containerStatuses")


def _cost(pod: Object) -> int:
    try:
        return int(part(pod, "metadata", "annotations").get(COST, "0"))
    except ValueError:
        return 0


async def claimed(
    hands: Hands, resource: Resource, owner: Object, children: Copy, *, finalizer: str = ""
) -> list[Object]:
    """The children of this owner: those it controls, and those with its labels that nobody controls, which it takes.

    A child whose labels no longer match is let go. An owner that is going away takes nothing.
    """
    selector = spec_of(owner).get("selector")
    mine: list[Object] = []
    for child in children.owned_by(uid_of(owner)):
        if selects(selector, labels_of(child)):
            mine.append(child)
        elif not is_going(owner):
            await _let_go(hands, owner, children, child, finalizer)
    orphans = [
        child
        for child in children.without_controller(owner["metadata"]["namespace"])
        if not is_going(child) and selects(selector, labels_of(child))
    ]
    if not orphans or is_going(owner) or not await hands.still_there(resource, owner):
        return mine
    for orphan in orphans:
        references = [*owners_of(orphan), resource.reference(owner)]
        change: Object = {"ownerReferences": references}
        if finalizer:
            change["finalizers"] = [*finalizers_of(orphan), finalizer]
        taken = await _patched(hands, children, orphan, {"metadata": change})
        mine += [taken] if taken is not None and controller_of(taken) is not None else []
    return mine


async def _let_go(hands: Hands, owner: Object, children: Copy, child: Object, finalizer: str) -> None:
    change: Object = {
        "ownerReferences": [each for each in owners_of(child) if each["uid"] != uid_of(owner)] or None
    }
    if finalizer and finalizer in finalizers_of(child):
        change["finalizers"] = [each for each in finalizers_of(child) if each != finalizer]
    await _patched(hands, children, child, {"metadata": change})


async def _patched(hands: Hands, children: Copy, child: Object, change: Object) -> Object | None:
    try:
        return await hands.merge(children, child, change, strict=True)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return None


def template_hash(template: Object, collisions: int | None) -> str:
    """A short name for what a template says. Kubernetes makes another one of the same template; both are only names."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"))
    counted = text if collisions is None else f"{text}{collisions}"
    number = int.from_bytes(hashlib.sha256(counted.encode()).digest()[:4], "big")
    return "".join(_ALPHABET[int(digit)] if digit.isdigit() else digit for digit in str(number))
