"""What pods hold of the resources that a namespace's quota may limit: held already, chosen, or at least asked for.

Memory is counted in bytes and compute in the vendor's own units, over all cards of a pod, at its peak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from tangram.engine.usage import holds_of
from tangram.model.allocations import Allocation
from tangram.model.cards import AppClass, Card, Vendor, whole_unit
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Ask, AskKind, Request
from tangram.units.ids import CardUuid, NodeName
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads


class Quota(StrEnum):
    """The resources that a quota may limit, under the name in which people ask for them."""

    METAX_MEMORY = metax.VMEMORY
    METAX_CORES = metax.VCORE
    MTHREADS_MEMORY = mthreads.SGPU_MEMORY
    MTHREADS_CORES = mthreads.SGPU_CORE


_BY_VENDOR: Final = {
    Vendor.METAX: (Quota.METAX_MEMORY, Quota.METAX_CORES),
    Vendor.MTHREADS: (Quota.MTHREADS_MEMORY, Quota.MTHREADS_CORES),
}

CardOf = Callable[[NodeName, CardUuid], Card | None]
QuotaUse = Mapping[Quota, int]
"""What is held, or would be; a resource that is not there counts as none."""


class Unit(NamedTuple):
    """What one card gives when it is not said how much of it."""

    memory: int
    cores: int


UnitKey = tuple[Vendor, AskKind]


def allocation_use(allocation: Allocation, card_of: CardOf, *, init_done: bool = False) -> dict[Quota, int]:
    """What one allocation holds at its peak.

    A card that nobody knows any more counts for every vendor: that it is out of sight does not give it back.
    """
    total: dict[Quota, int] = {}
    for uuid, hold in holds_of(allocation, init_done=init_done).items():
        card = card_of(allocation.node, uuid)
        for vendor in _BY_VENDOR if card is None else (card.vendor,):
            for quota, amount in zip(_BY_VENDOR.get(vendor, ()), (hold.memory, hold.cores), strict=False):
                total[quota] = total.get(quota, 0) + amount
    return total


def smallest_units(nodes: Iterable[Node]) -> dict[UnitKey, Unit]:
    """The least that a card given whole, or all of a sliced one, can turn out to be."""
    least: dict[UnitKey, Unit] = {}
    for card in (card for node in nodes for card in node.cards):
        offers: list[tuple[AskKind, Unit]] = []
        if card.offered_whole:
            offers.append((AskKind.WHOLE, Unit(*whole_unit(card))))
        if card.offered_sliced:
            offers.append((AskKind.SLICE, Unit(card.memory, card.cores)))
        for kind, unit in offers:
            known = least.get((card.vendor, kind), unit)
            least[card.vendor, kind] = Unit(min(known.memory, unit.memory), min(known.cores, unit.cores))
    return least


def least_use(request: Request, smallest: Mapping[UnitKey, Unit]) -> dict[Quota, int]:
    """What a pod will hold at its peak if it gets the smallest cards there are.

    Init containers run one after another, on top of the sidecars that were started before them. What a vendor without
    any known card would give is none, so that it is never overstated.
    """
    staying: dict[Quota, int] = {}
    peak: dict[Quota, int] = {}
    online = request.app_class is AppClass.ONLINE
    for container in request.containers:
        for quota, amount in _asked(container.asks, smallest, online=online).items():
            together = staying.get(quota, 0) + amount
            if container.role is Role.INIT:
                peak[quota] = max(peak.get(quota, 0), together)
            else:
                staying[quota] = together
    return {quota: max(staying.get(quota, 0), peak.get(quota, 0)) for quota in {*staying, *peak}}


def _asked(asks: Iterable[Ask], smallest: Mapping[UnitKey, Unit], *, online: bool) -> dict[Quota, int]:
    total: dict[Quota, int] = {}
    for ask in asks:
        each = _each(ask, smallest.get((ask.vendor, ask.kind), Unit(0, 0)), online=online)
        for quota, amount in zip(_BY_VENDOR.get(ask.vendor, ()), each, strict=False):
            total[quota] = total.get(quota, 0) + amount * ask.count
    return total


def _each(ask: Ask, unit: Unit, *, online: bool) -> Unit:
    """What one card of an ask holds, as `engine.fit` would charge it."""
    if ask.kind is AskKind.WHOLE:
        return unit
    memory = unit.memory * ask.memory_percent // 100 if ask.memory is None else ask.memory
    return Unit(memory, 0 if online else unit.cores if ask.cores is None else ask.cores)
