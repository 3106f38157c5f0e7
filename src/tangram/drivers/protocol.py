"""The one interface every way of reaching cards implements.

Reading never raises for a missing figure; it raises `DriverError` only when the thing asked about is not there at all.
Changing (slices, virtual functions) either happens or raises. All methods may be called from several threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes


class Driver(Protocol):
    @property
    def name(self) -> str:
        """How people name it on the command line: `mxsml`, `mx-smi`, `sysfs`, `mtml`, `gmi`, `simulated`."""
        ...

    def devices(self) -> Sequence[Device]:
        """Every card there is, in the vendor's order. Looks again each time; raises when the driver is not there."""
        ...

    def links(self, devices: Sequence[Device]) -> LinkReport:
        """How those devices are joined."""
        ...

    def figures(self, uuid: CardUuid) -> Figures:
        """Live figures of one card."""
        ...

    def health(self) -> Mapping[CardUuid, Health]:
        """Every card's health, cheap enough to ask every few seconds. A card that vanished is reported, not missing."""
        ...

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        """Slices that exist on a card now."""
        ...

    def room(self, uuid: CardUuid) -> SliceRoom:
        """What can still be sliced off a card."""
        ...

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        """Make a slice. Refuses what the kernel would round or overcommit.

        An online one may suspend the others of its card, and may have 0 % of compute. Whatever fails on the way, no
        slice is left behind.
        """
        ...

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        """Change a slice's quotas; what is None stays."""
        ...

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        """How the slices of a card share its compute."""
        ...

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        """Remove a slice nobody uses; raises `busy` for one in use."""
        ...

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        """Switch a card between whole and slices; refuses with `busy` while anybody uses it or slices exist.

        A card that is there already is left alone.
        """
        ...

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        """Split a card into that many virtual functions; 0 joins it again."""
        ...

    def close(self) -> None:
        """Give back what the driver holds; it is not used afterwards."""
        ...
