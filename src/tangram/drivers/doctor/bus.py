"""Which cards sit in this machine at all, whatever software knows of them: asked of PCI."""

from __future__ import annotations

from typing import Final, NamedTuple

from tangram.drivers.doctor.machine import Machine
from tangram.model.cards import Vendor

DEVICES: Final = "/sys/bus/pci/devices"
VENDOR_IDS: Final = {"0x9999": Vendor.METAX, "0x1ed5": Vendor.MTHREADS}
_GPU_CLASSES: Final = ("0x0300", "0x0302", "0x0380", "0x1200")
"""A Moore Threads board also shows an audio function, which is no card."""


class BusCards(NamedTuple):
    metax: tuple[str, ...]
    mthreads: tuple[str, ...]

    def of(self, vendor: Vendor) -> tuple[str, ...]:
        return self.metax if vendor is Vendor.METAX else self.mthreads


def cards_on_bus(machine: Machine) -> BusCards:
    """Bus addresses per vendor. A machine without PCI has none."""
    found: dict[Vendor, list[str]] = {Vendor.METAX: [], Vendor.MTHREADS: []}
    for address in machine.names(DEVICES):
        vendor = VENDOR_IDS.get((machine.text(f"{DEVICES}/{address}/vendor") or "").lower())
        if vendor is None:
            continue
        kind = (machine.text(f"{DEVICES}/{address}/class") or "").lower()
        if vendor is Vendor.METAX or not kind or kind.startswith(_GPU_CLASSES):
            found[vendor].append(address)
    return BusCards(tuple(found[Vendor.METAX]), tuple(found[Vendor.MTHREADS]))
