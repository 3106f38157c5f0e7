"""MetaX cards behind the one interface, asked through the vendor's library."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mxsml import (
    cards,
    figures,
    functions,
    health,
    links,
    sightings,
    slices,
    slicing,
    splitting,
)
from tangram.drivers.mxsml.binding import Binding
from tangram.drivers.mxsml.kernel import BusListing, Kernel, SlicesOfCard
from tangram.drivers.mxsml.library import Library
from tangram.drivers.mxsml.roster import Roster
from tangram.drivers.mxsml.session import Session
from tangram.drivers.mxsml.settings import Settings
from tangram.drivers.mxsml.sightings import Sighting
from tangram.drivers.mxsml.turns import turn
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import known

_Answer = TypeVar("_Answer")


class MxsmlDriver:
    """`Driver` over libmxsml. Safe from several threads; their questions are asked one after the other."""

    def __init__(
        self, settings: Settings | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._settings = settings or Settings()
        self._environment = os.environ if environment is None else environment
        self._kernel = Kernel(self._settings)
        self._roster = Roster()
        self._heard: Library | None = None
        """The copy of the library that `health` asked last."""
        self._bus: BusListing | None = None
        self._slices: Mapping[str, SlicesOfCard] = {}
        """By bus address, when the library last looked: it lists no processes in slices made since."""
        self._look_again = False
        self._some_limited = False
        self._lock = threading.Lock()
        self._session = Session(self._settings, self._environment, before_look=self._remember_slices)

    @property
    def name(self) -> str:
        return "mxsml"

    @property
    def calling(self) -> str:
        """The vendor's function that was entered last."""
        return self._session.calling

    def devices(self) -> Sequence[Device]:
        return self._ask(self._devices, "devices", stale=self._cards_changed)

    def links(self, devices: Sequence[Device]) -> LinkReport:
        def work(binding: Binding) -> LinkReport:
            return links.report(binding, devices, {each.uuid: each for each in self._look(binding)})

        return self._ask(work, "links")

    def figures(self, uuid: CardUuid) -> Figures:
        def work(binding: Binding) -> Figures:
            seen = self._find(binding, uuid)
            with binding.watching_for_loss() as watch:
                found = figures.read(binding, seen)
            if watch.lost:
                # One figure said "no such device": either the card went just now or only that figure is unwell.
                self._find(binding, uuid)
            if self._fell_off(seen.bdf):
                # While it was read, and the library has not noticed.
                raise _gone(uuid)
            return found

        return self._ask(work, "figures", stale=lambda: self._card_changed(uuid) | self._slices_changed(uuid))

    def health(self) -> Mapping[CardUuid, Health]:
        try:
            return self._ask(self._health, "health", stale=self._cards_changed)
        except DriverError as error:
            if error.kind is not Kind.NO_DRIVER:
                raise
            lost = self._roster.missing(())
            if not lost:
                raise
            return {uuid: Health(healthy=False, code=health.GONE, message=error.sentence) for uuid in lost}

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        return self._ask(
            lambda binding: slices.listing(binding, self._usable(binding, uuid)),
            "slices",
            stale=lambda: self._must_look_again() | self._slices_changed(uuid),
        )

    def room(self, uuid: CardUuid) -> SliceRoom:
        return self._ask(lambda binding: slices.room(binding, self._usable(binding, uuid)), "room")

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        slicing.check_memory(memory)
        slicing.check_cores(cores, online=online)
        slicing.check_name(name)

        def work(binding: Binding, seen: Sighting) -> Slice:
            return slicing.create(binding, seen, memory=memory, cores=cores, name=name, online=online)

        return self._change(uuid, work, "CreateSgpu")

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        if memory is not None:
            slicing.check_memory(memory)
        return self._change(
            uuid,
            lambda binding, seen: slicing.resize(binding, seen, slice_id, memory=memory, cores=cores),
            "SetSgpuVramQuota",
        )

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        number = slices.NUMBER_OF_POLICY[policy]
        self._change(
            uuid,
            lambda binding, seen: binding.library.must(
                "SetDeviceSchedClass", seen.number, number, about=f"card {seen.number}"
            ),
            "SetDeviceSchedClass",
        )

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        self._change(uuid, lambda binding, seen: slicing.switch(binding, seen, on=on), "SetSgpuToggle")

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        self._change(uuid, lambda binding, seen: slicing.remove(binding, seen, slice_id), "RemoveSgpu")

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        splitting.check_count(count)

        def work(binding: Binding, seen: Sighting) -> None:
            if splitting.split(binding, self._kernel, seen, count):
                # Names and numbers of the card and its parts are new from here on.
                self._roster.forget()
                self._look_again = True

        self._change(uuid, work, "GetDeviceInfo")

    def close(self) -> None:
        self._session.close()

    def _devices(self, binding: Binding) -> tuple[Device, ...]:
        seen = self._look(binding)
        if not seen:
            raise sightings.none_found(binding)
        return cards.describe(binding, self._kernel, seen)

    def _health(self, binding: Binding) -> dict[CardUuid, Health]:
        seen = self._look(binding)
        lost = self._roster.missing(seen)
        if not seen and not lost:
            raise sightings.none_found(binding)
        if binding.library is not self._heard:
            self._roster.unhear()
            self._heard = binding.library
        found = {each.uuid: self._judged(binding, each) for each in seen}
        return found | {uuid: health.gone(card.number, card.bdf) for uuid, card in lost.items()}

    def _judged(self, binding: Binding, seen: Sighting) -> Health:
        if not seen.trouble:
            reasons = health.silences(binding, seen)
            before, silent = self._roster.heard(seen.uuid, reasons)
            if silent:
                # The library goes by what it saw when it last looked at the bus, and may have another word for it now.
                self._look_again = self._look_again or before != silent
                return health.silent(seen, silent, reasons)
        return health.judge(binding, seen, self._settings.uncorrected_ecc_limit)

    def _look(self, binding: Binding) -> tuple[Sighting, ...]:
        seen = self._roster.recognise(map(self._named, sightings.look(binding)))
        self._some_limited = any(each.limited for each in seen)
        return seen

    def _named(self, seen: Sighting) -> Sighting:
        """A card that the library cannot use, under the name that the allocations of pods have for it."""
        return seen._replace(uuid=known(self._kernel.uuid(seen.bdf), seen.uuid)) if seen.limited else seen

    def _find(self, binding: Binding, uuid: CardUuid) -> Sighting:
        seen = sightings.still_at(binding, uuid, self._roster.number_of(uuid))
        if seen is None:
            seen = next((each for each in self._look(binding) if each.uuid == uuid), None)
        if seen is None:
            raise _gone(uuid)
        return seen

    def _fell_off(self, bdf: str) -> bool:
        """Whether that card was there when the bus was last looked at, and is there no more."""
        return self._bus is not None and bdf in self._bus.devices and not self._kernel.has(bdf)

    def _ask(
        self,
        work: Callable[[Binding], _Answer],
        question: str,
        *,
        stale: Callable[[], bool] | None = None,
    ) -> _Answer:
        call = f"{functions.PREFIX}* ({question})"
        return self._current().ask(work, call=call, stale=stale or self._must_look_again)

    def _change(self, uuid: CardUuid, work: Callable[[Binding, Sighting], _Answer], function: str) -> _Answer:
        session = self._current()
        call = functions.PREFIX + function
        bdf = session.ask(lambda binding: self._find(binding, uuid).bdf, call=call, stale=self._bus_changed)
        with turn(self._settings.lock_directory, bdf, self._settings.limit):
            return session.change(
                lambda binding: work(binding, self._usable(binding, uuid)),
                call=call,
                stale=lambda: self._slices_changed(uuid),
            )

    def _usable(self, binding: Binding, uuid: CardUuid) -> Sighting:
        seen = self._find(binding, uuid)
        if seen.trouble:
            raise DriverError(Kind.FAILED, f"card {uuid} cannot be asked or changed: {seen.trouble}")
        return seen

    def _must_look_again(self) -> bool:
        again, self._look_again = self._look_again, False
        return again

    def _remember_slices(self) -> None:
        places = {*self._kernel.held(), *self._roster.places()}
        self._slices = {bdf: self._kernel.slices(bdf) for bdf in places}

    def _slices_changed(self, uuid: CardUuid) -> bool:
        """A card that was not found yet will be listed first."""
        bdf = self._roster.bdf_of(uuid)
        return bool(bdf) and self._kernel.slices(bdf) != self._slices.get(bdf)

    def _bus_changed(self) -> bool:
        now = self._kernel.bus()
        before, self._bus = self._bus, now
        return self._must_look_again() or (before is not None and before != now)

    def _card_changed(self, uuid: CardUuid) -> bool:
        """As `_bus_changed`, for questions about one card: all of the bus is read only if that card came or went."""
        bdf = self._roster.bdf_of(uuid)
        if self._bus is not None and bdf and self._kernel.is_where(bdf, self._bus):
            return self._must_look_again()
        return self._bus_changed()

    def _cards_changed(self) -> bool:
        # A card that cannot be used may be in order by now, which the library would not notice by itself.
        return self._bus_changed() or self._some_limited

    def _current(self) -> Session:
        with self._lock:
            if self._session.outlived:
                self._session = self._session.successor()
            return self._session


def _gone(uuid: CardUuid) -> DriverError:
    return DriverError(
        Kind.CARD_GONE,
        f"card {uuid} is not on this node, or not any more",
        call=f"{functions.PREFIX}GetDeviceInfo",
    )
