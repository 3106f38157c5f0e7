"""A made-up `/sys` and `/dev` with Moore Threads cards, as the kernel driver mtgpu shows them.

The sysfs driver and the vendor's library read it; what the library asks the driver itself is answered by the stand-in
`tests/native/mtml/kernel.c` out of the same `Machine` that the twin shows. The library 1.5.0 looks for control nodes by
name, then for the device whose `misc` folder has one of that name.
"""

import os
import struct
from pathlib import Path

from builders.mtml_twin import Machine, TwinCard
from builders.sysfs_tree import Tree

DRIVER = "mtgpu"
DEVICE_IDS = {"MTT S3000": "0x0222", "MTT S4000": "0x0323"}
_NODE_BYTES = 1 << 16
"""The library maps memory of a node, which a plain file must have."""


def grow(machine: Machine, root: Path) -> Tree:
    """The tree of that machine below `root`, in `sys` and `dev`."""
    tree = Tree(root)
    drivers = tree.sys / "bus/pci/drivers" / DRIVER
    drivers.mkdir(parents=True)
    # The library looks there for virtual functions, and fails where it cannot look.
    (tree.sys / "class").mkdir()
    for card in machine.cards:
        folder = _device(tree, card)
        bind(folder, drivers, card.number)
        for name in (f"mtgpu.{card.number}", f"dri/card{card.number + 1}", f"dri/renderD{card.number + 128}"):
            (tree.dev / name).write_bytes(bytes(_NODE_BYTES))
    return tree


def bind(folder: Path, drivers: Path, number: int) -> None:
    """What the kernel makes when its driver takes a card."""
    (folder / "misc" / f"mtgpu.{number}").mkdir(parents=True)
    link = drivers / folder.name
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(folder, drivers))


def bdf_of(card: TwinCard) -> str:
    """As the kernel writes it, with four digits before the bus."""
    return card.sbdf.removeprefix("0000")


def _device(tree: Tree, card: TwinCard) -> Path:
    """The card, behind a root port of its own."""
    bus = int(card.sbdf.split(":")[1], 16)
    port = f"pci0000:00/0000:00:{card.number + 1:02x}.0"
    bridge = {"vendor": "0x8086", "device": "0x347a", "class": "0x060400"}
    near = {
        "local_cpulist": f"{16 * max(card.numa, 0)}-{16 * max(card.numa, 0) + 15}",
        "resource": "\n".join(["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 13),
        "irq": "0",
    }
    folder = tree.card(port, bridge, driver=None, numa=card.numa, files=near)
    (folder / "config").write_bytes(_config(0x347A8086, 0x0604, bus=bus))
    ids = {"vendor": "0x1ed5", "device": DEVICE_IDS[card.name], "class": "0x030000"}
    link = {
        f"{when}_link_{what}": text
        for when in ("max", "current")
        for what, text in (("speed", "32.0 GT/s PCIe"), ("width", "16"))
    }
    folder = tree.card(
        f"{port}/{bdf_of(card)}", ids, driver=DRIVER, numa=card.numa, minor=card.number, files=near | link
    )
    (folder / "config").write_bytes(_config(int(DEVICE_IDS[card.name], 16) << 16 | 0x1ED5, 0x0300))
    return folder


def _config(identity: int, kind: int, *, bus: int | None = None) -> bytes:
    """PCI configuration space of a card, or of the bridge before a bus, with the capability that is PCI Express."""
    space = bytearray(256)
    struct.pack_into("<I", space, 0x00, identity)
    struct.pack_into("<H", space, 0x06, 0x10)
    struct.pack_into("<H", space, 0x0A, kind)
    if bus is not None:
        struct.pack_into("<B", space, 0x0E, 1)
        struct.pack_into("<BBB", space, 0x18, 0, bus, bus)
    struct.pack_into("<B", space, 0x34, 0x40)
    # A root port of the first kind, or an end.
    struct.pack_into("<HH", space, 0x40, 0x10, 0x42 if bus is not None else 0x02)
    return bytes(space)
