"""What the kernel's own files say about a card: where it sits, which device nodes it has, how it is split.

The library is silent or vague about all of these. Absent files are ordinary (another kernel, a container with half a
sysfs) and give `NA`; only writing raises.
"""

from __future__ import annotations

import os
from errno import errorcode
from pathlib import Path
from typing import Final, NamedTuple

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml.settings import Settings
from tangram.drivers.pcie import addresses_in
from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.unusable_cards import Slicing, slicing_at, uuid_by_place
from tangram.model.devices import DeviceNodes
from tangram.units.ids import CardUuid
from tangram.units.na import NA, Maybe, NotAvailable

NATIVE_DRIVER: Final = "METAX"
HOST_DRIVER: Final = "MXGVM"
"""Binds physical functions to hand out virtual ones."""
CONTROL_NODE: Final = "mxcd"
_SLICE: Final = "sgpu"

SlicesOfCard = frozenset[tuple[str, int]]
"""By name and inode: a slice that was removed and made again is another, under the same number."""


class Place(NamedTuple):
    """Where a card sits."""

    path: tuple[str, ...] = ()
    numa: Maybe[int] = NA
    driver: str = ""
    nodes: DeviceNodes = DeviceNodes()


class BusListing(NamedTuple):
    devices: frozenset[str]
    held: frozenset[str]
    held_by_host: frozenset[str]


