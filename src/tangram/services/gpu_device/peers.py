"""What HAMi and Koordinator expect of whoever serves their pods: the node lock and the bind phase.

Both take a lock on the node before they bind a MetaX pod, and wait for the device plugin to remove it. Our own
scheduler needs none. On nodes without CDI the lock is more than a courtesy: there a pod must be known while `Allocate`
runs, which names nobody, and the lock's holder is who it is for. Between two that it could be, nobody is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.model.pods import Phase, Pod, Role
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.guard_rules_asked import units_of
from tangram.services.gpu_device.records import BoundPod, Late
from tangram.services.gpu_device.resources import ALL
from tangram.units.ids import NodeName, PodUid
from tangram.vendors.amounts import names_any
from tangram.vendors.wording import sentence
from tangram.wire.errors import WireError
from tangram.wire.hami import ALLOCATING, BIND_PHASE
from tangram.wire.nodelock import NODE_LOCK, LockHolder, NodeLock, parse_lock

LOCK_EXPIRES_S: Final = 300
"""Both schedulers take a lock of this age for abandoned."""


class Outcome(StrEnum):
    """How serving a pod ended, in the words of the bind phase."""

    SUCCESS = "success"
    FAILED = "failed"


class Waiting(msgspec.Struct, frozen=True):
    """The container that a call of `Allocate` is for."""

    bound: BoundPod
    container: str


def lock_holder(node_annotations: Mapping[str, str]) -> LockHolder | None:
    """The pod that the node's lock names, for asking the API server whether it still exists."""
    lock = _lock(node_annotations)
    return None if lock is None else lock.holder


def lock_to_release(
    node_annotations: Mapping[str, str],
    node: NodeName,
    pods: Iterable[BoundPod],
    *,
    now: int,
    gone: Container[LockHolder] = (),
) -> str | None:
    """The exact value of the lock that we may remove, or None. Never raises.

    `pods` are those that need the lock no more: served, refused for good, or, where CDI is used, bound to this node.
    `gone` are holders that the API server does not have any more; a pod that is merely absent from this node is not,
    because the lock is taken before the bind. `now` is in Unix seconds.
    """
    lock = _lock(node_annotations)
    if lock is None:
        return None
    value = node_annotations[NODE_LOCK]
    if lock.holder is None:
        # It names nobody: while it is young, somebody may still be about to bind under it.
        return value if now - lock.taken_at > LOCK_EXPIRES_S else None
    if not lock.holder.namespace:
        # One of Koordinator's reservations, which is no pod.
        return None
    served = any(
        _is(bound.pod, lock.holder) and bound.pod.node_name == node and _asks_us(bound.pod) for bound in pods
    )
    return value if served or lock.holder in gone else None


def phase_change(pod: Pod, outcome: Outcome) -> dict[str, str] | None:
    """The annotation to write, or None where nobody waits for one. What succeeded stays a success."""
    waited_for = (ALLOCATING,) if outcome is Outcome.FAILED else (ALLOCATING, Outcome.FAILED)
    return {BIND_PHASE: outcome.value} if pod.annotations.get(BIND_PHASE) in waited_for else None


def candidate(
    resource: str,
    count: int,
    pods: Iterable[BoundPod],
    served: Container[tuple[PodUid, str]],
    holder: LockHolder | None = None,
) -> Waiting | Late | Refusal:
    """The container for which the kubelet asks now for so many units of the resource. Never raises.

    `served` has the pod (by the UID that the kubelet knows) and container of every call that was answered for this
    resource, by earlier agents too. The kubelet goes through a pod's containers in their order, and through all before
    the first starts, so of one pod the first that was not served is meant.
    """
    waiting = [found for bound in pods if (found := _next(resource, count, bound, served)) is not None]
    holders = [each for each in waiting if holder is not None and _is(each.bound.pod, holder)]
    meant = holders or waiting
    if len(meant) == 1:
        return meant[0]
    if not meant:
        return Late(
            Refusal(
                StartCode.WAITING_NONE,
                sentence(
                    f"the kubelet asks for {count} of {resource} and no pod of this node waits for as many",
                    "without CDI a call is answered for the pod that it can only be for",
                    "make the pod again, or switch CDI on in the container runtime",
                ),
            )
        )
    return _several(resource, count, meant)


def _next(
    resource: str, count: int, bound: BoundPod, served: Container[tuple[PodUid, str]]
) -> Waiting | None:
    # Without init containers init is over from the start, which says nothing.
    begun = bound.pod.init_done and any(each.role is Role.INIT for each in bound.pod.containers)
    if bound.pod.phase is not Phase.PENDING or begun:
        return None
    for container in bound.pod.containers:
        units = units_of(container, resource)
        if units and (bound.kubelet_uid, container.name) not in served:
            return Waiting(bound, container.name) if units == count else None
    return None


def _several(resource: str, count: int, meant: Sequence[Waiting]) -> Refusal:
    names = " and ".join(str(each.bound.pod.ref) for each in meant[:2])
    return Refusal(
        StartCode.WAITING_SEVERAL,
        sentence(
            f"the kubelet asks for {count} of {resource}, and {len(meant)} pods wait for as many, such as {names}",
            "without CDI nothing tells them apart, and nobody is given another's card",
            "make the pods again one after the other, or switch CDI on in the container runtime",
        ),
    )


def _lock(node_annotations: Mapping[str, str]) -> NodeLock | None:
    try:
        return parse_lock(node_annotations.get(NODE_LOCK, ""))
    except WireError:
        # Nobody knows whose it is, so it is nobody's to remove; its writers replace it.
        return None


def _is(pod: Pod, holder: LockHolder) -> bool:
    return pod.ref.namespace == holder.namespace and pod.ref.name == holder.name


def _asks_us(pod: Pod) -> bool:
    return any(names_any(container, ALL) for container in pod.containers)
