"""Pods that run on this node without the cards they ask for, because no agent was ever asked for them.

A kubelet leaves out of a pod's resources those that its node does not offer, and starts the pod all the same. HAMi
tells kube-scheduler to ignore MetaX's resources, so nothing between the two stops a slice on a node without slices. The
pod's container then finds no card, and its scheduler counts one as taken. Nothing of it reaches the agent but the pod
itself, so it is found by what is missing: it runs, and the kubelet has given it no unit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from tangram.model.cards import SERVED, Vendor
from tangram.model.pods import Phase
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.guard_rules_asked import most_units_of
from tangram.services.gpu_device.guard_rules_shares import PLACED_AGAIN
from tangram.services.gpu_device.kubelet_view import Sight
from tangram.services.gpu_device.records import BoundPod
from tangram.services.gpu_device.resources import ALL, SLOTS, WHOLE
from tangram.units.ids import NodeName, PodUid
from tangram.vendors.wording import sentence
from tangram.wire.errors import WireError

_VENDORS: Final = {**WHOLE, **SLOTS}


def running_pods(pods: Iterable[BoundPod]) -> frozenset[PodUid]:
    """Those that run now, by the UID that the kubelet knows: the kubelet has noted what it gave them."""
    return frozenset(
        bound.kubelet_uid for bound in pods if bound.pod.phase is Phase.RUNNING and not bound.pod.terminating
    )


def unserved_pods(
    pods: Iterable[BoundPod],
    sight: Sight,
    *,
    ran: Collection[PodUid],
    granted: Collection[PodUid],
    vendors: Collection[Vendor] = SERVED,
) -> tuple[BoundPod, ...]:
    """Those of the pods that ask for units of ours, `ran` before the kubelet was looked at, and have none. Pure.

    Where the kubelet says nothing at all, nothing is said about any pod; nor about one that asks for cards of no vendor
    but those that are left to others.
    """
    if isinstance(sight.notes, WireError) and sight.held is None:
        return ()
    noted = {each.pod_uid for each in sight.allocations if each.resource in ALL}
    shown = {(str(each.namespace), str(each.pod)) for each in sight.held or () if each.resource in ALL}
    return tuple(
        bound
        for bound in pods
        if bound.kubelet_uid in ran
        and not bound.pod.ended
        and bound.kubelet_uid not in noted
        and bound.kubelet_uid not in granted
        and (str(bound.pod.ref.namespace), str(bound.pod.ref.name)) not in shown
        and asks_for(bound, vendors)
    )


def asks_for(bound: BoundPod, vendors: Collection[Vendor]) -> bool:
    """Whether the pod asks the kubelet for units of one of these vendors' cards."""
    return any(_VENDORS[resource] in vendors for resource in asked_units(bound))


def asked_units(bound: BoundPod) -> dict[str, int]:
    """By resource of ours, how many units the pod asks the kubelet for."""
    return {resource: units for resource in ALL if (units := most_units_of(bound.pod, resource))}


def runs_without(bound: BoundPod, node: NodeName) -> Refusal:
    """What is said about such a pod."""
    asked = " and ".join(f"{count} of {resource}" for resource, count in asked_units(bound).items())
    by = f" {bound.pod.scheduler_name} bound it to" if bound.pod.scheduler_name else " it was bound to"
    return Refusal(
        StartCode.RUNS_WITHOUT_CARDS,
        sentence(
            f"pod {bound.pod.ref} asks for {asked} and runs without any:{by} node {node}, whose kubelet did not offer "
            "it when the pod came",
            "a pod with cards belongs on a node that announces their resource",
            PLACED_AGAIN,
        ),
    )
