"""Whether a pod's allocation of slices can be meant at all: against its own request and against this node's cards.

Nothing here looks at other pods or at health, so the answer does not depend on who starts when. A claim that fails here
is never granted, and therefore takes no room from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tangram.model.allocations import ContainerShares, Share, Tenant
from tangram.model.cards import Vendor
from tangram.model.pods import Pod, Role
from tangram.model.refusals import Refusal
from tangram.model.requests import Ask, AskKind
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.guard_rules_asked import asked_by
from tangram.services.gpu_device.guard_rules_shares import PLACED_AGAIN, card_text, container_fault
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.units.ids import CardUuid
from tangram.units.na import known
from tangram.vendors.wording import sentence
from tangram.wire import hami
from tangram.wire.errors import shown
from tangram.wire.koordinator.names import DEVICE_ALLOCATED
from tangram.wire.metax_allocated import ALLOCATED
from tangram.wire.tenants import Unnamed

_ALLOCATIONS = (
    hami.METAX_SLICE_ALLOCATED,
    hami.METAX_WHOLE_ALLOCATED,
    hami.MTHREADS_ALLOCATED,
    ALLOCATED,
    DEVICE_ALLOCATED,
)
_OF_ONE_CARD = (
    StartCode.REQUEST_REFUSED,
    StartCode.CARD_UNKNOWN,
    StartCode.CARD_OF_OTHER_VENDOR,
    StartCode.MORE_THAN_ASKED,
)
_PUNCTUATION = ";:[]{}, \t\r\n"
_ALL = 100
"""Percent of a card's memory."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's slices, each on the container that may have it."""

    pod: Pod
    tenant: Tenant
    vendors: dict[str, Vendor]
    """Whose slices each container asks for; containers without slices are not listed."""

    def of(self, container: str) -> ContainerShares:
        """What the named container may have: nothing, for a name the pod does not have."""
        found = (each for each in self.tenant.allocation.containers if each.name == container)
        return next(found, ContainerShares(container, Role.APP))

    @property
    def cards(self) -> tuple[CardUuid, ...]:
        """The cards that slices are claimed of."""
        sliced = (each for each in self.tenant.allocation.containers if each.name in self.vendors)
        return tuple(dict.fromkeys(share.card for each in sliced for share in each.shares))


def claim_of(bound: BoundPod, inventory: Inventory) -> Claim | Refusal:
    """The pod's slices, or the first reason why they cannot be meant. Never raises."""
    tenant, pod = bound.holds, bound.pod
    if tenant is None or pod.ended:
        return _over(pod)
    if isinstance(tenant, Unnamed):
        # An allocation that names other cards than the pod can hold is refused for the card, not for the list.
        fault = None if tenant.written is None else _claim(pod, tenant.written, inventory)
        if isinstance(fault, Refusal) and fault.code in _OF_ONE_CARD:
            return fault
        return _unnamed(pod, tenant.reason)
    return _claim(pod, tenant, inventory)


def _claim(pod: Pod, tenant: Tenant, inventory: Inventory) -> Claim | Refusal:
    request = asked_by(pod, inventory)
    if isinstance(request, Refusal):
        return request
    asks = {each.name: each.asks[0] for each in request.containers if each.asks}
    sliced = {name: ask for name, ask in asks.items() if ask.kind is AskKind.SLICE}
    settled = _settled(pod, tenant, sliced)
    if isinstance(settled, Refusal):
        return settled
    settled = _within_slices(settled, sliced, inventory)
    for container in settled.allocation.containers:
        ask = asks.get(container.name)
        if ask is None or ask.kind is AskKind.SLICE:
            fault = container_fault(pod, container, ask, inventory)
            if fault is not None:
                return fault
    return Claim(pod=pod, tenant=settled, vendors={name: ask.vendor for name, ask in sliced.items()})