class Kernel:
    def __init__(self, settings: Settings) -> None:
        self._devices = f"{settings.sysfs_root}/bus/pci/devices"
        self._drivers = f"{settings.sysfs_root}/bus/pci/drivers"
        self._dev = settings.dev_root
        self._files = Files(Path(settings.sysfs_root))
        self._spots: dict[str, tuple[tuple[str, ...], Maybe[int]]] = {}

    def place(self, bdf: str) -> Place:
        """Everything about where the card is. Plain file calls: this is most of what a listing of cards costs.

        The kernel's link to a device names every bridge above it, so it need not be followed.
        """
        if not _plain(bdf):
            return Place()
        directory = f"{self._devices}/{bdf}"
        path, numa = self._spot(bdf, _target(directory))
        return Place(
            path=path,
            numa=numa,
            driver=_link_name(f"{directory}/driver"),
            nodes=self._nodes(directory),
        )

    def bus(self) -> BusListing:
        """All that is on the bus or held by the vendor's kernel drivers, which changes when a card comes or goes.

        Both, for a card leaves one after the other, and a library that looked in between must look once more.
        """
        folders = (self._devices, *(f"{self._drivers}/{driver}" for driver in (NATIVE_DRIVER, HOST_DRIVER)))
        return BusListing(*(frozenset(_unsorted(folder)) for folder in folders))

    def is_where(self, bdf: str, bus: BusListing) -> bool:
        """Whether a card is on the bus and held by the vendor's driver if and only if it was."""
        return self.has(bdf) == (bdf in bus.devices) and os.path.lexists(
            f"{self._drivers}/{NATIVE_DRIVER}/{bdf}"
        ) == (bdf in bus.held)

    def slices(self, bdf: str) -> SlicesOfCard:
        return _slices(f"{self._devices}/{bdf}/sgpu") if _plain(bdf) else frozenset()

    def held(self) -> list[str]:
        """The addresses that the vendor's kernel driver holds."""
        return [name for name in _names(f"{self._drivers}/{NATIVE_DRIVER}") if ":" in name]

    def has(self, bdf: str) -> bool:
        """Whether it is on the bus."""
        return _plain(bdf) and os.path.lexists(f"{self._devices}/{bdf}")

    def parent(self, bdf: str) -> str:
        """The address of the card a virtual function belongs to; empty for anything else."""
        return _link_name(f"{self._devices}/{bdf}/physfn") if _plain(bdf) else ""

    def uuid(self, bdf: str) -> Maybe[CardUuid]:
        """The name of a card that the library does not name: it reads it from the same file, of usable cards only."""
        return uuid_by_place(self._files, bdf)

    def slicing(self, bdf: str) -> Slicing:
        """Of a card whose slicing the library does not tell."""
        return slicing_at(self._files, bdf) if _plain(bdf) else Slicing()

    def virtual_functions(self, bdf: str) -> Maybe[int]:
        return self._number(bdf, "sriov_numvfs")

    def most_virtual_functions(self, bdf: str) -> Maybe[int]:
        return self._number(bdf, "sriov_totalvfs")

    def numvfs_file(self, bdf: str) -> str:
        return f"{self._devices}/{bdf}/sriov_numvfs"

    def write_virtual_functions(self, bdf: str, count: int) -> None:
        file = self.numvfs_file(bdf)
        try:
            # Opened without creating: a file that is not there must not appear on a wrong root.
            with Path(file).open("r+") as attribute:
                attribute.write(f"{count}\n")
        except OSError as error:
            raise _refusal(file, count, error) from error

    def _number(self, bdf: str, attribute: str) -> Maybe[int]:
        if not _plain(bdf):
            return NA
        try:
            descriptor = os.open(f"{self._devices}/{bdf}/{attribute}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return NA
        try:
            return int(os.read(descriptor, 64))
        except (OSError, ValueError):
            return NA
        finally:
            os.close(descriptor)

    def _spot(self, bdf: str, target: str) -> tuple[tuple[str, ...], Maybe[int]]:
        # A card under the same bridges is in the same slot, and a slot does not change its NUMA node.
        spot = self._spots.get(target)
        if spot is None:
            numa = self._number(bdf, "numa_node")
            spot = addresses_in(target), NA if isinstance(numa, NotAvailable) or numa < 0 else numa
            if target:
                self._spots[target] = spot
        return spot

    def _nodes(self, directory: str) -> DeviceNodes:
        names = [name for name in _names(f"{directory}/drm") if self._has_node(f"dri/{name}")]
        card = next((name for name in names if name.startswith("card")), "")
        render = next((name for name in names if name.startswith("renderD")), "")
        return DeviceNodes(
            control=f"/dev/{CONTROL_NODE}" if self._has_node(CONTROL_NODE) else "",
            card=card and f"/dev/dri/{card}",
            render=render and f"/dev/dri/{render}",
        )

    def _has_node(self, name: str) -> bool:
        return os.access(f"{self._dev}/{name}", os.F_OK)


def _names(directory: str) -> list[str]:
    return sorted(_unsorted(directory))


def _unsorted(directory: str) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - only names are wanted, not a Path for each
    except OSError:
        return []


def _slices(folder: str) -> SlicesOfCard:
    try:
        with os.scandir(folder) as entries:
            return frozenset([(one.name, one.inode()) for one in entries if one.name.startswith(_SLICE)])
    except OSError:
        return frozenset()


def _target(link: str) -> str:
    try:
        return os.readlink(link)  # noqa: PTH115 - only the text is wanted, see `place`
    except OSError:
        return ""


def _link_name(link: str) -> str:
    return _target(link).rpartition("/")[2]


def _plain(bdf: str) -> bool:
    # Comes from the library's memory and goes into a path.
    return bool(bdf) and "/" not in bdf and "\0" not in bdf and not bdf.startswith(".")


def _refusal(file: str, count: int, error: OSError) -> DriverError:
    kind = {
        "EBUSY": Kind.BUSY,
        "EACCES": Kind.NOT_PERMITTED,
        "EPERM": Kind.NOT_PERMITTED,
        "EROFS": Kind.NOT_PERMITTED,
        "ENOENT": Kind.NOT_SUPPORTED,
        "ENOSYS": Kind.NOT_SUPPORTED,
        "ENODEV": Kind.CARD_GONE,
        "ENOMEM": Kind.FULL,
        "ENOSPC": Kind.FULL,
        "ERANGE": Kind.INVALID,
        "EINVAL": Kind.INVALID,
    }.get(_errno_name(error), Kind.FAILED)
    return DriverError(
        kind, f"writing {count} to {file} failed: {error.strerror}", call=file, vendor_code=error.errno
    )


def _errno_name(error: OSError) -> str:
    return errorcode.get(error.errno or 0, "")
