"""The simulated node behind the interface every driver has, with the troubles of real ones.

A call takes as long as described, fails while the description says so, and gives up on a card that hangs; only then
does the world answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.description import Call, CardSpec, Fault
from tangram.drivers.simulated.refusing import label
from tangram.drivers.simulated.world import World
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes

NAME: Final = "simulated"


class SimulatedDriver:
    """Cards of one `World`. `sleep` is how time passes while a call takes its time."""

    def __init__(self, world: World, sleep: Callable[[float], None] = time.sleep) -> None:
        self.world = world
        self.sleep = sleep

    @property
    def name(self) -> str:
        return NAME

    def devices(self) -> Sequence[Device]:
        self._enter(Call.DEVICES)
        return self.world.devices()

    def links(self, devices: Sequence[Device]) -> LinkReport:
        self._enter(Call.LINKS)
        return self.world.links(devices)

    def figures(self, uuid: CardUuid) -> Figures:
        self._enter(Call.FIGURES, uuid)
        return self.world.figures(uuid)

    def health(self) -> Mapping[CardUuid, Health]:
        self._enter(Call.HEALTH)
        return self.world.health()

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        self._enter(Call.SLICES, uuid)
        return self.world.slices(uuid)

    def room(self, uuid: CardUuid) -> SliceRoom:
        self._enter(Call.ROOM, uuid)
        return self.world.room(uuid)

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        self._enter(Call.CREATE_SLICE, uuid)
        return self.world.create_slice(uuid, memory, cores, name, online=online)

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        self._enter(Call.RESIZE_SLICE, uuid)
        return self.world.resize_slice(uuid, slice_id, memory, cores)

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        self._enter(Call.SET_POLICY, uuid)
        self.world.set_policy(uuid, policy)

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        self._enter(Call.REMOVE_SLICE, uuid)
        self.world.remove_slice(uuid, slice_id)

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        self._enter(Call.SET_SLICED, uuid)
        self.world.set_sliced(uuid, on=on)

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        self._enter(Call.SET_VIRTUAL_FUNCTIONS, uuid)
        self.world.set_virtual_functions(uuid, count)

    def close(self) -> None:
        """Nothing is held."""

    def _enter(self, call: Call, uuid: CardUuid | None = None) -> None:
        """Everything that happens to a call before it is answered."""
        description = self.world.description
        if description.latency:
            self.sleep(description.latency)
        self._need_a_driver(call)
        spec = None if uuid is None else self.world.spec_of(uuid)
        self._fail(call, spec)
        if spec is not None and Fault.HANG in self.world.faults(spec.position):
            if description.stuck_after:
                self.sleep(description.stuck_after)
            raise DriverError(
                Kind.STUCK,
                f"{call} of {label(spec)} has not returned within {description.stuck_after:g} s: the card hangs",
                call=call,
            )

    def _need_a_driver(self, call: Call) -> None:
        cards = self.world.description.cards
        if cards and self.world.kernel.loaded is None and not any(map(self.world.is_driven, cards)):
            raise DriverError(
                Kind.NO_DRIVER,
                f"{len(cards)} cards are on the bus, and no kernel driver is loaded; load one",
                call=call,
            )

    def _fail(self, call: Call, spec: CardSpec | None) -> None:
        now = self.world.now()
        for failure in self.world.description.failures:
            if failure.call is not call or now < failure.at:
                continue
            if failure.until is not None and now >= failure.until:
                continue
            if failure.card is not None and (spec is None or failure.card != spec.position):
                continue
            raise DriverError(
                failure.kind,
                failure.text or f"{call} fails, as the description of the cards says",
                call=call,
                vendor_code=failure.code,
                vendor_text=failure.text,
            )
