"""What every driver that only reads answers to a request for a change: no, in words that name the change."""

from __future__ import annotations

from tangram.drivers.errors import DriverError, Kind
from tangram.model.cards import QosPolicy
from tangram.model.devices import Slice
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, memory_text


class ReadOnly:
    """The changing half of the driver interface, refused."""

    means: str = "this driver"
    """How people speak of the way the cards are read."""

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        called = f" called {name!r:.40}" if name else ""
        kind = "an online slice" if online else "a slice"
        change = f"make {kind} of {memory_text(memory)} and {cores} of compute{called} on {uuid}"
        raise self._refusal("create_slice", change)

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        wanted = [memory_text(memory)] if memory is not None else []
        wanted += [f"{cores} of compute"] if cores is not None else []
        change = f"resize slice {slice_id} of {uuid} to {' and '.join(wanted) or 'what it is'}"
        raise self._refusal("resize_slice", change)

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        raise self._refusal("set_policy", f"let the slices of {uuid} share it by {policy}")

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        raise self._refusal("remove_slice", f"remove slice {slice_id} of {uuid}")

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        raise self._refusal("set_sliced", f"switch {uuid} to {'slices' if on else 'one whole card'}")

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        raise self._refusal("set_virtual_functions", f"split {uuid} into {count} virtual functions")

    def _refusal(self, call: str, change: str) -> DriverError:
        sentence = f"{self.means} only reads, and cannot {change}; changes need the vendor's library"
        return DriverError(Kind.NOT_SUPPORTED, sentence, call=call)
