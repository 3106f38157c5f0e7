"""Which product a PCI id is, as far as ids tell. An id nobody knows is its own name, as in the vendor's library."""

from __future__ import annotations

from typing import Final

import msgspec

from tangram.model.cards import Vendor
from tangram.units.memory import Bytes
from tangram.vendors.metax import products as metax
from tangram.vendors.mthreads import products as mthreads

VENDOR_OF_ID: Final = {0x9999: Vendor.METAX, 0x1ED5: Vendor.MTHREADS}

# Virtual functions have ids of their own. N100 cards break the rule of the others.
_FUNCTION_STEP: Final = 0x18
_FUNCTION_IDS: Final = {0x0A18: 0x0A01, 0x0A19: 0x0A03, 0x0A1B: 0x0A07}
_CATALOGUES: Final = {Vendor.METAX: metax.CATALOGUE, Vendor.MTHREADS: mthreads.CATALOGUE}


class Named(msgspec.Struct, frozen=True):
    name: str
    memory: Bytes | None = None
    is_function: bool = False


def product_of(vendor: Vendor, device: int) -> Named:
    """The product with that device id. Of two brandings that share one, the first of the vendor's list."""
    found = _by_id(vendor, device)
    if found is not None:
        return found
    if vendor is Vendor.METAX:
        parent = _by_id(vendor, _FUNCTION_IDS.get(device, device - _FUNCTION_STEP))
        if parent is not None:
            return Named(f"{parent.name} VF", None, is_function=True)
    return Named(f"0x{device:04x}")


def family_of(vendor: Vendor, product: str) -> str:
    """`MXC`, `MXN` or `MTT`; empty where the name does not tell."""
    if vendor is Vendor.MTHREADS:
        return "MTT"
    return product[:3] if product.startswith("MX") else ""


def _by_id(vendor: Vendor, device: int) -> Named | None:
    for product in _CATALOGUES[vendor].products:
        if int(product.pci_id.partition(":")[2], 16) == device:
            return Named(product.name, product.memory)
    return None