def unhealthy(claim: Claim, inventory: Inventory) -> Refusal | None:
    """The refusal for the first card of the pod on which no new pod should start."""
    for uuid in claim.cards:
        card = inventory.card(uuid)
        if card is not None and not card.healthy:
            return Refusal(
                StartCode.CARD_UNHEALTHY,
                sentence(
                    f"pod {claim.pod.ref} has a slice of {card_text(card)}, which is unhealthy: "
                    f"{card.health_reason or 'no reason given'}",
                    "a new pod starts on healthy cards",
                    f"{PLACED_AGAIN}, or repair the card",
                ),
            )
    return None


def _settled(pod: Pod, tenant: Tenant, sliced: Mapping[str, Ask]) -> Tenant | Refusal:
    """The tenant with Koordinator's one list per pod moved to the container that is meant by it."""
    containers = tenant.allocation.containers
    # Where there is a list for each container, every one that asks has its cards or the pod is `Unnamed`.
    if all(each.shares for each in containers if each.name in sliced):
        return tenant
    if len(sliced) > 1:
        return Refusal(
            StartCode.ALLOCATION_PER_POD,
            sentence(
                f"pod {pod.ref} has one list of cards while containers {' and '.join(sliced)} ask for slices",
                "a list for the whole pod is clear only if one container asks for slices",
                "let one container ask for them, or write schedulerName: tangram-scheduler, which gives each its own",
            ),
        )
    everything = tuple(share for each in containers for share in each.shares)
    moved = tuple(
        ContainerShares(each.name, each.role, everything if each.name in sliced else ())
        for each in containers
    )
    allocation = msgspec.structs.replace(tenant.allocation, containers=moved)
    return msgspec.structs.replace(tenant, allocation=allocation)


def _within_slices(tenant: Tenant, sliced: Mapping[str, Ask], inventory: Inventory) -> Tenant:
    """The tenant with each percentage of a card's memory taken of what the card can slice.

    Peers take it of the memory of the card, of which some models slice less: koord-device-daemon reports that, and
    koord-scheduler derives bytes from it. Two halves of such a card are more than it slices, so each slice
    gets its percentage of what there is for all of them. A size that was asked for is never cut.
    """

    def within(share: Share, ask: Ask) -> Share:
        card, device = inventory.card(share.card), inventory.device(share.card)
        if card is None or device is None:
            return share
        of_slices = ask.memory_on(card)
        of_card = known(device.memory, 0) * ask.memory_percent // _ALL
        if not of_slices < share.memory <= of_card:
            return share
        return msgspec.structs.replace(share, memory=of_slices)

    def settled(container: ContainerShares) -> ContainerShares:
        ask = sliced.get(container.name)
        if ask is None or ask.memory is not None:
            return container
        return msgspec.structs.replace(
            container, shares=tuple(within(share, ask) for share in container.shares)
        )

    allocation = msgspec.structs.replace(
        tenant.allocation, containers=tuple(map(settled, tenant.allocation.containers))
    )
    return msgspec.structs.replace(tenant, allocation=allocation)


def _over(pod: Pod) -> Refusal:
    state = f"is {pod.phase}" if pod.ended else "is bound to no node"
    return Refusal(
        StartCode.POD_OVER,
        sentence(f"pod {pod.ref} {state}", "only a bound pod that is not over can start", PLACED_AGAIN),
    )


def _unnamed(pod: Pod, reason: str) -> Refusal:
    written = [key for key in _ALLOCATIONS if pod.annotations.get(key, "").strip(_PUNCTUATION)]
    if written:
        return Refusal(
            StartCode.ALLOCATION_UNREADABLE,
            sentence(
                f"pod {pod.ref} has an allocation in {written[0]} that cannot be believed: {reason}",
                "an allocation names every card that the pod asks for, container by container, on its own node",
                PLACED_AGAIN,
            ),
        )
    by = f" (schedulerName was {shown(pod.scheduler_name)})" if pod.scheduler_name else ""
    return Refusal(
        StartCode.ALLOCATION_MISSING,
        sentence(
            f"pod {pod.ref} asks for slices and no scheduler wrote down of which cards{by}",
            "only a scheduler that knows slices can place it",
            "write schedulerName: tangram-scheduler (hami-scheduler and koord-scheduler are served too), write no "
            "nodeName, and make the pod again",
        ),
    )
