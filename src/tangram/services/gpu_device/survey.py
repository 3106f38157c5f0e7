"""One look at the whole node, and everything that follows from it.

The driver says what there is, the kubelet who holds what, the API server which pods live. From the three follow what is
offered, what is published, which pods are told their real cards, which card changes its mode, and what is tidied away.
Nothing is remembered from the last look but what the cluster was told; so a restart of the agent is nothing special.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Final

from msgspec.structs import replace

from tangram.engine.usage import Hold
from tangram.model.cards import Card, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.offers import Unit
from tangram.services.gpu_device.bound_pods import BoundPods
from tangram.services.gpu_device.card_qos import published_qos
from tangram.services.gpu_device.card_watch import CardWatch
from tangram.services.gpu_device.compute_policy import ComputePolicies
from tangram.services.gpu_device.described import Described, described_node
from tangram.services.gpu_device.holdings import (
    Holding,
    busy_cards,
    held_units,
    held_whole,
    holdings_in,
    usage_of,
)
from tangram.services.gpu_device.kubelet_view import KubeletView, Sight
from tangram.services.gpu_device.mode_waiting import Waiting, waiting_cards
from tangram.services.gpu_device.node_hold import NodeHold
from tangram.services.gpu_device.offer import offered_units
from tangram.services.gpu_device.pod_writes import PodWrites
from tangram.services.gpu_device.publishing import OwnNode
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.services.gpu_device.resources import WHOLE
from tangram.services.gpu_device.stock import switches_due
from tangram.services.gpu_device.switching import Switching
from tangram.services.gpu_device.unserved import running_pods, unserved_pods
from tangram.units.ids import CardUuid, PodUid
from tangram.wire import hami
from tangram.wire.agent_state import AGENT, SERVING, STOPPING
from tangram.wire.errors import WireError
from tangram.wire.given_back import given_annotations, untold_annotations
from tangram.wire.publication import Publication, publication

log = logging.getLogger("tangram.gpu-device")

_SWITCHING_SENTENCE = "it is about to be offered in another way"
SWITCHING: Final = "mode-changing"


class Survey:
    def __init__(
        self,
        *,
        cards: CardWatch,
        kubelet: KubeletView,
        pods: BoundPods,
        own: OwnNode,
        writes: PodWrites,
        switching: Switching,
        policies: ComputePolicies,
        fresh: Callable[[], bool],
        published: Callable[[], bool],
        minors: Callable[[], dict[CardUuid, int] | None],
        granted: Callable[[], frozenset[PodUid]],
        vendors: Collection[Vendor],
        running_qos: Callable[[], Mapping[CardUuid, QosPolicy]],
        hold: NodeHold,
    ) -> None:
        self._cards = cards
        self._kubelet = kubelet
        self._pods = pods
        self._own = own
        self._writes = writes
        self._switching = switching
        self._policies = policies
        self._fresh = fresh
        self._published = published
        self._minors = minors
        self._granted = granted
        self._vendors = vendors
        self._running_qos = running_qos
        self._hold = hold
        self.sight = Sight(notes=WireError("not-read", "not read yet"), held=None)
        self.holdings: tuple[Holding, ...] = ()
        self.usage: dict[CardUuid, Hold] = {}
        self.waiting: tuple[Waiting, ...] | None = None
        """Cards that are not offered as they are to be; None before everybody was heard once."""
        self.unserved: tuple[BoundPod, ...] = ()
        """Pods that run here without the cards they ask for."""
        self.stopping = False
        self._complete = False
        """Whether a look has had the API server's word too: without it every card seems free."""

    async def look(self, *, hurried: bool = False) -> dict[str, tuple[Unit, ...]]:
        """Look at everything once more. What is to be offered from now on, by resource.

        `hurried` goes by the kubelet's notes alone, which are there at once; it may be silent for seconds.
        """
        ran = running_pods(self._pods.all())
        self.sight = (
            Sight(notes=await self._kubelet.notes(), held=None) if hurried else await self._kubelet.look()
        )
        self._arrange()
        due = switches_due(self._cards.inventory, self._cards.wanted, self._busy())
        if await self._switching.step(due, published=self._published()):
            await self._cards.look()
            self._arrange()
        if self._complete:
            # Before that every card seems idle.
            await self._policies.step(self._cards.inventory, self._busy())
        self.waiting = self._wait()
        if self._fresh():
            granted = self._granted()
            self.unserved = unserved_pods(
                self._pods.all(), self.sight, ran=ran, granted=granted, vendors=self._vendors
            )
        self._give_back()
        self._tell_koordinator()
        inventory = self._cards.inventory
        return offered_units(
            inventory,
            held_units(self.holdings, inventory),
            closed=self._switching.closed,
            in_service=not self._own.unschedulable,
        )

    def wanted(self, annotations: Mapping[str, str], labels: Mapping[str, str]) -> Publication | None:
        """What the node should say about itself; None before everybody was heard once. Raises `WireError`."""
        inventory = self._cards.inventory
        if not self._cards.known or not self._complete:
            return None
        policies = published_qos(inventory.cards, self._pods.all(), self._running_qos())
        cards = tuple(
            replace(self._published_card(card), announced_qos=policies.get(card.uuid))
            for card in inventory.cards
        )
        said = publication(
            cards,
            inventory.topology,
            self.usage,
            annotations=annotations,
            labels=labels,
            leaving=self.stopping,
        )
        state = {AGENT: STOPPING if self.stopping else SERVING}
        # Peers ask the lock about MetaX's cards; where others serve those, it is not ours to take.
        sold = any(card.vendor is Vendor.METAX for card in cards)
        lock = self._hold.wanted(annotations, stopping=self.stopping and sold)
        return replace(said, annotations={**said.annotations, **state, **lock})

    def _busy(self) -> dict[CardUuid, tuple[str, ...]]:
        return busy_cards(self.holdings, self._pods.all(), self._cards.inventory)

    def _wait(self) -> tuple[Waiting, ...] | None:
        if not self._cards.known or not self._cards.decided or not self._complete:
            return None
        return waiting_cards(self._cards.inventory, self._cards.wanted, self._busy(), self._switching.refused)

    def described(self) -> Described | None:
        """The node as it is reported to Koordinator; None before everybody was heard once."""
        inventory = self._cards.inventory
        if not self._cards.known or not self._complete:
            return None
        cards = tuple(self._published_card(card) for card in inventory.cards)
        closed = dict.fromkeys(self._switching.closed, SWITCHING)
        return described_node(inventory, cards, closed | self._cards.faults)

    def _published_card(self, card: Card) -> Card:
        policy = self._policies.known.get(card.uuid, QosPolicy.BEST_EFFORT)
        if policy is not QosPolicy.BEST_EFFORT:
            # Best effort is what a module starts with, and what is meant where a card states none.
            card = replace(card, announced_qos=policy)
        if card.uuid in self._switching.closed and card.healthy:
            return replace(card, healthy=False, health_reason=_SWITCHING_SENTENCE)
        return card

    def _arrange(self) -> None:
        self.holdings = holdings_in(
            self.sight, self._pods.by_kubelet_uid, self._pods.by_name, fresh=self._fresh()
        )
        cordoned = frozenset(hami.card_ids(self._own.annotations.get(hami.CORDONED_CARDS, "")))
        inventory = self._cards.arrange(held_whole(self.holdings), cordoned)
        self.usage = usage_of(self.holdings, self._pods.all(), inventory)
        self._complete = self._complete or (self._fresh() and self._own.known)

    def _give_back(self) -> None:
        """Tell pods with whole cards which they really have, where their annotation says otherwise."""
        inventory = self._cards.inventory
        by_pod: dict[tuple[PodUid, Vendor], list[Holding]] = {}
        for holding in self.holdings:
            if holding.resource in WHOLE and holding.bound is not None:
                key = (holding.bound.kubelet_uid, WHOLE[holding.resource])
                by_pod.setdefault(key, []).append(holding)
        for (_, vendor), held in by_pod.items():
            bound = held[0].bound
            if bound is not None and not bound.pod.terminating and bound.kubelet_uid == bound.pod.ref.uid:
                self._correct(bound, vendor, held, inventory)

    def _tell_koordinator(self) -> None:
        """Have pods say what they hold where koord-scheduler would not know it: bound before there was a `Device`, say.

        What another scheduler of ours, or HAMi, placed is then counted by it too, from the next moment on.
        """
        inventory = self._cards.inventory
        if self._minors() is None or not self._fresh():
            return
        node = self._numbered(inventory)
        for bound in self._pods.all():
            if bound.kubelet_uid == bound.pod.ref.uid and not bound.pod.terminating:
                owed = untold_annotations(bound.pod, bound.holds, node)
                if owed:
                    self._writes.owe(bound.pod.ref, owed)

    def _numbered(self, inventory: Inventory) -> Node:
        return Node(name=inventory.node, cards=inventory.cards, minors=self._minors() or {})

    def _correct(self, bound: BoundPod, vendor: Vendor, held: list[Holding], inventory: Inventory) -> None:
        given: dict[str, list[Card]] = {}
        for each in held:
            cards = [inventory.card_behind(unit) for unit in each.ids]
            known = [card for card in cards if card is not None]
            if len(known) < len(cards):
                # A card that is not known yet, or not any more: half of the truth would read as the whole.
                return
            given[each.container] = known
        try:
            owed = given_annotations(bound.pod, vendor, given, self._numbered(inventory))
        except WireError as error:
            log.warning(
                "a pod's cards cannot be written", extra={"pod": str(bound.pod.ref), "error": error.sentence}
            )
            return
        if owed:
            self._writes.owe(bound.pod.ref, owed)
