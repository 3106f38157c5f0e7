"""May the container have it: the last look before devices are handed out.

The API server fences pods, never cards, and annotations can be written by many. So every allocation is held against
what the pod asks for, what this node has, and what other pods hold already. A pod is judged as a whole, because a grant
to one of its containers is a promise to all of them. Of two pods that claim the same room the one bound later is
refused, whoever starts first; only what has been granted already counts before both.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from tangram.model.allocations import ContainerShares
from tangram.model.cards import Card, CardMode
from tangram.model.pods import Role
from tangram.model.refusals import Refusal
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.guard_rules import Claim, claim_of, unhealthy
from tangram.services.gpu_device.guard_rules_asked import promised_slices
from tangram.services.gpu_device.guard_rules_room import room_fault
from tangram.services.gpu_device.guard_rules_shares import card_text, cards_text
from tangram.services.gpu_device.guard_rules_standing import rivals_of
from tangram.services.gpu_device.records import BoundPod, Inventory, Starting
from tangram.services.gpu_device.resources import SLOTS, WHOLE, turn_id, unit_uuid
from tangram.units.ids import CardUuid, PodUid
from tangram.units.memory import SGPU_MEMORY_UNIT
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.mthreads.products import CORES_PER_CARD
from tangram.vendors.wording import sentence
from tangram.wire.errors import shown


def check(
    starting: Starting, inventory: Inventory, pods: Sequence[BoundPod], granted: Container[PodUid]
) -> tuple[ContainerShares, ...] | Refusal:
    """What each of the starting containers may be given of sliced cards. Never raises.

    `pods` are all pods of the node; `granted` has those that were given slices before, by the UID that the kubelet
    knows. What such a pod `holds` should be what it was given, even if its annotation has changed since.
    """
    bound = starting.bound
    claim = claim_of(bound, inventory)
    if isinstance(claim, Refusal):
        return claim
    rivals = rivals_of(bound, pods, granted)
    refusal = (
        _slots_fault(starting, claim)
        or (None if bound.kubelet_uid in granted else unhealthy(claim, inventory))
        or room_fault(bound, claim, inventory, rivals, granted, init_done=_init_done(starting, claim))
    )
    return refusal or tuple(claim.of(name) for name in starting.containers)


def check_whole(
    starting: Starting, inventory: Inventory, pods: Sequence[BoundPod], granted: Container[PodUid] = ()
) -> tuple[CardUuid, ...] | Refusal:
    """The cards or virtual functions that the ids stand for, each once, in the order of the ids. Never raises."""
    rivals = rivals_of(starting.bound, pods, granted)
    found: dict[CardUuid, None] = {}
    for unit in starting.ids:
        card = _whole_card(starting.resource, unit, inventory)
        if isinstance(card, Refusal):
            return card
        if not card.healthy and starting.bound.kubelet_uid not in granted:
            return _unhealthy_unit(unit, card)
        # A promise alone cannot be kept of a card that is offered whole, and keeps it from no other pod.
        holder = next(
            (
                other
                for other in rivals
                if other.kubelet_uid in granted and card.uuid in promised_slices(other, inventory)
            ),
            None,
        )
        if holder is not None:
            return _promised(unit, card, holder)
        found[unit_uuid(unit) if inventory.device(CardUuid(unit)) is None else CardUuid(unit)] = None
    return tuple(found)


def _init_done(starting: Starting, claim: Claim) -> bool:
    """Whether init is over. It is not if only init containers can be meant, whatever the API server says so far."""
    roles = {claim.of(name).role for name in starting.containers}
    return claim.tenant.init_done and roles != {Role.INIT}


def _slots_fault(starting: Starting, claim: Claim) -> Refusal | None:
    """Whether the ids that the kubelet counted are as many as the allocation stands for."""
    vendor, count = SLOTS.get(starting.resource), len(starting.ids)
    for name in starting.containers:
        shares = claim.of(name).shares if claim.vendors.get(name) is vendor else ()
        if starting.resource == mthreads.SGPU_MEMORY:
            # Only a card's whole memory can be something else than a number of units.
            fewest = sum(share.memory // SGPU_MEMORY_UNIT for share in shares)
            most = sum(-(-share.memory // SGPU_MEMORY_UNIT) for share in shares)
            if all(share.cores >= CORES_PER_CARD for share in shares):
                # Admission does not know the card, so its number for all of one may be that of a smaller card.
                fewest = min(fewest, 1)
        elif starting.resource == mthreads.SGPU_CORE:
            fewest = most = sum(share.cores for share in shares)
        else:
            fewest = most = len(shares)
        if not shares or not fewest <= count <= most:
            return Refusal(
                StartCode.SLOTS_MISMATCH,
                sentence(
                    f"the kubelet gave container {name} of pod {starting.bound.pod.ref} {count} of {starting.resource} "
                    f"and its allocation stands for {most}",
                    "the two are the same number",
                    "delete the pod and let it be made and placed again",
                ),
                name,
            )
    return None


def _whole_card(resource: str, unit: str, inventory: Inventory) -> Card | Refusal:
    """The physical card behind a unit, if the unit is offered now."""
    device = inventory.device(CardUuid(unit))
    parent = device.virtual_function_of if device is not None else None
    card = inventory.card(parent or (CardUuid(unit) if device is not None else unit_uuid(unit)))
    if card is None:
        card = inventory.card(CardUuid(unit)) or inventory.card(unit_uuid(unit))
    if card is None:
        return Refusal(
            StartCode.CARD_UNKNOWN,
            sentence(
                f"the kubelet gave {shown(unit)} of {resource}, which node {inventory.node} does not have",
                f"its cards are {cards_text(inventory)}",
                "delete the pod and let it be made again; if the card should be there, run tangram doctor",
            ),
        )
    if WHOLE.get(resource) is not card.vendor:
        return Refusal(
            StartCode.CARD_OF_OTHER_VENDOR,
            sentence(
                f"the kubelet gave {shown(unit)} of {resource}, which is a card of {card.vendor}",
                "a resource has the cards of one vendor",
                "delete the pod and let it be made again",
            ),
        )
    match card.mode:
        case CardMode.VIRTUAL:
            offered = parent == card.uuid
        case CardMode.SHARED:
            offered = unit in {turn_id(card.uuid, number) for number in range(card.slots)}
        case CardMode.WHOLE | CardMode.UNDECIDED:
            offered = unit == card.uuid
        case CardMode.SLICED:
            offered = False
    if offered:
        return card
    return Refusal(
        StartCode.CARD_NOT_WHOLE,
        sentence(
            f"the kubelet gave {shown(unit)} of {resource}, and {card_text(card)} is offered as {card.mode} now",
            "a card is handed out only in the way in which it is offered",
            "delete the pod and let it be made again",
        ),
    )


def _unhealthy_unit(unit: str, card: Card) -> Refusal:
    return Refusal(
        StartCode.CARD_UNHEALTHY,
        sentence(
            f"the kubelet gave {shown(unit)}, and {card_text(card)} is unhealthy: "
            f"{card.health_reason or 'no reason given'}",
            "a new pod starts on healthy cards",
            "delete the pod and let it be made again, or repair the card",
        ),
    )


def _promised(unit: str, card: Card, holder: BoundPod) -> Refusal:
    return Refusal(
        StartCode.CARD_PROMISED,
        sentence(
            f"the kubelet gave {shown(unit)} whole, and pod {holder.pod.ref} was given a slice of {card_text(card)}",
            "a card is whole or sliced, never both",
            f"wait until pod {holder.pod.ref} is over, or delete it",
        ),
    )
