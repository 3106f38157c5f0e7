"""The QoS policy that each sliced MetaX card runs, as HAMi's scheduler needs to read it on the node.

HAMi keeps what it expects of a card in memory until the node says the same, and goes by the node alone after its own
restart. So the driver's word is published for as long as a card has slices. A card without any may change to any
policy, and one that a single pod has to itself runs none that another pod would have to share: both say nothing, which
is what HAMi expects of them. Between a bind and the first slice the pod that was bound first says what is to come.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from tangram.drivers.errors import DriverError
from tangram.drivers.inventory import SLICES_PER_CARD
from tangram.drivers.protocol import Driver
from tangram.kubelet.news import News
from tangram.model.allocations import Tenant
from tangram.model.cards import AppClass, Card, CardMode, QosPolicy, Vendor
from tangram.model.requests import AskKind
from tangram.services.gpu_device.guard_rules_standing import rank
from tangram.services.gpu_device.hardware import Hardware
from tangram.services.gpu_device.records import BoundPod
from tangram.units.ids import CardUuid
from tangram.units.na import NotAvailable

EVERY_S: Final = 60.0
"""Policies change with slices, which the agent makes; a person may change one too."""


class CardQos:
    """`run` until cancelled; `due` for a card whose slices have changed."""

    def __init__(
        self,
        hardware: Hardware,
        cards: Callable[[], Sequence[Card]],
        changed: Callable[[], None],
        *,
        every: float = EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hardware = hardware
        self._cards = cards
        self._changed = changed
        self._every = every
        self._clock = clock
        self._news = News()
        self._due: set[CardUuid] = set()
        self._read_at: dict[CardUuid, float] = {}
        self.running: dict[CardUuid, QosPolicy] = {}
        """Of cards that have slices."""

    def due(self, card: CardUuid) -> None:
        self._due.add(card)
        self._news.announce()

    def look_again(self) -> None:
        """Cards may have come or gone, or changed their mode."""
        self._news.announce()

    async def run(self) -> None:
        while True:
            edition = self._news.edition
            before = dict(self.running)
            await self.read()
            if self.running != before:
                self._changed()
            await self._news.after(edition, self._every)

    async def read(self) -> None:
        """Ask the driver about cards that are new, whose slices changed or that were not asked about for long."""
        sliced = [card.uuid for card in self._cards() if _is_sliced(card)]
        for known in (self.running, self._read_at):
            for gone in known.keys() - set(sliced):
                del known[gone]
        for uuid in sliced:
            if uuid not in self._due and self._clock() - self._read_at.get(uuid, float("-inf")) < self._every:
                continue
            self._due.discard(uuid)
            try:
                policy = await self._hardware.ask("reading the policy", _policy_of(uuid))
            except DriverError:
                # What was true last stays published; a card that is not well is published as such.
                continue
            finally:
                self._read_at[uuid] = self._clock()
            if policy is None:
                self.running.pop(uuid, None)
            else:
                self.running[uuid] = policy


def published_qos(
    cards: Iterable[Card], pods: Iterable[BoundPod], running: Mapping[CardUuid, QosPolicy]
) -> dict[CardUuid, QosPolicy]:
    """What each sliced card is said to run; no entry for one that says nothing."""
    sliced = {card.uuid: card for card in cards if _is_sliced(card)}
    coming: dict[CardUuid, QosPolicy] = {}
    alone: set[CardUuid] = set()
    for bound in sorted(pods, key=rank):
        tenant = bound.holds
        if bound.pod.ended or not isinstance(tenant, Tenant) or tenant.app_class is AppClass.ONLINE:
            continue
        for container in tenant.allocation.containers:
            for share in container.shares:
                card = sliced.get(share.card)
                if card is None or share.kind is not AskKind.SLICE:
                    continue
                if share.cores >= card.cores:
                    alone.add(share.card)
                elif tenant.qos is not None:
                    coming.setdefault(share.card, tenant.qos)
    return {
        uuid: policy
        for uuid in sliced
        if uuid not in alone and (policy := running.get(uuid) or coming.get(uuid)) is not None
    }


def _is_sliced(card: Card) -> bool:
    return card.vendor is Vendor.METAX and card.mode is CardMode.SLICED


def _policy_of(uuid: CardUuid) -> Callable[[Driver], QosPolicy | None]:
    def ask(driver: Driver) -> QosPolicy | None:
        room = driver.room(uuid)
        if room.slots >= SLICES_PER_CARD or isinstance(room.policy, NotAvailable):
            return None
        return room.policy

    return ask
