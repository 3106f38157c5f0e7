"""What koord-scheduler writes on a pod at bind, for pods that asked in its words.

Koordinator counts per pod: containers that share a card become one entry of what they hold together at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tangram.engine.usage import holds_of
from tangram.model.allocations import Allocation, Share
from tangram.model.cards import Card, Vendor
from tangram.model.requests import Ask, Request
from tangram.units.ids import CardUuid
from tangram.units.memory import MIB, Bytes, floor_mib
from tangram.wire.card_numbers import encode_numbers
from tangram.wire.errors import WireError
from tangram.wire.koordinator import names
from tangram.wire.koordinator.allocated import AllocatedDevice, GpuShare, encode_allocated
from tangram.wire.metax_allocated import ALLOCATED, GivenCard, encode_given_per_pod


def koordinator_annotations(
    request: Request, allocation: Allocation, cards: Mapping[CardUuid, Card], now_ns: int
) -> dict[str, str]:
    """The annotations of a bind. Raises `WireError` for a MetaX share below 1 MiB, which the plugin cannot make."""
    ratios = _asked_ratios(request, allocation)
    given = [
        (cards[uuid], _share(cards[uuid], hold.cores, Bytes(hold.memory), ratios.get(uuid)))
        for uuid, hold in holds_of(allocation).items()
    ]
    given.sort(key=lambda each: each[0].index)
    devices = [
        AllocatedDevice(minor=card.index, resources=share.resources(), id=card.uuid) for card, share in given
    ]
    written = {
        names.DEVICE_ALLOCATED: encode_allocated({names.GPU: devices}),
        names.BIND_TIMESTAMP: str(now_ns),
        names.GPU_MINORS: encode_numbers((card.index for card, _ in given), names.GPU_MINORS),
    }
    metax = [(card, share) for card, share in given if card.vendor is Vendor.METAX]
    if metax:
        written[ALLOCATED] = encode_given_per_pod([_given(card, share) for card, share in metax])
    return written


def _share(card: Card, cores: int, memory: Bytes, ratio: int | None) -> GpuShare:
    core_percent = cores * 100 // card.cores if card.cores else 0
    if ratio is not None:
        return GpuShare.of_ratio(core_percent, ratio, card.memory)
    return GpuShare.of_bytes(core_percent, memory, card.memory)


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
