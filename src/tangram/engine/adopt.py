"""Cards for a pod that runs without anyone having written down which.

Such a pod was bound by a scheduler that names no cards, or its annotation cannot be read. Its use is real, so it is
charged: to the cards it would have been given, or, when it should not fit at all, to those with the most room left.
Counting it nowhere would sell its cards again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final

import msgspec

from tangram.engine.allocate import tenant_for
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.cards import AppClass, Card, CardMode, whole_unit
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Ask, AskKind, CardFilter, HostAsk, Request
from tangram.units.ids import CardUuid, NodeName

MOST_PLACED: Final = 64
"""A pod with more asking containers than this is charged where room is: placing them takes time by the square."""


def adopt(
    ledger: Ledger, request: Request, node_name: NodeName, *, named: Collection[CardUuid] = ()
) -> Tenant:
    """A guess at the pod's cards, marked as one. The ledger is not changed.

    `named` are cards that the pod may well hold, though not all that is written of them can be true: they come first.
    """
    node = ledger.node(node_name)
    if node is None or not request.asks_for_cards:
        allocation = _nowhere(request, node_name)
    else:
        likely = frozenset(card.uuid for card in node.cards).intersection(named)
        placed = None if likely else _as_placed(ledger, request, node_name)
        allocation = placed or _where_room_is(ledger, request, node, likely)
    return msgspec.structs.replace(tenant_for(request, allocation), guessed=True)


def _as_placed(ledger: Ledger, request: Request, node_name: NodeName) -> Allocation | None:
    """The cards that the pod would be given now; None where it would get none there."""
    if sum(bool(each.asks) for each in request.containers) > MOST_PLACED:
        return None
    relaxed = msgspec.structs.replace(
        request, cards=CardFilter(), required_scope=None, card_order=(), host=HostAsk()
    )
    here = Candidates(names=(node_name,), host_checked=True)
    return filter_nodes(ledger, relaxed, Defaults(), here).allocation


def _nowhere(request: Request, node_name: NodeName) -> Allocation:
    return Allocation(node_name, tuple(ContainerShares(each.name, each.role) for each in request.containers))


class _Room:
    """What one node's cards have left while one pod's containers are laid onto them."""

    def __init__(self, ledger: Ledger, request: Request, node: Node, likely: Collection[CardUuid]) -> None:
        use = ledger.view((node.name,), without=(request.pod.uid,)).use
        self._node, self._likely, self._app_class = node, set(likely), request.app_class
        self._memory = {
            card.uuid: card.memory - int(use.memory[0, column]) for column, card in enumerate(node.cards)
        }
        self._slots = {
            card.uuid: card.slots - int(use.slots[0, column]) for column, card in enumerate(node.cards)
        }
        self._handed_on = Counter[CardUuid]()
        """Units of whole cards that init containers leave to the containers after them."""

    def take(self, ask: Ask, role: Role) -> tuple[Share, ...]:
        """Handed-on units, likely cards, then those with the most free memory, oversold if need be."""
        whole = ask.kind is AskKind.WHOLE
        offered = [
            (
                not (whole and unit < self._handed_on[share.card]),
                share.card not in self._likely,
                unit >= self._slots[share.card],
                -self._memory[share.card],
                -share.index,
                unit,
                share,
            )
            for card in _cards_for(self._node, ask)
            for unit, share in enumerate(_units_of(card, ask, self._app_class))
        ]
        taken = tuple(share for *_, share in sorted(offered, key=lambda each: each[:-1])[: ask.count])
        for card, units in Counter(share.card for share in taken).items():
            memory = next(share.memory for share in taken if share.card == card)
            again = min(units, self._handed_on[card]) if whole else 0
            self._memory[card] -= memory * (units - again)
            self._slots[card] -= units - again
            if whole:
                self._handed_on[card] += units - again if role is Role.INIT else -again
                self._likely.discard(card)
        return taken


def _where_room_is(ledger: Ledger, request: Request, node: Node, likely: Collection[CardUuid]) -> Allocation:
    """Likely cards, then those with the most room: an oversold card takes no other pod."""
    room = _Room(ledger, request, node, likely)
    return Allocation(
        node.name,
        tuple(
            ContainerShares(
                each.name, each.role, tuple(share for ask in each.asks for share in room.take(ask, each.role))
            )
            for each in request.containers
        ),
    )


def _cards_for(node: Node, ask: Ask) -> list[Card]:
    """The cards that are offered for such an ask; all of the vendor where none is, because they may have been."""
    own = [card for card in node.cards if card.vendor is ask.vendor]
    return [card for card in own if _offers(card, ask)] or own


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
