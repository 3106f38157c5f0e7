"""Whether a claim still has its room beside the pods that come before it.

Amounts add up in whatever order pods start. What depends on who joins whom (policies, classes, a card of one's own) is
judged by the order of binding, so that two pods get the same answer whichever of them starts first.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import reduce

from tangram.engine.usage import NOTHING, Hold, plus
from tangram.model.allocations import Tenant
from tangram.model.cards import AppClass, Card, CardMode, Vendor
from tangram.model.refusals import Refusal
from tangram.model.requests import AskKind
from tangram.services.gpu_device.codes import StartCode
from tangram.services.gpu_device.guard_rules import Claim
from tangram.services.gpu_device.guard_rules_asked import most_units_of
from tangram.services.gpu_device.guard_rules_shares import PLACED_AGAIN, card_text
from tangram.services.gpu_device.guard_rules_standing import (
    Standing,
    rank,
    rival_standing,
    standing_of,
)
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.services.gpu_device.resources import WHOLE
from tangram.units.ids import CardUuid, PodUid
from tangram.units.memory import Bytes, memory_text
from tangram.vendors.wording import sentence
from tangram.wire.tenants import Unnamed

_NAMED = 3
"""Neighbours in one sentence; events are short."""
_MEET = (
    {None},
    {AppClass.OFFLINE},
    {AppClass.ONLINE},
    {AppClass.ONLINE, AppClass.OFFLINE},
)
"""Classes of two pods that may be on one card.

