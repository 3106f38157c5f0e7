"""Cards and slices on which processes work that the library does not list.

The library leaves out processes that have no number in its namespace: in a container, all processes of the host. The
kernel driver still shows that they have rings of commands, and on which card or slice. A list that lacks them is no
list, and a slice that they are in is not idle.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.layout import class_root
from tangram.units.na import Maybe, NotAvailable
from tangram.vendors.metax.products import MOST_SLICES

_NOT_WORK: Final = 1
"""The type of a ring that no commands go through."""
_MOST: Final = 4096


class Rings:
    """Reads the kernel driver's files about processes. Cards and slices have the numbers that it gives them."""

    def __init__(self, sysfs_root: str) -> None:
        self._files = Files(Path(sysfs_root))
        self._devices = self._files.root / "bus/pci/devices"

    def unseen(self) -> frozenset[int]:
        """The cards and slices that processes without a number in this namespace use."""
        files, root = self._files, class_root(self._files)
        if root is None:
            return frozenset()
        processes = root / "proc"
        hidden = [
            name for name in files.names(processes)[:_MOST] if files.whole(processes / name / "nspid") == 0
        ]
        return frozenset(gid for name in hidden for gid in self._rings(processes / name / "ringbuf"))

    def of_slice(self, bdf: str, slice_id: int) -> Maybe[int]:
        return self._files.whole(self._devices / bdf / f"sgpu/sgpu{slice_id}/gpu_id")

    def of_slices(self, bdf: str) -> frozenset[int]:
        found = (self.of_slice(bdf, number) for number in range(MOST_SLICES))
        return frozenset(gid for gid in found if not isinstance(gid, NotAvailable))

    def _rings(self, folder: Path) -> list[int]:
        kinds = {name: self._files.whole(folder / name / "type") for name in self._files.names(folder)}
        working = [name for name, kind in kinds.items() if isinstance(kind, int) and kind != _NOT_WORK]
        found = (self._files.whole(folder / name / "gpuid") for name in working)
        return [gid for gid in found if isinstance(gid, int)]
