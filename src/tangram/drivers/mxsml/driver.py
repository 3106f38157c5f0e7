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
from tangram.drivers.mxsml.kernel import Kernel
from tangram.drivers.mxsml.roster import Roster
from tangram.drivers.mxsml.session import Session
from tangram.drivers.mxsml.settings import Settings
from tangram.drivers.mxsml.sightings import Sighting
from tangram.drivers.mxsml.turns import turn
from tangram.drivers.snapshot import CardReading, Snapshot
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes

_Answer = TypeVar("_Answer")


def open_mxsml(where: str | None = None) -> MxsmlDriver:
    """The driver with the usual settings and, if given, that library. Nothing is loaded before the first question."""
    return MxsmlDriver(Settings(library=where))


class MxsmlDriver:
    """`Driver` over libmxsml. Safe from several threads; their questions are asked one after the other."""

    def __init__(
        self, settings: Settings | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._settings = settings or Settings()
        self._environment = os.environ if environment is None else environment
        self._kernel = Kernel(self._settings)
        self._roster = Roster()
        self._bound: frozenset[str] | None = None
        self._split = False
        self._lock = threading.Lock()
        self._session = Session(self._settings, self._environment)

    @property
    def name(self) -> str:
        return "mxsml"

    @property
    def calling(self) -> str:
        """The vendor's function that was entered last."""
        return self._session.calling

    def missing_functions(self) -> tuple[str, ...]:
        """What this version of the library lacks of what we would call."""
        return self._ask(lambda binding: binding.library.missing(), "missing_functions")

    def library_path(self) -> str:
        """The file that was loaded."""
        return self._ask(lambda binding: binding.library.path, "library_path")

    def devices(self) -> Sequence[Device]:
        return self._ask(self._devices, "devices", fresh=True)

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
            return found

        return self._ask(work, "figures")

    def health(self) -> Mapping[CardUuid, Health]:
        try:
            return self._ask(self._health, "health", fresh=True)
        except DriverError as error:
            if error.kind is not Kind.NO_DRIVER:
                raise
            lost = self._roster.missing(())
            if not lost:
                raise
            return {uuid: Health(healthy=False, code=health.GONE, message=error.sentence) for uuid in lost}

    def snapshot(self) -> Snapshot:
        """Everything about every card in one turn, which saves a change of threads per card and question."""
        return self._ask(self._snapshot, "snapshot", fresh=True)

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        return self._ask(lambda binding: slices.listing(binding, self._find(binding, uuid)), "slices")

    def room(self, uuid: CardUuid) -> SliceRoom:
        return self._ask(lambda binding: slices.room(binding, self._find(binding, uuid)), "room")

    def create_slice(
        self, uuid: CardUuid, *, memory: Bytes, cores: int, name: str = "", online: bool = False
    ) -> Slice:
        slicing.check_memory(memory)
        slicing.check_cores(cores)
        slicing.check_name(name)

        def work(binding: Binding, seen: Sighting) -> Slice:
            return slicing.create(binding, seen, memory=memory, cores=cores, name=name, online=online)

        return self._change(uuid, work, "CreateSgpu")

    def resize_slice(
        self, uuid: CardUuid, slice_id: int, *, memory: Bytes | None = None, cores: int | None = None
    ) -> Slice:
        if memory is not None:
            slicing.check_memory(memory)
        if cores is not None:
            slicing.check_cores(cores)
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

    def set_online(self, uuid: CardUuid, slice_id: int, *, online: bool) -> None:
        """Whether a slice may suspend the others of its card. MetaX only, so not part of `Driver`."""

        def work(binding: Binding, seen: Sighting) -> None:
            slicing.existing(binding, seen, slice_id)
            slicing.set_online(binding, seen, slice_id, online=online)

        self._change(uuid, work, "SetSgpuDeviceQueuePriority")

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
                self._split = True

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
        found = {
            each.uuid: health.judge(binding, each, self._settings.uncorrected_ecc_limit) for each in seen
        }
        return found | {uuid: health.gone(card.number, card.bdf) for uuid, card in lost.items()}

    def _snapshot(self, binding: Binding) -> Snapshot:
        seen = self._look(binding)
        if not seen:
            raise sightings.none_found(binding)
        devices = cards.describe(binding, self._kernel, seen)
        limit = self._settings.uncorrected_ecc_limit
        return Snapshot(
            driver=self.name,
            cards=tuple(
                CardReading(
                    device=device,
                    figures=figures.read(binding, each),
                    health=health.judge(binding, each, limit),
                    slices=slices.listing(binding, each),
                )
                for device, each in zip(devices, seen, strict=True)
            ),
            links=links.report(binding, devices, {each.uuid: each for each in seen}),
        )

    def _look(self, binding: Binding) -> tuple[Sighting, ...]:
        return self._roster.recognise(sightings.look(binding))

    def _find(self, binding: Binding, uuid: CardUuid) -> Sighting:
        seen = sightings.still_at(binding, uuid, self._roster.number_of(uuid))
        if seen is None:
            seen = next((each for each in self._look(binding) if each.uuid == uuid), None)
        if seen is None:
            raise DriverError(
                Kind.CARD_GONE,
                f"card {uuid} is not on this node, or not any more",
                call=f"{functions.PREFIX}GetDeviceInfo",
            )
        return seen

    def _ask(self, work: Callable[[Binding], _Answer], question: str, *, fresh: bool = False) -> _Answer:
        stale = self._bus_changed if fresh else self._renamed
        return self._current().ask(work, call=f"{functions.PREFIX}* ({question})", stale=stale)

    def _change(self, uuid: CardUuid, work: Callable[[Binding, Sighting], _Answer], function: str) -> _Answer:
        session = self._current()
        call = functions.PREFIX + function
        bdf = session.ask(lambda binding: self._find(binding, uuid).bdf, call=call, stale=self._bus_changed)
        with turn(self._settings.lock_directory, bdf, self._settings.limit):
            return session.change(lambda binding: work(binding, self._usable(binding, uuid)), call=call)

    def _usable(self, binding: Binding, uuid: CardUuid) -> Sighting:
        seen = self._find(binding, uuid)
        if seen.trouble:
            raise DriverError(Kind.FAILED, f"card {uuid} cannot be changed: {seen.trouble}")
        return seen

    def _renamed(self) -> bool:
        split, self._split = self._split, False
        return split

    def _bus_changed(self) -> bool:
        bound = self._kernel.bound()
        before, self._bound = self._bound, bound
        return self._renamed() or (before is not None and before != bound)

    def _current(self) -> Session:
        with self._lock:
            if self._session.outlived:
                self._session = self._session.successor()
            return self._session
