"""What koord-scheduler writes on a pod at bind, for pods that asked in its words; and what it must find on all others.

Koordinator counts per pod: containers that share a card become one entry of what they hold together at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tangram.engine.usage import Hold, holds_of
from tangram.model.allocations import Allocation, Share
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.requests import Ask, Request
from tangram.units.ids import CardUuid
from tangram.units.memory import MIB, Bytes, floor_mib
from tangram.wire.card_numbers import encode_numbers
from tangram.wire.errors import WireError
from tangram.wire.koordinator import names
from tangram.wire.koordinator.allocated import AllocatedDevice, GpuShare, encode_allocated
from tangram.wire.metax_allocated import ALLOCATED, GivenCard, encode_given_per_pod

_NO_OTHERS: Mapping[CardUuid, int] = MappingProxyType({})


def koordinator_annotations(
    request: Request,
    allocation: Allocation,
    cards: Mapping[CardUuid, Card],
    now_ns: int,
    *,
    minors: Mapping[CardUuid, int] = _NO_OTHERS,
) -> dict[str, str]:
    """The annotations of a bind. Raises `WireError` for a MetaX share below 1 MiB, which the plugin cannot make.

    `minors` are the numbers of the node's `Device`, of cards whose own is another.
    """
    ratios = _asked_ratios(request, allocation)
    given = [
        (cards[uuid], _share(cards[uuid], hold, ratios.get(uuid)))
        for uuid, hold in holds_of(allocation).items()
    ]
    written = {
        names.DEVICE_ALLOCATED: _device_allocated(given, minors),
        names.BIND_TIMESTAMP: str(now_ns),
        names.GPU_MINORS: encode_numbers(
            sorted(minors.get(card.uuid, card.index) for card, _ in given), names.GPU_MINORS
        ),
    }
    metax = [(card, share) for card, share in given if card.vendor is Vendor.METAX]
    if metax:
        metax.sort(key=lambda each: minors.get(each[0].uuid, each[0].index))
        written[ALLOCATED] = encode_given_per_pod([_given(card, share) for card, share in metax])
    return written


def device_allocated(
    allocation: Allocation, cards: Mapping[CardUuid, Card], minors: Mapping[CardUuid, int] = _NO_OTHERS
) -> dict[str, str]:
    """What a pod holds that asked in other words, told to koord-scheduler so that it does not sell it again.

    Percentages are rounded up: its pods that ask in percent are held against these alone.
    """
    given = [(cards[uuid], charged_share(cards[uuid], hold)) for uuid, hold in holds_of(allocation).items()]
    return {names.DEVICE_ALLOCATED: _device_allocated(given, minors)}


def charged_share(card: Card, hold: Hold) -> GpuShare:
    """What a hold takes of a card in Koordinator's units, never less than it is.

    A card without isolation is all anybody's who has it.
    """
    if card.mode is CardMode.SHARED:
        return GpuShare.of_ratio(100, 100, card.memory)
    memory = Bytes(min(hold.memory, card.memory))
    ratio = -(-memory * 100 // card.memory) if card.memory else 100
    return GpuShare(_core_percent(card, hold), memory, ratio)


def _device_allocated(given: Sequence[tuple[Card, GpuShare]], minors: Mapping[CardUuid, int]) -> str:
    devices = [
        AllocatedDevice(
            minor=minors.get(card.uuid, card.index), resources=share.resources(), id=str(card.uuid)
        )
        for card, share in given
    ]
    devices.sort(key=lambda device: device.minor)
    return encode_allocated({names.GPU: devices})


def _share(card: Card, hold: Hold, ratio: int | None) -> GpuShare:
    if ratio is not None:
        return GpuShare.of_ratio(_core_percent(card, hold), ratio, card.memory)
    return GpuShare.of_bytes(_core_percent(card, hold), Bytes(hold.memory), card.memory)


def _core_percent(card: Card, hold: Hold) -> int:
    """Of a Moore Threads card sixteenths are held, of which two are 12.5 percent."""
    return min(100, -(-hold.cores * 100 // card.cores)) if card.cores else 0


def _given(card: Card, share: GpuShare) -> GivenCard:
    if share.memory < MIB:
        raise WireError(
            "share-too-small",
            f"gpu memory must not be less than {MIB} bytes: card {card.uuid} would give {share.memory}",
        )
    return GivenCard(card.uuid, share.core_percent, floor_mib(share.memory))


def _asked_ratios(request: Request, allocation: Allocation) -> dict[CardUuid, int]:
    """The percent of each card that was asked for as a percent by exactly one container.

    Working it out from bytes would lose up to one percent.
    """
    asked: dict[CardUuid, list[int | None]] = {}
    for share, ask in _shares_with_asks(request, allocation):
        asked.setdefault(share.card, []).append(ask.memory_percent if ask.memory is None else None)
    return {
        card: ratio for card, ratios in asked.items() if len(ratios) == 1 and (ratio := ratios[0]) is not None
    }


def _shares_with_asks(request: Request, allocation: Allocation) -> Iterator[tuple[Share, Ask]]:
    for wanted, got in zip(request.containers, allocation.containers, strict=False):
        per_card = [ask for ask in wanted.asks for _ in range(ask.count)]
        yield from zip(got.shares, per_card, strict=False)
