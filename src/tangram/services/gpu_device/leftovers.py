"""What nobody needs any more: slices and CDI files of pods that are gone. Pure; the tidying itself is elsewhere.

Taking a slice from a living container is far worse than keeping one too long. So a slice is left over only when it
carries our mark and belongs to no pod that the API server still has running, nor to any that the kubelet still shows;
the driver must call it idle on top of that. While the API server's news are old, nothing is left over at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tangram.model.allocations import Tenant
from tangram.model.cards import AppClass
from tangram.model.grants import Grant
from tangram.model.pods import Role
from tangram.services.gpu_device.grants import slice_name, slice_sizes
from tangram.services.gpu_device.kubelet_view import Sight
from tangram.services.gpu_device.records import BoundPod
from tangram.units.ids import CardUuid, PodUid
from tangram.wire.errors import WireError


def living_pods(
    sight: Sight,
    pods: Mapping[PodUid, BoundPod],
    named: Mapping[tuple[str, str], BoundPod],
    grants: Iterable[Grant],
) -> frozenset[PodUid] | None:
    """The UIDs of pods whose devices must stay; None when that cannot be told, and nothing may go.

    The API server's list must be up to date when this is asked. The kubelet's notes keep pods that ended, so for a pod
    that the API server calls ended they do not count.
    """
    if sight.held is None and isinstance(sight.notes, WireError):
        return None
    living = {uid for uid, bound in pods.items() if not bound.pod.ended}
    ended = pods.keys() - living
    shown = {(str(each.namespace), str(each.pod)) for each in sight.held or ()}
    unknown = shown - named.keys()
    noted = None if isinstance(sight.notes, WireError) else {each.pod_uid for each in sight.notes.allocations}
    # Pod resources know names only: a grant's own record says which UID it was made for. A pod that was made again
    # under its name may still be running in its old form beside the new one.
    names = {grant.pod.uid: (str(grant.pod.namespace), str(grant.pod.name)) for grant in grants}
    living |= {
        uid
        for uid, name in names.items()
        if name in unknown or (name in shown and uid not in pods and (noted is None or uid in noted))
    }
    if noted is None:
        return frozenset(living) if not unknown else None
    if sight.held is None:
        living |= noted - ended
    elif unknown:
        living |= noted - ended - names.keys()
    return frozenset(living)


def living_slices(
    living: Iterable[PodUid], pods: Mapping[PodUid, BoundPod], grants: Iterable[Grant], sight: Sight
) -> frozenset[str]:
    """The names of every slice that a living pod has or may yet be given."""
    alive = set(living)
    by_spec = {
        slice_name(uid, container.name)
        for uid in alive
        if uid in pods
        for container in pods[uid].pod.containers
    }
    by_notes = {
        slice_name(each.pod_uid, each.container) for each in sight.allocations if each.pod_uid in alive
    }
    by_grants = {part.name for grant in grants if grant.pod.uid in alive for part in grant.slices}
    return frozenset(by_spec | by_notes | by_grants)


def sizes_after_init(pods: Iterable[BoundPod]) -> dict[tuple[CardUuid, str], tuple[int, int]]:
    """By card and name, what slices need now of pods whose init containers had a part of a card and are over."""
    sizes: dict[tuple[CardUuid, str], tuple[int, int]] = {}
    for bound in pods:
        if not isinstance(bound.holds, Tenant) or not bound.pod.init_done or bound.pod.ended:
            continue
        containers = bound.holds.allocation.containers
        if any(each.role is Role.INIT and each.shares for each in containers):
            sizes.update(
                ((card, slice_name(bound.kubelet_uid, each.name)), size)
                for each in containers
                if each.role is not Role.INIT
                for card, size in slice_sizes(each, online=bound.holds.app_class is AppClass.ONLINE).items()
            )
    return sizes


def dead_claims(living: Iterable[PodUid], grants: Iterable[Grant]) -> tuple[str, ...]:
    """The grants whose pod is gone."""
    alive = frozenset(living)
    return tuple(grant.claim for grant in grants if grant.pod.uid not in alive)
