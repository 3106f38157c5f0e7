"""Cards and slices on which processes work that the library does not list.

The library leaves out processes that have no number in its PID namespace: in a container, all processes of the host.
The kernel driver still shows that they have rings of commands, and on which card or slice. A list that lacks them is no
list, and a slice that they are in is not idle. Where even that cannot be read, no card's list is complete.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.layout import class_root
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.vendors.metax.products import MOST_SLICES

_NOT_WORK: Final = 1
"""The type of a ring that no commands go through."""
_MOST: Final = 4096


class Unseen(NamedTuple):
    """Where processes work that have no number in this PID namespace."""

    gids: frozenset[int] = frozenset()
    """Cards and slices, by the kernel driver's numbers."""
    elsewhere: bool = False
    """Whether some of them may be on cards that are not among these."""


class Rings:
    """Reads the kernel driver's files about processes. Cards and slices have the numbers that it gives them."""

    def __init__(self, sysfs_root: str) -> None:
        self._files = Files(Path(sysfs_root))
        self._devices = self._files.root / "bus/pci/devices"

    def unseen(self) -> Unseen:
        """The cards and slices that processes without a number in this namespace use."""
        root = class_root(self._files)
        if root is None:
            return Unseen()
        folder = root / "proc"
        processes = [folder / name for name in self._files.names(folder)]
        found = [self._rings(process / "ringbuf") for process in processes[:_MOST] if self._hidden(process)]
        return Unseen(
            frozenset(gid for gids in found if not isinstance(gids, NotAvailable) for gid in gids),
            elsewhere=len(processes) > _MOST or any(isinstance(gids, NotAvailable) for gids in found),
        )

    def of_slice(self, bdf: str, slice_id: int) -> Maybe[int]:
        return self._files.whole(self._devices / bdf / f"sgpu/sgpu{slice_id}/gpu_id")

    def of_slices(self, bdf: str) -> frozenset[int]:
        found = (self.of_slice(bdf, number) for number in range(MOST_SLICES))
        return frozenset(gid for gid in found if not isinstance(gid, NotAvailable))

    def _hidden(self, process: Path) -> bool:
        """One whose number cannot be read counts, unless it has ended in the meantime."""
        number = self._files.whole(process / "nspid")
        return number == 0 or (isinstance(number, NotAvailable) and process.is_dir())

    def _rings(self, folder: Path) -> Maybe[list[int]]:
        """Where a process works; `NA` where that cannot be read of one that is still there."""
        found: list[int] = []
        for name in self._files.names(folder):
            kind = self._files.whole(folder / name / "type")
            if kind == _NOT_WORK:
                continue
            gid = self._files.whole(folder / name / "gpuid")
            if isinstance(kind, NotAvailable) or isinstance(gid, NotAvailable):
                if (folder / name).is_dir():
                    return NA
                continue
            found.append(gid)
        return found if folder.is_dir() or not folder.parent.is_dir() else NA
