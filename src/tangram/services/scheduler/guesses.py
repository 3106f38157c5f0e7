"""Running pods without an allocation that can be believed: each is charged with a guess, so that no card is sold again.

A guess holds until the pod's annotation names cards that can be believed. It moves when its card turns out to belong to
another pod, or leaves the node: pods arrive in any order, and the guess for the first may be the card of the next.
"""

from __future__ import annotations

from msgspec.structs import replace

from tangram.engine.columns import CardFacts, CardUse
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.model.nodes import Node
from tangram.units.ids import CardUuid, NodeName, PodUid
from tangram.vendors.settings import AdmissionSettings
from tangram.wire.assumed import assumed
from tangram.wire.tenants import Unnamed, read_tenant


class Guesses:
    """Charges the ledger for `Unnamed` pods."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._unnamed: dict[PodUid, Unnamed] = {}

    def hold(self, unnamed: Unnamed) -> None:
        """Charge the pod, unless the ledger knows better already: we bound it, or guessed before."""
        uid = unnamed.pod.ref.uid
        self._unnamed[uid] = unnamed
        known = self._ledger.holding(uid)
        if known is not None and known.bound and self._is_better_known(known.tenant, unnamed):
            self._ledger.put_tenant(replace(known.tenant, init_done=unnamed.pod.init_done))
        else:
            self._ledger.put_tenant(assumed(self._ledger, unnamed))

    def read_again(self, node: Node, settings: AdmissionSettings) -> None:
        """The node has other cards now: a card that a pod named all the time may be back, and is not sold then."""
        on_node = [each for each in self._unnamed.values() if each.node == node.name]
        for unnamed in on_node:
            held = read_tenant(unnamed.pod, node, settings)
            if isinstance(held, Tenant):
                self._ledger.put_tenant(held)
                self.make_way(held)
            elif held is not None:
                self.hold(held)

    def make_way(self, tenant: Tenant) -> None:
        """Guess again for pods that were assumed on cards which this tenant, whose cards are known, has filled."""
        self._unnamed.pop(tenant.pod.uid, None)
        if not self._unnamed:
            return
        name = tenant.allocation.node
        for holding in self._ledger.holdings_on(name):
            other = holding.tenant
            unnamed = self._unnamed.get(other.pod.uid) if other.guessed else None
            shared = set(other.allocation.cards).intersection(tenant.allocation.cards)
            if unnamed is not None and any(self._is_oversold(name, card) for card in shared):
                self._ledger.put_tenant(assumed(self._ledger, unnamed))

    def forget(self, uid: PodUid) -> None:
        """The pod is gone."""
        self._unnamed.pop(uid, None)

    def _is_better_known(self, tenant: Tenant, unnamed: Unnamed) -> bool:
        if tenant.allocation.node != unnamed.node:
            return False
        node = self._ledger.node(unnamed.node)
        cards = tenant.allocation.cards
        if node is None or (not cards and unnamed.request.asks_for_cards):
            return node is None
        return set(cards) <= {card.uuid for card in node.cards}

    def _is_oversold(self, name: NodeName, uuid: CardUuid) -> bool:
        node, (use, facts) = self._ledger.node(name), self._state_of(name)
        for at, card in enumerate(() if node is None else node.cards):
            if card.uuid == uuid:
                return bool(
                    use.memory[0, at] > facts.memory[0, at]
                    or use.cores[0, at] > facts.cores[0, at]
                    or use.slots[0, at] > facts.slots[0, at]
                )
        return False

    def _state_of(self, name: NodeName) -> tuple[CardUse, CardFacts]:
        view = self._ledger.view((name,))
        return view.use, view.facts
