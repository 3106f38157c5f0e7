"""What koord-scheduler's debug API tells of a node's devices, told of our books in the same shape.

Per device type (here `gpu` alone), minor and resource: what there is, what is taken and what is left, each summed up
beside; and which pod has what. A card that is out of order has nothing to give, but what is taken of it stays taken.
Pods that are promised cards and not bound yet are among them, as they are in Koordinator's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tangram.engine.holdings import Holding
from tangram.engine.usage import Hold, holds_of
from tangram.model.allocations import Tenant
from tangram.model.cards import Card
from tangram.model.nodes import Node
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.quantity import Format, Quantity
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO
from tangram.wire.koordinator import names
from tangram.wire.koordinator.allocated import GpuShare
from tangram.wire.koordinator.binding import charged_share

_Amounts = tuple[int, int, int]
"""Compute in percent, memory in bytes and in percent."""
_Detail = dict[int, _Amounts | None]
"""By minor; None for a card that gives nothing."""

_NOTHING: _Amounts = (0, 0, 0)


def node_summary(node: Node, holdings: Iterable[Holding]) -> dict[str, object]:
    """The answer about one node."""
    cards = {card.uuid: card for card in node.cards}
    minors = {card.uuid: node.minors.get(card.uuid, card.index) for card in node.cards}
    total: _Detail = {
        minors[card.uuid]: (100, card.memory, 100) if card.healthy else None for card in node.cards
    }
    held: dict[str, dict[int, _Amounts]] = {}
    used: dict[int, _Amounts] = {}
    for each in holdings:
        pod = f"{each.tenant.pod.namespace}/{each.tenant.pod.name}"
        for minor, amounts in _parts(each.tenant, cards, minors).items():
            used[minor] = _plus(used.get(minor, _NOTHING), amounts)
            # A pod that is on its way out may have a namesake already.
            own = held.setdefault(pod, {})
            own[minor] = _plus(own.get(minor, _NOTHING), amounts)
    # A card that is gone and still held is told of as one that gives nothing.
    there: _Detail = {**dict.fromkeys(used), **total}
    free: _Detail = {minor: _minus(amounts, used.get(minor)) for minor, amounts in there.items()}
    return {
        "deviceTotal": _sums(there),
        "deviceFree": _sums(free),
        "deviceUsed": _sums(used),
        "deviceTotalDetail": _detail(there),
        "deviceFreeDetail": _detail(free),
        "deviceUsedDetail": _detail(used),
        "allocateSet": {names.GPU: {pod: _rows(parts) for pod, parts in sorted(held.items())}}
        if held
        else {},
    }


def _parts(
    tenant: Tenant, cards: Mapping[CardUuid, Card], minors: Mapping[CardUuid, int]
) -> dict[int, _Amounts]:
    """What a tenant has of each card, by minor. A card the node does not have (any more) goes by its own number."""
    numbers = {
        share.card: share.index for container in tenant.allocation.containers for share in container.shares
    }
    found: dict[int, _Amounts] = {}
    for uuid, hold in holds_of(tenant.allocation, init_done=tenant.init_done).items():
        card = cards.get(uuid)
        minor = minors.get(uuid, numbers[uuid])
        if minor >= 0:
            found[minor] = _plus(found.get(minor, _NOTHING), _amounts(tenant, hold, card))
    return found


def _amounts(tenant: Tenant, hold: Hold, card: Card | None) -> _Amounts:
    if card is None:
        return hold.cores, hold.memory, 100
    share = charged_share(card, hold)
    if tenant.host.counted:
        # In Koordinator's words, and so in its arithmetic.
        share = GpuShare.as_asked(share.core_percent, Bytes(hold.memory), card.memory)
    return share.core_percent, share.memory, share.ratio


def _plus(one: _Amounts, other: _Amounts) -> _Amounts:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _minus(total: _Amounts | None, used: _Amounts | None) -> _Amounts | None:
    if total is None:
        return None if used is None else _NOTHING
    taken = used or _NOTHING
    return max(total[0] - taken[0], 0), max(total[1] - taken[1], 0), max(total[2] - taken[2], 0)


def _sums(detail: Mapping[int, _Amounts | None]) -> dict[str, str]:
    known = [amounts for amounts in detail.values() if amounts is not None]
    summed = _NOTHING
    for amounts in known:
        summed = _plus(summed, amounts)
    return _row(summed) if known else {}


def _detail(detail: Mapping[int, _Amounts | None]) -> dict[str, object]:
    return {names.GPU: _rows(detail)} if detail else {}


def _rows(detail: Mapping[int, _Amounts | None]) -> dict[str, object]:
    return {str(minor): {} if amounts is None else _row(amounts) for minor, amounts in sorted(detail.items())}


def _row(amounts: _Amounts) -> dict[str, str]:
    core, memory, ratio = amounts
    return {
        KOORDINATOR_CORE: Quantity.whole(core).canonical(),
        KOORDINATOR_MEMORY: Quantity.whole(memory, Format.BINARY_SI).canonical(),
        KOORDINATOR_RATIO: Quantity.whole(ratio).canonical(),
    }
