"""How far apart two cards sit on PCIe, worked out from where the kernel puts them in its device tree.

The vendor's tool prints one word per pair (PIX, PXB, PHB, NODE, SYS) and no library call gives the same answer without
hardware to check it on, so every driver that knows bus addresses asks here. Nothing here reads a file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tangram.model.topology import PcieLevel
from tangram.units.na import Maybe, NotAvailable

LEVEL_OF_WORD: Final = {
    "PIX": PcieLevel.SINGLE_SWITCH,
    "PXB": PcieLevel.MULTIPLE_SWITCHES,
    "PHB": PcieLevel.HOST_BRIDGE,
    "NODE": PcieLevel.NUMA_NODE,
    "SYS": PcieLevel.SYSTEM,
}
"""The words of the vendors' topology matrices."""
WORD_OF_LEVEL: Final = {level: word for word, level in LEVEL_OF_WORD.items()}

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")


def addresses_in(resolved_path: str) -> tuple[str, ...]:
    """The bus addresses of a device's resolved sysfs path, from the root port down to the device."""
    return tuple(part for part in resolved_path.lower().split("/") if _ADDRESS.fullmatch(part))


def root_complex(path: Sequence[str]) -> str:
    """The root complex above a path of such addresses, as the kernel calls it (`pci0000:0a`); empty for no path."""
    return f"pci{_bus(path[0])}" if path else ""


def level_between(
    one: Sequence[str], other: Sequence[str], numa_of_one: Maybe[int], numa_of_other: Maybe[int]
) -> PcieLevel:
    """Where two devices meet, given the addresses from the root port down to each and their NUMA nodes.

    Behind one switch they differ only in the switch's downstream port and in themselves; deeper apart but under one
    root port, more bridges lie between. Without NUMA nodes the two sides of a machine cannot be told from one.
    """
    if not one or not other:
        return PcieLevel.UNKNOWN
    if _slot(one[-1]) == _slot(other[-1]):
        return PcieLevel.INTERNAL
    shared = _shared(one, other)
    if shared:
        near = shared >= len(one) - 2 and shared >= len(other) - 2
        return PcieLevel.SINGLE_SWITCH if near else PcieLevel.MULTIPLE_SWITCHES
    if _bus(one[0]) == _bus(other[0]):
        return PcieLevel.HOST_BRIDGE
    if _unknown(numa_of_one) or _unknown(numa_of_other):
        return PcieLevel.UNKNOWN
    return PcieLevel.NUMA_NODE if numa_of_one == numa_of_other else PcieLevel.SYSTEM


def _unknown(numa: Maybe[int]) -> bool:
    # The kernel writes -1 where the firmware says nothing.
    return isinstance(numa, NotAvailable) or numa < 0


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def _slot(address: str) -> str:
    return address.rpartition(".")[0]


def _bus(address: str) -> str:
    return address.rpartition(":")[0]
