"""MetaX models by PCI id as the vendor's library knows them, and servers that were seen in the field."""

from typing import Final

from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.memory import Bytes, from_gib, from_mib
from tangram.vendors.products import Catalogue, Product, ServerLayout

MOST_SLICES: Final = 16
"""Slices the driver makes of one card."""
MEMORY_STEP: Final = from_mib(128)
"""The driver makes slices in steps of this."""
VIRTUAL_FUNCTION_COUNTS: Final = (1, 2, 4, 8)


def whole_steps(memory: int) -> Bytes:
    """As much of it as slices can have: the rest is less than a step."""
    return Bytes(memory // MEMORY_STEP * MEMORY_STEP)


def _product(name: str, device: str, memory: Bytes | None = None, quota: Bytes | None = None) -> Product:
    sliceable = None if quota is None else whole_steps(quota)
    return Product(name=name, pci_id=f"9999:{device}", memory=memory, sliceable=sliceable)


CATALOGUE: Final = Catalogue(
    "MX",
    (
        # What mx-smi of a real one answers as `total vram quota`. Of no other model the figure is public.
        _product("MXC500", "4001", from_gib(64), quota=from_mib(64581)),
        _product("MXC500-P", "4011"),
        _product("MXC500X", "4040"),
        _product("MXC550", "4000", from_gib(64)),
        _product("MXC550-P", "4004"),
        _product("MXC550-PL", "4006"),
        _product("MXC588", "4020"),
        # From a single report, of one enumerated device.
        _product("MXC600", "4100", from_mib(73728)),
        _product("MXC280", "4081", from_gib(64)),
        _product("MXC290", "4080"),
        _product("MXN260", "4083", from_gib(64)),
        _product("MXN100", "0a01"),
        _product("MXN100V", "0a03"),
        _product("MXN100E", "0a07"),
    ),
)

C500_BRIDGED: Final = ServerLayout(
    name="C500 x8, bridged four and four",
    islands=((0, 1, 2, 3), (4, 5, 6, 7)),
    link=LinkKind.METAXLINK,
    numa=(0, 0, 0, 0, 1, 1, 1, 1),
    near=PcieLevel.NUMA_NODE,
)
C500_FOUR: Final = ServerLayout(
    name="C500 x4, bridged",
    islands=((0, 1, 2, 3),),
    link=LinkKind.METAXLINK,
    numa=(0, 0, 0, 0),
    near=PcieLevel.NUMA_NODE,
)
C550_OAM: Final = ServerLayout(
    name="C550 x8, full mesh",
    islands=((0, 1, 2, 3, 4, 5, 6, 7),),
    link=LinkKind.METAXLINK,
    numa=(0, 0, 2, 2, 4, 4, 6, 6),
    near=PcieLevel.NUMA_NODE,
)
LAYOUTS: Final = (C500_BRIDGED, C500_FOUR, C550_OAM)
