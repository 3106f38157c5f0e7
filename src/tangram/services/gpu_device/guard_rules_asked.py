"""What a pod asks for, as far as the agent needs to know it to judge what the pod was given."""

from __future__ import annotations

import msgspec

from tangram.model.allocations import Tenant
from tangram.model.pods import NO_HINTS, Container, Pod, Role
from tangram.model.refusals import Refusal
from tangram.model.requests import AskKind, Request
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.units.ids import CardUuid
from tangram.vendors.admission import admit
from tangram.vendors.amounts import Meaning, amount
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads.containers import units_for_all
from tangram.vendors.mthreads.tiers import sizes_of
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings

_SAYS_HOW_MUCH = frozenset({metax.QOS_POLICY, metax.APP_CLASS})


def settings_for(inventory: Inventory, pod: Pod | None = None) -> AdmissionSettings:
    """Admission as it is for pods on this node: legal sizes follow from the Moore Threads cards it has."""
    shapes = sizes_of(inventory.cards)
    if shapes and pod is not None:
        # Of several shapes in the cluster admission writes the smallest into a pod that takes all of a card.
        shapes |= {units for each in pod.containers if (units := units_for_all(each))}
    return AdmissionSettings(mthreads_memory_per_card=tuple(sorted(shapes))) if shapes else DEFAULT_SETTINGS


def asked_by(pod: Pod, inventory: Inventory) -> Request | Refusal:
    """What the pod asks for. Annotations about where to place it are left out: it is placed, and a peer read them."""
    meant = {key: value for key, value in pod.annotations.items() if key in _SAYS_HOW_MUCH}
    bare = msgspec.structs.replace(pod, annotations=meant, hints=NO_HINTS)
    admission = admit(bare, settings_for(inventory, pod))
    if admission.request is not None:
        return admission.request
    first = next(iter(admission.refusals), None)
    why = "it asks for no cards." if first is None else first.sentence
    return Refusal(
        StartCode.REQUEST_REFUSED,
        f"pod {pod.ref} got past admission with a request that is refused there: {why}",
        "" if first is None else first.container,
    )


def units_of(container: Container, resource: str) -> int:
    """How many units of the resource the kubelet gives the container; 0 where it does not ask for any."""
    said = amount(container, Meaning(resource=resource, legal="", instead="", zero=True))
    return said if isinstance(said, int) else 0


def most_units_of(pod: Pod, resource: str) -> int:
    """How many units of the resource the pod holds at once at most."""
    staying = most = 0
    for container in pod.containers:
        units = units_of(container, resource)
        if container.role is not Role.INIT:
            staying += units
        most = max(most, staying + (units if container.role is Role.INIT else 0))
    return most


def promised_slices(bound: BoundPod, inventory: Inventory) -> frozenset[CardUuid]:
    """The cards of which a pod that asks for slices says that it holds some."""
    if not isinstance(bound.holds, Tenant):
        return frozenset()
    request = asked_by(bound.pod, inventory)
    if isinstance(request, Refusal):
        return frozenset()
    sliced = {each.name for each in request.containers if any(ask.kind is AskKind.SLICE for ask in each.asks)}
    return frozenset(
        share.card
        for each in bound.holds.allocation.containers
        if each.name in sliced
        for share in each.shares
    )
