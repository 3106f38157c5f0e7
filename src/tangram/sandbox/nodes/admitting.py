"""Whether a node has room for a pod that was bound to it, by the kubelet's own count, after devices were given. Pure.

The scheduler has looked before, but anybody may bind. A resource that the node does not name at all is left out of the
count, as the kubelet leaves it out: such a pod runs without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tangram.kube.objects import Object
from tangram.sandbox.nodes.pod_specs import is_extended, requests_of
from tangram.wire import loose

UNEXPECTED: Final = "UnexpectedAdmissionError"
_SHORT: Final = {"cpu": "OutOfcpu", "memory": "OutOfmemory", "pods": "OutOfpods"}


class Rejected(msgspec.Struct, frozen=True):
    """Why a pod is ended before it began: the word and the sentence that its status and an event will say."""

    reason: str
    message: str


def unexpected(error: object) -> Rejected:
    """What devices could not be given for."""
    return Rejected(UNEXPECTED, f"Allocate failed due to {error}, which is unexpected")


def rejected(
    pod: Object,
    others: Iterable[Object],
    allocatable: Mapping[str, int],
    labels: Mapping[str, str],
    given: Mapping[str, int],
) -> Rejected | None:
    """None for a pod that fits. `given` are the units that pods hold by now, this one's included.

    Of a pod that was given devices, the node counts as having at least those.
    """
    wanted = requests_of(pod)
    beside = [requests_of(other) for other in others]
    if len(beside) + 1 > allocatable.get("pods", 0):
        return _short("pods", 1, len(beside), allocatable.get("pods", 0))
    for resource in ("cpu", "memory", *sorted(key for key in wanted if is_extended(key))):
        asked = wanted.get(resource, 0)
        if not asked or (is_extended(resource) and resource not in allocatable):
            continue
        room = max(allocatable.get(resource, 0), given.get(resource, 0))
        used = sum(other.get(resource, 0) for other in beside)
        if asked > room - used:
            return _short(resource, asked, used, room)
    selector = loose.text_map(loose.members(pod.get("spec")).get("nodeSelector"))
    if any(labels.get(key) != value for key, value in selector.items()):
        return Rejected(
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        )
    return None


def _short(resource: str, asked: int, used: int, room: int) -> Rejected:
    return Rejected(
        _SHORT.get(resource, f"OutOf{resource}"),
        f"Node didn't have enough resource: {resource}, requested: {asked}, used: {used}, capacity: {room}",
    )