That an offline pod joins no online one is a rule of placing. Binds run in parallel, so the online pod of two that were
placed rightly may be bound first, and would keep the other one out for good.
"""


def room_fault(
    bound: BoundPod,
    claim: Claim,
    inventory: Inventory,
    rivals: Sequence[BoundPod],
    granted: Container[PodUid],
    *,
    init_done: bool,
) -> Refusal | None:
    """The first card on which the claim does not fit beside the rivals, or None. Never raises."""
    cards = {card.uuid: card for card in inventory.cards}
    mine = standing_of(claim.tenant, cards, init_done=init_done)
    # Not those that only an init container had which is over.
    claimed = [uuid for uuid in claim.cards if uuid in mine.holds]
    near = [
        (other, standing)
        for other in rivals
        if _may_touch(other, set(claimed))
        and (standing := rival_standing(other, inventory, cards, granted)) is not None
    ]
    for uuid in claimed:
        card = cards[uuid]
        here = [(other, standing) for other, standing in near if uuid in standing.holds]
        older = [standing for other, standing in here if rank(other) < rank(bound)]
        newer = [standing for other, standing in here if rank(other) >= rank(bound)]
        fault = (
            _amount_fault(card, mine, [*older, *newer])
            or _compute_taken(card, mine, older)
            or next(filter(None, (_joining_fault(card, mine, each) for each in older)), None)
            or next(filter(None, (_joining_fault(card, each, mine) for each in newer)), None)
            or (None if bound.kubelet_uid in granted else _whole_fault(card, mine, inventory, rivals))
        )
        if fault is not None:
            return fault
    return None


def _may_touch(other: BoundPod, claimed: set[CardUuid]) -> bool:
    """Spares the reading of pods that are on other cards."""
    holds = other.holds
    return isinstance(holds, Unnamed) or (
        holds is not None and not claimed.isdisjoint(holds.allocation.cards)
    )


def _amount_fault(card: Card, mine: Standing, others: Sequence[Standing]) -> Refusal | None:
    own = mine.holds.get(card.uuid, NOTHING)
    taken = reduce(plus, (each.holds[card.uuid] for each in others), NOTHING)
    total = plus(own, taken)
    if total.memory > card.memory:
        code, amounts = StartCode.MEMORY_OVERSOLD, [memory_text(Bytes(each)) for each in _by(0, own, taken)]
        limit = memory_text(card.memory)
    elif total.cores > card.cores:
        code, amounts = StartCode.COMPUTE_OVERSOLD, [f"{each} compute units" for each in _by(1, own, taken)]
        limit = f"{card.cores} compute units"
    elif total.slots > card.slots:
        code, amounts = (
            StartCode.SLOTS_OVERSOLD,
            [f"{each} slices" if each != 1 else "a slice" for each in _by(2, own, taken)],
        )
        limit = f"{card.slots} slices"
    else:
        return None
    holders = f"{amounts[1]} went to {_names(others)} before it" if others else "nobody else has any"
    return _refusal(
        code,
        f"pod {mine.pod} has {amounts[0]} of {card_text(card)}, of which {holders}",
        f"the card has {limit}",
    )


def _by(quantity: int, own: Hold, taken: Hold) -> tuple[int, int]:
    return own[quantity], taken[quantity]


def _compute_taken(card: Card, mine: Standing, older: Sequence[Standing]) -> Refusal | None:
    """A slice without compute of its own lives on what the others leave, so they must leave some."""
    own = mine.holds.get(card.uuid, NOTHING)
    taken = sum(each.holds[card.uuid].cores for each in older)
    if own.cores or mine.app_class is AppClass.ONLINE or taken < card.cores:
        return None
    return _refusal(
        StartCode.COMPUTE_OVERSOLD,
        f"pod {mine.pod} has a slice of {card_text(card)} without compute, and all went to {_names(older)} before it",
        "such a slice needs a card with some compute left",
    )


def _joining_fault(card: Card, joining: Standing, present: Standing) -> Refusal | None:
    """Whether the one bound later may be on the card beside the one bound earlier."""
    at = f"pod {joining.pod} joins pod {present.pod} on {card_text(card)}"
    if card.vendor is Vendor.METAX and {joining.app_class, present.app_class} not in _MEET:
        return _refusal(
            StartCode.APP_CLASS_CLASH,
            f"{at} with class {joining.app_class or 'none'} beside {present.app_class or 'none'}",
            "online and offline pods share a card, pods without a class only with their like",
        )
    online = AppClass.ONLINE in (joining.app_class, present.app_class)
    if not online and joining.has_to_itself(card):
        return _refusal(
            StartCode.CARD_EXCLUSIVE, f"{at} and takes all its compute", "such a pod has the card to itself"
        )
    if (
        card.vendor is Vendor.METAX
        and not online
        and None not in (joining.qos, present.qos)
        and joining.qos is not present.qos
        and not present.has_to_itself(card)
    ):
        return _refusal(
            StartCode.QOS_CLASH,
            f"{at} with policy {joining.qos} beside {present.qos}",
            "a card runs one policy at a time",
        )
    return None


def _whole_fault(
    card: Card, mine: Standing, inventory: Inventory, rivals: Iterable[BoundPod]
) -> Refusal | None:
    """Pods with whole cards that nobody named, more than the whole cards left: one of them may hold this card."""
    offered = [
        each for each in inventory.cards if each.vendor is card.vendor and each.mode is not CardMode.SLICED
    ]
    left = sum(1 if each.mode is CardMode.WHOLE else each.slots for each in offered)
    names = [resource for resource, vendor in WHOLE.items() if vendor is card.vendor]
    wholes = {each.uuid for each in offered}
    unnamed: list[BoundPod] = []
    for other in rivals:
        if isinstance(other.holds, Tenant):
            left -= sum(
                share.card in wholes and share.kind is AskKind.WHOLE
                for each in other.holds.allocation.containers
                for share in each.shares
            )
        elif isinstance(other.holds, Unnamed):
            units = sum(most_units_of(other.pod, resource) for resource in names)
            left -= units
            unnamed += [other] if units else []
    if left >= 0 or not unnamed:
        return None
    return _refusal(
        StartCode.CARD_HELD_WHOLE,
        f"pod {mine.pod} has a slice of {card_text(card)}, which pod {unnamed[0].pod.ref} may hold whole: nobody wrote "
        "down its cards, and there are not enough others",
        "a card is whole or sliced, never both",
    )


def _refusal(code: StartCode, read: str, legal: str) -> Refusal:
    return Refusal(code, sentence(read, legal, PLACED_AGAIN))


def _names(pods: Sequence[Standing]) -> str:
    named = [str(each.pod) for each in pods[:_NAMED]]
    more = [f"{len(pods) - _NAMED} more"] if len(pods) > _NAMED else []
    return f"{'pods' if len(pods) > 1 else 'pod'} {', '.join([*named, *more])}"
