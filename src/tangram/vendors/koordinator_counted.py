"""Koordinator's words of a running container, whatever is wrong with them: what each of its cards has lost."""

import msgspec

from tangram.model.pods import Container
from tangram.units.memory import Bytes, floor_mib, from_mib
from tangram.units.quantity import QuantityError, parse_quantity
from tangram.vendors.amounts import LARGEST_MEMORY, counted
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_GPU, KOORDINATOR_MEMORY, KOORDINATOR_RATIO

_ALL = 100
"""Percent of one card."""


class CountedPerCard(msgspec.Struct, frozen=True, kw_only=True):
    core_percent: int = _ALL
    memory: Bytes | None = None
    """`None` when `memory_percent` says it."""
    memory_percent: int = _ALL


def counted_per_card(container: Container, count: int) -> CountedPerCard:
    """Totals shared out over the cards that the kubelet gave, rounded up; all of a card where nothing is stated."""
    both = counted(container, KOORDINATOR_GPU)
    core = counted(container, KOORDINATOR_CORE) if both is None else both
    ratio = counted(container, KOORDINATOR_RATIO) if both is None else both
    memory = None if both is not None else _memory(container, count)
    return CountedPerCard(
        core_percent=_share(core, count),
        memory=memory,
        memory_percent=_ALL if memory else _share(ratio, count),
    )


def _share(total: int | None, count: int) -> int:
    return min(-(-total // count), _ALL) if total else _ALL


def _memory(container: Container, count: int) -> Bytes | None:
    text = container.limits.get(KOORDINATOR_MEMORY, container.requests.get(KOORDINATOR_MEMORY))
    if text is None:
        return None
    try:
        total = parse_quantity(text).value()
    except QuantityError:
        return None
    each = floor_mib(Bytes(min(max(total, 0) // count, LARGEST_MEMORY)))
    return from_mib(each) if each else None
