"""Virtual functions: splitting a card for virtual machines and joining it again, through the kernel's own switch."""

from __future__ import annotations

from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml import functions
from tangram.drivers.mxsml.binding import Binding
from tangram.drivers.mxsml.kernel import Kernel
from tangram.drivers.mxsml.processes import require_idle
from tangram.drivers.mxsml.sightings import Sighting
from tangram.units.na import NotAvailable
from tangram.vendors.metax.products import MOST_SLICES

COUNTS: Final = (0, 1, 2, 4, 8)


def check_count(count: int) -> None:
    """Refuse a number of parts that no card can be split into."""
    if count not in COUNTS:
        raise DriverError(
            Kind.INVALID,
            f"a card cannot be split into {count} virtual functions; take 1, 2, 4 or 8, or 0 to join it again",
        )


def split(binding: Binding, kernel: Kernel, seen: Sighting, count: int) -> bool:
    """Split the card into that many parts; whether anything changed. The kernel goes through 0 between two numbers."""
    if seen.mode == functions.VIRTUAL:
        raise DriverError(
            Kind.INVALID, f"{seen.uuid} is itself a virtual function; only a whole card can be split"
        )
    now, most = kernel.virtual_functions(seen.bdf), kernel.most_virtual_functions(seen.bdf)
    file = kernel.numvfs_file(seen.bdf)
    if isinstance(now, NotAvailable) or isinstance(most, NotAvailable) or most == 0:
        raise DriverError(
            Kind.NOT_SUPPORTED,
            f"card {seen.number} offers no virtual functions: its firmware or kernel driver does not do SR-IOV",
            call=file,
        )
    if count > most:
        raise DriverError(
            Kind.INVALID,
            f"card {seen.number} can be split into {most} virtual functions, not {count}",
            call=file,
        )
    if now == count:
        return False
    _require_unused(binding, seen)
    binding.library.entering(f"write {file}")
    if now:
        kernel.write_virtual_functions(seen.bdf, 0)
    if count:
        kernel.write_virtual_functions(seen.bdf, count)
    return True


def _require_unused(binding: Binding, seen: Sighting) -> None:
    if binding.count("GetSgpuCount", seen.number, most=MOST_SLICES):
        raise DriverError(
            Kind.BUSY, f"card {seen.number} has slices, which exclude virtual functions; remove them"
        )
    require_idle(binding, seen)
