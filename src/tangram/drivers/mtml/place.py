"""Where a card sits, as the kernel tells it under /sys: what the vendor's library does not say, or not always."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tangram.drivers.pcie import addresses_in
from tangram.model.devices import DeviceNodes
from tangram.units.na import NA, Maybe

DEFAULT_SYSFS: Final = Path("/sys")
Bound = tuple[tuple[str, int], ...]
"""Cards that the kernel's driver holds: the bus address of each, with a number that is another after every binding."""
_NODE_NUMBER = re.compile(r"[0-9]{1,4}")
_DRM_CARD = re.compile(r"card[0-9]{1,4}")
_DRM_RENDER = re.compile(r"renderD[0-9]{1,4}")


def bound_cards(sysfs: Path) -> Bound:
    """The cards that mtgpu holds now. A card that was reset or whose module was loaded again reads as another one."""
    folder = sysfs / "bus" / "pci" / "drivers" / "mtgpu"
    try:
        addresses = sorted(child.name for child in folder.iterdir() if ":" in child.name)
    except OSError:
        return ()
    return tuple((address, _binding(folder / address)) for address in addresses)


def pcie_path(sysfs: Path, bdf: str) -> tuple[str, ...]:
    """Bus addresses from the root port down to the card; empty when the kernel does not list it."""
    if not bdf:
        return ()
    link = _device(sysfs, bdf)
    try:
        return addresses_in(str(link.resolve(strict=True)))
    except (OSError, RuntimeError):
        # RuntimeError is what a loop of links used to raise.
        return ()


def numa_node(sysfs: Path, bdf: str) -> Maybe[int]:
    """The card's NUMA node; the kernel's -1 is `NA`."""
    if not bdf:
        return NA
    try:
        text = (_device(sysfs, bdf) / "numa_node").read_text("ascii", errors="replace").strip()
    except OSError:
        return NA
    return int(text) if _NODE_NUMBER.fullmatch(text) else NA


def drm_nodes(sysfs: Path, bdf: str) -> DeviceNodes:
    """The card's display nodes, found by name under the device. They follow from no number of the card."""
    if not bdf:
        return DeviceNodes()
    try:
        names = sorted(child.name for child in (_device(sysfs, bdf) / "drm").iterdir())
    except OSError:
        return DeviceNodes()
    card = next((name for name in names if _DRM_CARD.fullmatch(name)), "")
    render = next((name for name in names if _DRM_RENDER.fullmatch(name)), "")
    return DeviceNodes(card=f"/dev/dri/{card}" if card else "", render=f"/dev/dri/{render}" if render else "")


def _binding(device: Path) -> int:
    """The inode of what mtgpu registered for the card, which the kernel makes at each binding; 0 for none."""
    try:
        return max((child.stat().st_ino for child in (device / "misc").iterdir()), default=0)
    except OSError:
        return 0


def _device(sysfs: Path, bdf: str) -> Path:
    return sysfs / "bus" / "pci" / "devices" / bdf
