"""Moore Threads' library behind our interface.

Everything that touches the library or the kernel runs on the watchdog's one thread, which makes the driver safe to use
from several threads and bounds every answer in time; the state below is touched by that thread only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.calls import Calls, Handle
from tangram.drivers.mtml.cards import Found, find_card, find_cards, lost_places, read_card
from tangram.drivers.mtml.failures import HANDLES_DOUBTED
from tangram.drivers.mtml.figures import read_figures
from tangram.drivers.mtml.health import check_card, unanswering, vanished
from tangram.drivers.mtml.library import Library
from tangram.drivers.mtml.links import read_links
from tangram.drivers.mtml.place import DEFAULT_SYSFS, bound_cards
from tangram.drivers.mtml.processes import refuse_in_use, running_processes
from tangram.drivers.mtml.slicing import (
    RuntimeMakesSlices,
    is_sliced,
    processes_of,
    room_of,
    set_policy,
    slices_of,
    switch,
)
from tangram.drivers.sgpu_km import DEFAULT_ROOT, SgpuKm
from tangram.drivers.watchdog import DEFAULT_LIMIT, Watchdog
from tangram.model.cards import QosPolicy
from tangram.model.devices import Device, Figures, Health, LinkReport, Process, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.na import NA, Maybe, NotAvailable

_Answer = TypeVar("_Answer")
_DRIVER_ABSENT: Final = (Kind.NO_DRIVER, Kind.NO_LIBRARY)


class MtmlDriver(RuntimeMakesSlices):
    """Moore Threads cards through libmtml. Nothing is loaded before the first question."""

    name = "mtml"

    def __init__(
        self,
        library: str | None = None,
        *,
        limit: float = DEFAULT_LIMIT,
        sysfs: Path = DEFAULT_SYSFS,
        sgpu_km: Path = DEFAULT_ROOT,
        all_seen: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`all_seen` is whether the host's processes have numbers where this runs, if that was asked."""
        self._watchdog = Watchdog("mtml", limit=limit)
        self._library = Library(
            library, entering=self._watchdog.entering, clock=clock, bound=lambda: bound_cards(sysfs)
        )
        self._module = SgpuKm(sgpu_km, self._watchdog.entering)
        self._sysfs = sysfs
        self._all_seen = all_seen
        self._devices: dict[CardUuid, Device] = {}
        self._seen: dict[CardUuid, None] = {}
        """Every card ever seen, in order: one that vanishes is still reported."""
        self._places: dict[int, CardUuid] = {}

    def devices(self) -> Sequence[Device]:
        """The cards in the library's order. One that stopped answering is listed as it last described itself.

        One that never told its UUID cannot be listed, as nobody could name it; `health` reports it all the same.
        """
        return self._ask("devices", self._read_devices)

    def links(self, devices: Sequence[Device]) -> LinkReport:
        def work(calls: Calls) -> LinkReport:
            handles = {each.uuid: each.handle for each in self._found(calls)}
            return read_links(calls, [(device.uuid, handles.get(device.uuid)) for device in devices])

        return self._ask("links", work)

    def figures(self, uuid: CardUuid) -> Figures:
        def work(calls: Calls) -> Figures:
            handle = self._handle(calls, uuid)
            device = self._devices.get(uuid)
            processes = NA if device is None else self._processes(calls, handle, device)
            return read_figures(calls, handle, processes)

        return self._ask("figures", work)

    def health(self) -> Mapping[CardUuid, Health]:
        """The health of every card ever seen. Raises only when the driver is gone and no card was ever seen."""
        return self._watch("health", self._check_cards)

    def slices(self, uuid: CardUuid) -> Sequence[Slice]:
        return self._watch("slices", lambda: slices_of(self._module, self._device(uuid)))

    def room(self, uuid: CardUuid) -> SliceRoom:
        return self._watch("room", lambda: room_of(self._module, self._device(uuid)))

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        def work(calls: Calls) -> None:
            device = self._device(uuid)
            if on and is_sliced(self._module, device.nodes, device.index) is not True:
                handle = self._handle(calls, uuid)
                refuse_in_use(device, running_processes(calls, handle, all_seen=self._all_seen))
            switch(self._module, device, on=on)

        self._ask("set_sliced", work)

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        self._watch("set_policy", lambda: set_policy(self._module, self._device(uuid), policy))

    def close(self) -> None:
        """Shut the library down and unload it; one that hangs is left alone."""
        if not self._watchdog.stuck_in:
            # It raises when closed before, or stuck just now; either way nothing is left that could be given back.
            with suppress(DriverError):
                self._watch("mtmlLibraryShutDown", self._library.close)
        self._watchdog.close()

    def _watch(self, call: str, work: Callable[[], _Answer]) -> _Answer:
        return self._watchdog.run(work, call=call)

    def _ask(self, call: str, work: Callable[[Calls], _Answer]) -> _Answer:
        return self._watch(call, lambda: work(self._library.ready()))

    def _found(self, calls: Calls) -> list[Found]:
        """The cards, looked for a second time with a restarted library where a handle may have gone bad."""
        found = find_cards(calls)
        doubtful = [each for each in found if each.error and each.error.vendor_code in HANDLES_DOUBTED]
        if doubtful and self._library.restart():
            found = find_cards(self._library.ready())
        return found

    def _processes(self, calls: Calls, handle: Handle, device: Device) -> Maybe[tuple[Process, ...]]:
        if is_sliced(self._module, device.nodes, device.index) is True:
            return processes_of(self._module, device)
        return running_processes(calls, handle, all_seen=self._all_seen).processes

    def _handle(self, calls: Calls, uuid: CardUuid) -> Handle:
        try:
            return find_card(calls, uuid)
        except DriverError as error:
            if error.vendor_code in HANDLES_DOUBTED and self._library.restart():
                return find_card(self._library.ready(), uuid)
            raise

    def _device(self, uuid: CardUuid) -> Device:
        if uuid not in self._devices:
            self._read_devices(self._library.ready())
        if uuid not in self._devices:
            raise DriverError(Kind.CARD_GONE, f"card {uuid} is not on this node")
        return self._devices[uuid]

    def _read_devices(self, calls: Calls) -> Sequence[Device]:
        found = self._found(calls)
        calls = self._library.ready()
        before = lost_places(found, self._places)
        devices: list[Device] = []
        for each in found:
            if each.handle is not None and each.uuid is not None:
                device = read_card(
                    calls, each.position, each.handle, each.uuid, sysfs=self._sysfs, module=self._module
                )
                devices.append(self._remembered(device))
            elif before.get(each.position) in self._devices:
                devices.append(self._devices[before[each.position]])
        self._devices.update({device.uuid: device for device in devices})
        self._note(found, before)
        return tuple(devices)

    def _note(self, found: Sequence[Found], before: Mapping[int, CardUuid]) -> None:
        self._places = {**before, **{each.position: each.uuid for each in found if each.uuid is not None}}
        self._seen.update(dict.fromkeys(self._places.values()))

    def _remembered(self, device: Device) -> Device:
        """What the card said before, where it does not tell its memory any more: it is ill, not another card."""
        before = self._devices.get(device.uuid)
        return before if before is not None and isinstance(device.memory, NotAvailable) else device

    def _check_cards(self) -> Mapping[CardUuid, Health]:
        try:
            found = self._found(self._library.ready())
            calls = self._library.ready()
        except DriverError as error:
            if not self._seen or error.kind not in _DRIVER_ABSENT:
                raise
            gone = Health(healthy=False, code=error.kind, message=error.sentence)
            return dict.fromkeys(self._seen, gone)
        before = lost_places(found, self._places)
        self._note(found, before)
        health: dict[CardUuid, Health] = {}
        for each in found:
            if each.error is not None:
                unnamed = CardUuid(f"mthreads-place-{each.position}")
                health[before.get(each.position, unnamed)] = unanswering(each.error)
            elif each.handle is not None and each.uuid is not None:
                health[each.uuid] = check_card(calls, each.position, each.handle)
        return {uuid: vanished(uuid) for uuid in self._seen if uuid not in health} | health
