"""What a Moore Threads container is given: variables that the vendor's runtime reads, because it makes the slice.

Memory is in bytes, compute as a weight against the other slices of the card; we write the sixteenths that were granted,
so weights of one card are on one scale. The two `ALLOCATED` variables repeat the units for people and for the vendor's
tools.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tangram.model.devices import Device
from tangram.units.memory import SGPU_MEMORY_UNIT, Bytes
from tangram.vendors.mthreads.products import CORES_PER_CARD

VISIBLE: Final = "MTHREADS_VISIBLE_DEVICES"
MEMORY_LIMIT: Final = "MTHREADS_QOS_MEMORY_LIMIT"
WEIGHT: Final = "MTHREADS_QOS_COMPUTING_POWER_WEIGHT"
MEMORY_UNITS: Final = "MTHREADS_ALLOCATED_SGPU_MEMORY_DEVICES"
CORE_UNITS: Final = "MTHREADS_ALLOCATED_SGPU_CORE_DEVICES"

_WEIGHT_OF_ALL = 9999
"""The module reads at most five characters, of which the runtime may end the line with one."""
_CONTROL_NODE = re.compile(r"/dev/mtgpu\.([0-9]{1,4})")


def card_number(device: Device) -> int:
    """The number by which Moore Threads' runtime knows a card: that of its control node."""
    found = _CONTROL_NODE.fullmatch(device.nodes.control)
    return int(found[1]) if found else device.index


def whole_environment(numbers: Sequence[int]) -> dict[str, str]:
    """Whole cards by their physical numbers, which the runtime takes literally."""
    return {VISIBLE: ",".join(str(number) for number in sorted(numbers))}


def slice_environment(
    numbers: Sequence[int], memory: Bytes, cores: int, *, limited: bool = False
) -> dict[str, str]:
    """A part of each card: `memory` and `cores` are of one card, the units are of all of them.

    Under fixed share (`limited`) the module gives every empty slot a turn of weight 1. A slice with n of 16 then has n
    of at least 16 turns, which makes it a ceiling; one with all of the compute has no neighbour, and weighs so much
    that the empty slots do not matter.
    """
    cards = max(1, len(numbers))
    weight = _WEIGHT_OF_ALL if limited and cores >= CORES_PER_CARD else max(1, cores)
    return {
        **whole_environment(numbers),
        MEMORY_LIMIT: str(memory),
        WEIGHT: str(weight),
        MEMORY_UNITS: str(memory * cards // SGPU_MEMORY_UNIT),
        CORE_UNITS: str(cores * cards),
    }
