"""Moore Threads models as the vendor's library names them, and a server that was seen in the field.

Which pairs of an S4000 server are joined is not known, so there is no layout for it.
"""

from typing import Final

from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.memory import Bytes, from_gib
from tangram.vendors.products import Catalogue, Product, ServerLayout

CORES_PER_CARD: Final = 16
"""Compute of a card in `sgpu-core` units, whatever the model."""
MOST_SLICES: Final = 16
"""Slices the kernel module makes of one card."""


def takes_all(cores: int, memory: Bytes | None, percent: int = 100) -> bool:
    """Whether a slice leaves nothing of its card to another; `percent` is of its memory, where no size is stated."""
    return cores == CORES_PER_CARD or (memory is None and percent == 100)


def _product(name: str, device: str, memory: Bytes | None = None) -> Product:
    return Product(name=name, pci_id=f"1ed5:{device}", memory=memory)


CATALOGUE: Final = Catalogue(
    "MTT ",
    (
        _product("MTT S5000", "0400", from_gib(80)),
        # The S5000 under another name and with the same PCI id.
        _product("X10000", "0400", from_gib(80)),
        _product("MTT S4000", "0323", from_gib(48)),
        _product("MTT S3000", "0222", from_gib(32)),
        _product("MTT S80", "0201", from_gib(16)),
        _product("MTT S70", "0202"),
        _product("MTT S2000", "0123"),
        _product("MTT S1000", "0122"),
    ),
)

S5000_MESH: Final = ServerLayout(
    name="S5000 x8, full mesh of two links",
    islands=((0, 1, 2, 3, 4, 5, 6, 7),),
    link=LinkKind.MTLINK,
    lanes=2,
    numa=(0, 0, 0, 0, 1, 1, 1, 1),
    near=PcieLevel.NUMA_NODE,
)
LAYOUTS: Final = (S5000_MESH,)
