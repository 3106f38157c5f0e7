"""PCI functions of the two vendors, and what any PCI device tells about itself."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from tangram.drivers.pcie import addresses_in
from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.products import VENDOR_OF_ID, Named, product_of
from tangram.model.cards import Vendor
from tangram.model.devices import DriverMode, SriovState
from tangram.units.ids import IdError, pci_bus_id
from tangram.units.na import NA, Maybe, NotAvailable

DEVICES: Final = "bus/pci/devices"

_MULTIMEDIA: Final = 0x04
_BRIDGE: Final = 0x06
_NATIVE: Final = {"METAX", "mtgpu"}
_HOST_OF_FUNCTIONS: Final = "MXGVM"


class PciFunction(msgspec.Struct, frozen=True, kw_only=True):
    bdf: str
    folder: str
    """Where its files are."""
    vendor: Vendor
    named: Named
    numa: Maybe[int] = NA
    path: tuple[str, ...] = ()
    """Bus addresses from the root port down to it."""
    kernel_driver: Maybe[str] = NA
    parent: str = ""
    """The bus address of the card whose virtual function it is."""
    total_functions: Maybe[int] = NA
    functions: Maybe[int] = NA
    card_node: str = ""
    render_node: str = ""

    @property
    def mode(self) -> Maybe[DriverMode]:
        if self.kernel_driver == _HOST_OF_FUNCTIONS:
            return DriverMode.CLOUD
        return DriverMode.NATIVE if self.kernel_driver in _NATIVE else NA

    @property
    def sriov(self) -> Maybe[SriovState]:
        """Without a driver nobody has asked the firmware yet."""
        if self.parent or isinstance(self.kernel_driver, NotAvailable):
            return NA
        if isinstance(self.total_functions, NotAvailable) or self.total_functions == 0:
            return SriovState.FORBIDDEN
        return SriovState.ON if isinstance(self.functions, int) and self.functions else SriovState.OFF

    @property
    def split(self) -> Maybe[int]:
        """How many virtual functions it is split into. One that cannot be split is split into none, which the kernel
        does not write down; so the vendor's library has it too.
        """
        cannot = self.sriov is SriovState.FORBIDDEN and not self.named.is_function
        return 0 if cannot and isinstance(self.functions, NotAvailable) else self.functions


def read_functions(files: Files) -> tuple[PciFunction, ...]:
    """Every card and virtual function of either vendor, by bus address."""
    folder = files.root / DEVICES
    found = [_function(files, folder / name) for name in files.names(folder)]
    return tuple(sorted((each for each in found if each is not None), key=_order))


def read_function(files: Files, bdf: str) -> PciFunction | None:
    """The one at that bus address."""
    return _function(files, files.root / DEVICES / bdf)


def _order(function: PciFunction) -> tuple[int, str, str]:
    return len(function.bdf), function.bdf, function.folder


def _function(files: Files, path: Path) -> PciFunction | None:
    vendor_id = files.hexadecimal(path / "vendor")
    vendor = None if isinstance(vendor_id, NotAvailable) else VENDOR_OF_ID.get(vendor_id)
    device = files.hexadecimal(path / "device")
    kind = files.hexadecimal(path / "class")
    # A board's sound function has the vendor's id too, and so would a bridge on it.
    if isinstance(kind, int) and kind >> 16 in (_MULTIMEDIA, _BRIDGE):
        return None
    if vendor is None or isinstance(device, NotAvailable):
        return None
    try:
        bdf = str(pci_bus_id(path.name))
    except IdError:
        return None
    numa = files.whole(path / "numa_node")
    drm = files.names(path / "drm")
    parent = files.target(path / "physfn")
    return PciFunction(
        bdf=bdf,
        folder=str(path),
        vendor=vendor,
        named=product_of(vendor, device),
        # The kernel writes -1 where the firmware says nothing.
        numa=numa if isinstance(numa, int) and numa >= 0 else NA,
        path=addresses_in(files.resolved(path)),
        kernel_driver=files.target(path / "driver"),
        parent="" if isinstance(parent, NotAvailable) else parent,
        total_functions=files.whole(path / "sriov_totalvfs"),
        functions=files.whole(path / "sriov_numvfs"),
        card_node=next((name for name in drm if name.startswith("card")), ""),
        render_node=next((name for name in drm if name.startswith("renderD")), ""),
    )
