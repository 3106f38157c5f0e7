"""Who holds which of the node's units now, from the kubelet's notes and the pods the API server knows.

The kubelet keeps the notes of a pod that ended until it needs the ids again, so a pod counts only while the API server
still has it running or waiting; while the API server is away, every note counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tangram.engine.usage import NOTHING, Hold, can_serve, holds_of, plus
from tangram.model.allocations import Share, Tenant
from tangram.model.cards import Card, CardMode
from tangram.model.requests import AskKind
from tangram.services.gpu_device.kubelet_view import Sight
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.services.gpu_device.resources import ALL, SLOTS, WHOLE, slot_number, unit_uuid
from tangram.units.ids import CardUuid, PodUid
from tangram.units.memory import SGPU_MEMORY_UNIT
from tangram.vendors.mthreads import names as mthreads
from tangram.wire.tenants import Unnamed


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """What one container holds of one resource."""

    uid: PodUid | None
    """As the kubelet spells it; None where only pod resources tell, which know no UIDs."""
    container: str
    resource: str
    ids: tuple[str, ...]
    bound: BoundPod | None


def holdings_in(
    sight: Sight, pods: Mapping[PodUid, BoundPod], named: Mapping[tuple[str, str], BoundPod], *, fresh: bool
) -> tuple[Holding, ...]:
    """Everything of ours that live pods hold. `fresh` says whether the copy of the API is up to date."""
    if sight.allocations or not sight.held:
        found = (
            Holding(
                uid=each.pod_uid,
                container=each.container,
                resource=each.resource,
                ids=each.ids,
                bound=pods.get(each.pod_uid),
            )
            for each in sight.allocations
        )
    else:
        found = (
            Holding(
                uid=None if bound is None else bound.kubelet_uid,
                container=each.container,
                resource=each.resource,
                ids=each.ids,
                bound=bound,
            )
            for each in sight.held
            for bound in [named.get((str(each.namespace), str(each.pod)))]
        )
    return tuple(each for each in found if each.resource in ALL and _counts(each.bound, fresh=fresh))


def held_units(holdings: Iterable[Holding], inventory: Inventory) -> dict[str, dict[str, CardUuid | None]]:
    """By resource, the held ids and the card each stands for."""
    units: dict[str, dict[str, CardUuid | None]] = {}
    for holding in holdings:
        taken = units.setdefault(holding.resource, {})
        if holding.resource in WHOLE:
            taken.update({unit: _whole_card(inventory, unit) for unit in holding.ids})
        else:
            taken.update(_slot_cards(holding))
    return units


def held_whole(holdings: Iterable[Holding]) -> dict[CardUuid, CardMode]:
    """How cards are held that are held whole: a card keeps that mode until it is free."""
    modes: dict[CardUuid, CardMode] = {}
    for holding in holdings:
        for unit in holding.ids if holding.resource in WHOLE else ():
            uuid = unit_uuid(unit)
            modes[uuid] = CardMode.WHOLE if uuid == unit else CardMode.SHARED
    return modes


def usage_of(
    holdings: Sequence[Holding], pods: Iterable[BoundPod], inventory: Inventory
) -> dict[CardUuid, Hold]:
    """What of each card is taken: whole units by the kubelet's word, slices by the pods' allocations."""
    used: dict[CardUuid, Hold] = {}

    def add(card: CardUuid, hold: Hold) -> None:
        used[card] = plus(used.get(card, NOTHING), hold)

    for holding in holdings:
        for unit in holding.ids if holding.resource in WHOLE else ():
            card = inventory.card_behind(unit)
            if card is not None:
                add(card.uuid, _unit_hold(card))
    for bound in pods:
        if bound.pod.ended or not isinstance(bound.holds, Tenant):
            continue
        for uuid, hold in holds_of(bound.holds.allocation, init_done=bound.pod.init_done).items():
            card = inventory.card(uuid)
            if card is not None and card.mode is CardMode.SLICED:
                add(uuid, hold)
    return used


def busy_cards(
    holdings: Iterable[Holding], pods: Iterable[BoundPod], inventory: Inventory
) -> dict[CardUuid, tuple[str, ...]]:
    """Cards that are held or promised, none of which may change its mode, with the names of those pods.

    A promise that the card cannot keep as it is offered keeps it from nothing.
    """
    holders: dict[CardUuid, set[str]] = {}
    for holding in holdings:
        name = "a pod the API server does not know" if holding.bound is None else _name(holding.bound)
        for taken in held_units((holding,), inventory).values():
            for card in taken.values():
                if card is not None:
                    holders.setdefault(card, set()).add(name)
        for card in _may_be_of(holding, inventory):
            holders.setdefault(card.uuid, set()).add(name)
    for bound in pods:
        if not bound.pod.ended and isinstance(bound.holds, Tenant):
            for each in bound.holds.allocation.containers:
                for share in each.shares:
                    known = inventory.card(share.card)
                    if known is None or can_serve(known, share):
                        holders.setdefault(share.card, set()).add(_name(bound))
    return {card: tuple(sorted(names)) for card, names in holders.items()}


def shares_of(bound: BoundPod | None, container: str) -> tuple[Share, ...]:
    """The shares that a pod's allocation gives to one of its containers; slices only."""
    if bound is None or not isinstance(bound.holds, Tenant):
        return ()
    return tuple(
        share
        for each in bound.holds.allocation.containers
        if each.name == container
        for share in each.shares
        if share.kind is AskKind.SLICE
    )


def _may_be_of(holding: Holding, inventory: Inventory) -> tuple[Card, ...]:
    """The cards of which a container's slice may be, where its pod's allocation does not say it."""
    vendor = SLOTS.get(holding.resource)
    if vendor is None or holding.bound is None or not isinstance(holding.bound.holds, Unnamed):
        return ()
    return tuple(card for card in inventory.cards if card.vendor is vendor and card.mode is CardMode.SLICED)


def _name(bound: BoundPod) -> str:
    return f"{bound.pod.ref.namespace}/{bound.pod.ref.name}"


def _counts(bound: BoundPod | None, *, fresh: bool) -> bool:
    if bound is None:
        return not fresh
    return not bound.pod.ended


def _whole_card(inventory: Inventory, unit: str) -> CardUuid | None:
    card = inventory.card_behind(unit)
    return None if card is None else card.uuid


def _unit_hold(card: Card) -> Hold:
    parts = card.slots if card.mode in (CardMode.VIRTUAL, CardMode.SHARED) else 1
    return Hold(card.memory // max(1, parts), card.cores // max(1, parts), 1)


def _slot_cards(holding: Holding) -> dict[str, CardUuid | None]:
    """Each slot's card: slots in the order of their numbers, shares in the order of the allocation."""
    ids = sorted(holding.ids, key=lambda each: (slot_number(holding.resource, each), each))
    shares = shares_of(holding.bound, holding.container)
    cards = [share.card for share in shares for _ in range(_units(holding.resource, share))]
    return {unit: cards[place] if place < len(cards) else None for place, unit in enumerate(ids)}


def _units(resource: str, share: Share) -> int:
    if resource == mthreads.SGPU_MEMORY:
        return share.memory // SGPU_MEMORY_UNIT
    return share.cores if resource == mthreads.SGPU_CORE else 1
