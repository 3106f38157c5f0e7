"""Cards for a pod that runs without anyone having written down which.

Such a pod was bound by a scheduler that names no cards, or its annotation cannot be read. Its use is real, so it is
charged: to the cards it would have been given, or, when it should not fit at all, to those with the most room left.
Counting it nowhere would sell its cards again.
"""

from __future__ import annotations

import msgspec

from tangram.engine.allocate import tenant_for
from tangram.engine.columns import whole_unit
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.cards import AppClass, Card, CardMode
from tangram.model.nodes import Node
from tangram.model.requests import Ask, AskKind, CardFilter, HostAsk, Request
from tangram.units.ids import NodeName


def adopt(ledger: Ledger, request: Request, node_name: NodeName) -> Tenant:
    """A guess at the pod's cards, marked as one. The ledger is not changed."""
    relaxed = msgspec.structs.replace(
        request, cards=CardFilter(), required_scope=None, card_order=(), host=HostAsk()
    )
    here = Candidates(names=(node_name,), host_checked=True)
    outcome = filter_nodes(ledger, relaxed, Defaults(), here)
    allocation = outcome.allocation
    if allocation is None:
        node = ledger.node(node_name)
        allocation = _where_room_is(ledger, request, node) if node else _nowhere(request, node_name)
    return msgspec.structs.replace(tenant_for(request, allocation), guessed=True)


def _nowhere(request: Request, node_name: NodeName) -> Allocation:
    return Allocation(node_name, tuple(ContainerShares(each.name, each.role) for each in request.containers))


def _where_room_is(ledger: Ledger, request: Request, node: Node) -> Allocation:
    """The cards with the most free memory, oversold if need be: an oversold card takes nobody else."""
    view = ledger.view((node.name,), without=(request.pod.uid,))
    free = {
        card.uuid: card.memory - int(view.use.memory[0, column]) for column, card in enumerate(node.cards)
    }

    def shares(ask: Ask) -> tuple[Share, ...]:
        offered = [
            share
            for card in node.cards
            if card.vendor is ask.vendor and _offers(card, ask)
            for share in _units_of(card, ask, request.app_class)
        ]
        roomiest = sorted(offered, key=lambda share: (-free[share.card], -share.index))[: ask.count]
        for share in roomiest:
            free[share.card] -= share.memory
        return tuple(roomiest)

    return Allocation(
        node.name,
        tuple(
            ContainerShares(each.name, each.role, tuple(share for ask in each.asks for share in shares(ask)))
            for each in request.containers
        ),
    )


def _units_of(card: Card, ask: Ask, app_class: AppClass | None) -> list[Share]:
    """What the card could give one container: itself, a slice, or as many virtual functions as asked."""
    if ask.kind is AskKind.SLICE:
        cores = 0 if app_class is AppClass.ONLINE else ask.cores_on(card)
        return [Share(card.uuid, card.index, ask.memory_on(card), cores, ask.kind)]
    memory, cores = whole_unit(card)
    several = card.mode in (CardMode.VIRTUAL, CardMode.SHARED)
    return [Share(card.uuid, card.index, memory, cores, ask.kind)] * (
        min(card.slots, ask.count) if several else 1
    )


def _offers(card: Card, ask: Ask) -> bool:
    return card.offered_whole if ask.kind is AskKind.WHOLE else card.offered_sliced
