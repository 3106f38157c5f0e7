"""Cards and slices on which processes work that the library does not list.

The library leaves out processes that have no number in its PID namespace: in a container, all processes of the host.
Older ones leave out processes in slices, and all of them those in slices made since they last looked and those without
memory. The kernel driver still shows that they have rings of commands, and on which card or slice. A list that lacks
them is no list, and a slice that they are in is not idle. Where even that cannot be read, no card's list is complete.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tangram.drivers.sysfs.files import Files
from tangram.drivers.sysfs.layout import CLASS_ROOTS
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


class ProcessSnapshot:
    """The processes that the kernel driver shows at one moment. Reads of each only what is asked for."""

    def __init__(self, files: Files, folder: Path, names: Sequence[str]) -> None:
        self._files = files
        self._processes = [folder / name for name in names[:_MOST]]
        self._more = len(names) > _MOST
        self._working: Maybe[Mapping[int, tuple[int, ...]]] | None = None

    def unseen(self) -> Unseen:
        """The cards and slices that processes without a number in this namespace use."""
        found = [self._rings(process / "ringbuf") for process in self._processes if self._hidden(process)]
        return Unseen(
            frozenset(gid for gids in found if not isinstance(gids, NotAvailable) for gid in gids),
            elsewhere=self._more or any(isinstance(gids, NotAvailable) for gids in found),
        )

    def working(self) -> Maybe[Mapping[int, tuple[int, ...]]]:
        """The processes that work on each card and slice, 0 for one without a number; `NA` where not all are known."""
        if self._working is None:
            self._working = self._read_all()
        return self._working

    def _read_all(self) -> Maybe[Mapping[int, tuple[int, ...]]]:
        found: dict[int, tuple[int, ...]] = {}
        for process in self._processes:
            gids = self._rings(process / "ringbuf")
            if isinstance(gids, NotAvailable):
                return NA
            number = self._files.whole(process / "nspid")
            pid = 0 if isinstance(number, NotAvailable) or number < 0 else number
            for gid in set(gids):
                found[gid] = (*found.get(gid, ()), pid)
        return NA if self._more else found

    def _hidden(self, process: Path) -> bool:
        """One whose number cannot be read counts, unless it has ended in the meantime."""
        number = self._files.whole(process / "nspid")
        return process.is_dir() if isinstance(number, NotAvailable) else number <= 0

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


class Rings:
    """Reads the kernel driver's files about processes. Cards and slices have the numbers that it gives them."""

    def __init__(self, sysfs_root: str) -> None:
        self._files = Files(Path(sysfs_root))
        self._devices = self._files.root / "bus/pci/devices"
        self._folders = [self._files.root / root / "proc" for root in CLASS_ROOTS]

    def snapshot(self) -> ProcessSnapshot | None:
        """The processes there are; None where the kernel driver has no files about processes."""
        for folder in self._folders:
            try:
                return ProcessSnapshot(self._files, folder, sorted(os.listdir(folder)))  # noqa: PTH208 - names are wanted
            except OSError:
                continue
        return None

    def of_slice(self, bdf: str, slice_id: int) -> Maybe[int]:
        return self._files.whole(self._devices / bdf / f"sgpu/sgpu{slice_id}/gpu_id")

    def of_slices(self, bdf: str) -> Mapping[int, int]:
        """The slice of each of the card's numbers."""
        found = {self.of_slice(bdf, number): number for number in range(MOST_SLICES)}
        return {gid: number for gid, number in found.items() if not isinstance(gid, NotAvailable)}

    def is_nameless(self, bdf: str, slice_id: int) -> bool:
        """Whether the kernel driver's file of the slice's name can be read and is empty."""
        return self._files.label(self._devices / bdf / f"sgpu/sgpu{slice_id}/alias") == ""
