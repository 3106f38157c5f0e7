"""Pods of a short file that already run, on the cards they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.cards import Card, CardMode, Vendor, whole_unit
from tangram.model.nodes import Node
from tangram.model.pods import PodRef, Role
from tangram.model.requests import AskKind
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes, memory_text
from tangram.vendors.wording import either
from tangram.wire.clusterfile.fields import Fields, refusal
from tangram.wire.clusterfile.pods import CONTAINER, Amounts, amounts_of, cores_of, manner_of


def read_tenant(fields: Fields, ref: PodRef, node: Node) -> Tenant:
    """The pod with a share of every card it names; without cards it only uses the host."""
    by_number = {card.index: card for card in node.cards}
    numbers = fields.numbers("cards")
    for number in numbers:
        if number not in by_number:
            legal = f"the cards of {node.name} are {', '.join(map(str, by_number)) or 'none'}"
            raise refusal(fields.at("cards"), f"it names card {number}", legal, "name one of these")
    amounts = amounts_of(fields)
    cards = [by_number[number] for number in numbers]
    _check_repeats(fields, cards)
    shares = tuple(_share(fields, card, amounts) for card in cards)
    sliced = any(
        share.kind is AskKind.SLICE and card.vendor is Vendor.METAX
        for share, card in zip(shares, cards, strict=True)
    )
    manner = manner_of(fields, metax_slice=sliced)
    return Tenant(
        pod=ref,
        allocation=Allocation(node.name, (ContainerShares(CONTAINER, Role.APP, shares),)),
        qos=manner.qos,
        app_class=manner.app_class,
        priority=manner.priority,
        host=manner.host,
    )


def check_room(nodes: Mapping[NodeName, Node], tenants: Iterable[Tenant]) -> None:
    """Refuse a file in which pods hold more of a card than there is: one of its lines is not what was meant."""
    memory: Counter[CardUuid] = Counter()
    holders: dict[CardUuid, list[str]] = {}
    cards = {card.uuid: (node, card) for node in nodes.values() for card in node.cards}
    for tenant in tenants:
        for share in (share for container in tenant.allocation.containers for share in container.shares):
            memory[share.card] += share.memory
            holders.setdefault(share.card, []).append(str(tenant.pod))
    for uuid, names in holders.items():
        node, card = cards[uuid]
        if memory[uuid] <= card.memory and len(names) <= card.slots:
            continue
        held = f"card {card.index} of {node.name} is held by {_some(names)}, {memory_text(Bytes(memory[uuid]))} in all"
        legal = f"it has {memory_text(card.memory)} for at most {card.slots} {'pod' if card.slots == 1 else 'pods'}"
        raise refusal("pods", held, legal, "move one of them to another card")


def _share(fields: Fields, card: Card, amounts: Amounts) -> Share:
    whole = not amounts.sliced if card.mode is CardMode.UNDECIDED else card.offered_whole
    if not whole:
        return _slice(fields, card, amounts)
    if amounts.sliced:
        legal = f"card {card.index} is offered as {card.mode} and given whole"
        raise refusal(
            fields.place, "it holds a part of a card", legal, "remove memory and cores, or write mode: sgpu"
        )
    memory, cores = whole_unit(card)
    return Share(card.uuid, card.index, memory, cores, AskKind.WHOLE)


def _slice(fields: Fields, card: Card, amounts: Amounts) -> Share:
    memory = card.memory if amounts.memory is None else amounts.memory
    if memory > card.memory:
        raise fields.no("memory", f"card {card.index} has {memory_text(card.memory)}", "write at most that")
    if card.memory_tiers and memory not in card.memory_tiers:
        legal = f"slices of card {card.index} have {either(memory_text(tier) for tier in card.memory_tiers)}"
        raise fields.no("memory", legal, "write one of these")
    cores = cores_of(fields, amounts, card.vendor)
    return Share(card.uuid, card.index, memory, card.cores if cores is None else cores)


def _check_repeats(fields: Fields, cards: Sequence[Card]) -> None:
    for at, card in enumerate(cards):
        if card in cards[:at] and card.mode not in (CardMode.VIRTUAL, CardMode.SHARED):
            legal = f"card {card.index} is offered as {card.mode} and held once by a pod"
            raise refusal(fields.at("cards"), f"it names card {card.index} twice", legal, "name it once")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
