"""How other pods count when a claim is judged: who comes before whom, and what each holds of which card.

Claims that are never granted (forged, impossible, unreadable) do not count, or anybody could keep a card from everybody
with an annotation. What has been granted counts whatever its annotation says now, and a pod that holds a card whole
holds all of it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import msgspec

from tangram.engine.usage import NOTHING, Hold, holds_of
from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.cards import AppClass, Card, QosPolicy
from tangram.model.pods import PodRef, Role
from tangram.model.requests import AskKind
from tangram.services.gpu_device.guard_rules import Claim, claim_of
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.units.ids import CardUuid, PodUid
from tangram.wire.tenants import Unnamed

Cards = Mapping[CardUuid, Card]


class Standing(NamedTuple):
    """A pod beside others."""

    pod: PodRef
    allocation: Allocation
    """As it is charged: without init containers that are over, whole cards in full, online slices without compute."""
    holds: Mapping[CardUuid, Hold]
    qos: QosPolicy | None
    app_class: AppClass | None

    def has_to_itself(self, card: Card) -> bool:
        """Whether one of its shares takes all compute of the card."""
        return any(
            share.card == card.uuid and share.cores >= card.cores
            for container in self.allocation.containers
            for share in container.shares
        )


def rank(bound: BoundPod) -> tuple[int, PodUid]:
    """Pods in the order in which they were bound."""
    return bound.bound_at, bound.kubelet_uid


def rivals_of(bound: BoundPod, pods: Iterable[BoundPod], granted: Container[PodUid]) -> tuple[BoundPod, ...]:
    """The live pods whose claims come before this one's: what is granted, and for a pod that is not, what is older.

    In the order of binding, so that a refusal says the same each time.
    """
    uid = bound.kubelet_uid
    rivals = (
        other
        for other in pods
        if other.kubelet_uid != uid
        and not other.pod.ended
        and (other.kubelet_uid in granted or (uid not in granted and rank(other) < rank(bound)))
    )
    return tuple(sorted(rivals, key=rank))


def standing_of(tenant: Tenant, cards: Cards, *, init_done: bool) -> Standing:
    """What the tenant takes of each card."""
    online = tenant.app_class is AppClass.ONLINE
    charged = tuple(
        ContainerShares(
            each.name, each.role, tuple(_charged(share, cards, online=online) for share in each.shares)
        )
        for each in tenant.allocation.containers
        if not (init_done and each.role is Role.INIT)
    )
    allocation = Allocation(tenant.allocation.node, charged)
    return Standing(tenant.pod, allocation, holds_of(allocation), tenant.qos, tenant.app_class)


def rival_standing(
    other: BoundPod, inventory: Inventory, cards: Cards, granted: Container[PodUid]
) -> Standing | None:
    """What a rival takes of each card; None where it takes nothing that could be told."""
    holds = other.holds
    if other.kubelet_uid in granted:
        if holds is None:
            return None
        tenant = (
            _assumed(holds, inventory) if isinstance(holds, Unnamed) else _settled(other, holds, inventory)
        )
        return standing_of(tenant, cards, init_done=tenant.init_done)
    if isinstance(holds, Unnamed):
        holds = holds.written
    if holds is None:
        return None
    claim = claim_of(other, inventory)
    if isinstance(claim, Claim):
        standing = standing_of(claim.tenant, cards, init_done=claim.tenant.init_done)
        if all(fits(cards[uuid], standing.holds.get(uuid, NOTHING)) for uuid in claim.cards):
            return standing
    return standing_of(_whole_only(holds), cards, init_done=holds.init_done)


def fits(card: Card, hold: Hold) -> bool:
    """Whether the card has as much at all."""
    return hold.memory <= card.memory and hold.cores <= card.cores and hold.slots <= card.slots


def _charged(share: Share, cards: Cards, *, online: bool) -> Share:
    card = cards.get(share.card)
    if share.kind is AskKind.WHOLE and card is not None:
        return msgspec.structs.replace(share, memory=card.memory, cores=card.cores)
    return msgspec.structs.replace(share, cores=0) if online else share


def _settled(other: BoundPod, tenant: Tenant, inventory: Inventory) -> Tenant:
    claim = claim_of(other, inventory)
    return claim.tenant if isinstance(claim, Claim) else tenant


def _whole_only(tenant: Tenant) -> Tenant:
    """The tenant without its slices, which nobody will make for it."""
    containers = tuple(
        ContainerShares(
            each.name, each.role, tuple(share for share in each.shares if share.kind is AskKind.WHOLE)
        )
        for each in tenant.allocation.containers
    )
    return msgspec.structs.replace(
        tenant, allocation=msgspec.structs.replace(tenant.allocation, containers=containers)
    )


def _assumed(unnamed: Unnamed, inventory: Inventory) -> Tenant:
    """A granted pod whose annotation is gone: it may be on any card, so what it asks for counts on every one."""
    request = unnamed.request
    sliced = [card for card in inventory.cards if card.offered_sliced]
    containers = tuple(
        ContainerShares(
            each.name,
            each.role,
            tuple(
                Share(card.uuid, card.index, ask.memory_on(card), ask.cores_on(card))
                for ask in each.asks
                if ask.kind is AskKind.SLICE
                for card in sliced
                if card.vendor is ask.vendor
            ),
        )
        for each in request.containers
    )
    return Tenant(
        pod=unnamed.pod.ref,
        allocation=Allocation(inventory.node, containers),
        qos=request.qos,
        app_class=request.app_class,
        init_done=unnamed.pod.init_done,
        guessed=True,
    )
