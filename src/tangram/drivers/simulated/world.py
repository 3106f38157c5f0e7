"""The simulated node: its cards, what was done to them, and what time it is there.

One lock guards everything; every method is one step that either happens whole or raises `DriverError`. Reading and
changing are separated from how calls fail (`driver`): here a call always answers, unless the card itself is at fault.
"""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated import metax_rules, mthreads_runtime
from tangram.drivers.simulated.description import CardSpec, Description, Event, Fault, Figure, ModuleAtStart
from tangram.drivers.simulated.faults import NOT_STARTED, active_faults, health_of, times_vanished
from tangram.drivers.simulated.figures import figures_at
from tangram.drivers.simulated.kernel import Kernel, Loaded
from tangram.drivers.simulated.refusing import refused
from tangram.drivers.simulated.reports import device_of, functions_of, links_down, links_of, slice_of
from tangram.drivers.simulated.state import WHOLE, CardState, Holder, card_uuid, fresh, function_uuid
from tangram.model.cards import QosPolicy, Vendor
from tangram.model.devices import Device, Figures, Health, LinkReport, Slice, SliceRoom
from tangram.units.ids import CardUuid
from tangram.units.memory import MIB, Bytes, memory_text
from tangram.units.na import NA

Clock = Callable[[], float]
"""Seconds, from any start; only differences count."""

_FIRST_PID = 40_000
_PARTS_PER_CARD = 32


class World:
    def __init__(self, description: Description, clock: Clock) -> None:
        self.description = description
        self._clock = clock
        self._began = clock()
        self._skipped = 0.0
        self._lock = threading.RLock()
        self._events = list(description.events)
        """In the order of time; of several at one moment, in the order they were added."""
        self._states = {spec.position: fresh(spec) for spec in description.cards}
        self._by_uuid = {card_uuid(description, spec): spec for spec in description.cards}
        self.kernel = _kernel_of(description)
        self._described_module = self.kernel.loaded

    @property
    def lock(self) -> threading.RLock:
        """For several steps that nobody may come between."""
        return self._lock

    # ---------------------------------------------------------------------------------------- time and faults

    def now(self) -> float:
        """Seconds since the world began."""
        with self._lock:
            return self._clock() - self._began + self._skipped

    def advance(self, seconds: float) -> float:
        """Let time jump; answers what time it is then."""
        if seconds < 0:
            raise DriverError(Kind.INVALID, "time only goes forward; advance by 0s or more")
        with self._lock:
            self._skipped += seconds
            return self.now()

    def strike(self, position: int, fault: Fault) -> None:
        """Let a fault happen to a card now, or end those it has (`recover`)."""
        with self._lock:
            insort(self._events, Event(self.now(), position, fault), key=lambda event: event.at)

    def faults(self, position: int) -> frozenset[Fault]:
        with self._lock:
            return active_faults(self._events, position, self.now())

    def set_figure(self, position: int, figure: Figure, value: float | None) -> None:
        """Pin a figure to a value until it is let go (None)."""
        with self._lock:
            state = self._state(position)
            rest = {each: number for each, number in state.overrides.items() if each is not figure}
            overrides = rest if value is None else {**rest, figure: value}
            self._states[position] = msgspec.structs.replace(state, overrides=overrides)

    # ------------------------------------------------------------------------------------------------ reading

    def spec_of(self, uuid: CardUuid) -> CardSpec:
        """The card of that uuid, or of which that uuid is a virtual function; raises when it is not there now."""
        with self._lock:
            spec = self._by_uuid.get(uuid) or self._parent_of(uuid)
            if spec is None:
                raise DriverError(
                    Kind.CARD_GONE, f"there is no card {str(uuid)!r:.80} here; ask for the devices again"
                )
            if Fault.VANISH in self.faults(spec.position):
                raise refused(Kind.CARD_GONE, spec, "it is no longer on the bus", "wait until it is back")
            if not self.is_driven(spec):
                raise refused(Kind.NO_DRIVER, spec, "no kernel driver holds it", "load the driver first")
            return spec

    def is_driven(self, spec: CardSpec) -> bool:
        """Whether a kernel driver holds the card; of the two vendors' only MetaX's is ever loaded and unloaded here."""
        if spec.vendor is not Vendor.METAX:
            return True
        module = self.kernel.loaded
        return module is not None and not (module.broken and spec.vendor_position == 0)

    def on_bus(self) -> tuple[CardSpec, ...]:
        """The cards that sit on the bus now, driven or not, each with the version of the driver that would hold it."""
        with self._lock:
            return tuple(
                self._as_driven(spec)
                for spec in self.description.cards
                if Fault.VANISH not in self.faults(spec.position)
            )

    def devices(self) -> tuple[Device, ...]:
        """The cards that are there and driven, then their virtual functions."""
        with self._lock:
            present = [(spec, self._state(spec.position)) for spec in self.on_bus() if self.is_driven(spec)]
            cards = [device_of(self.description, spec, state) for spec, state in present]
            functions = [
                each for spec, state in present for each in functions_of(self.description, spec, state)
            ]
            return (*cards, *functions)

    def links(self, devices: Sequence[Device]) -> LinkReport:
        with self._lock:
            faults = {spec.position: self.faults(spec.position) for spec in self.description.cards}
            states = {spec.position: self._state(spec.position) for spec in self.description.cards}
            return links_of(self.description, devices, links_down(self.description, states, faults))

    def figures(self, uuid: CardUuid) -> Figures:
        with self._lock:
            spec = self.spec_of(uuid)
            state = self._state(spec.position)
            whole = figures_at(spec, state, self.faults(spec.position), self.now())
            if uuid in self._by_uuid:
                return whole
            return self._function_figures(spec, state, uuid, whole)

    def health(self) -> Mapping[CardUuid, Health]:
        """Every card that was described, and every virtual function: a fault takes all units of its card.

        Without their driver nothing is known of MetaX cards, so nothing is said.
        """
        with self._lock:
            found: dict[CardUuid, Health] = {}
            for spec in self.description.cards:
                if not self.is_driven(spec):
                    if self.kernel.loaded is not None:
                        found[card_uuid(self.description, spec)] = NOT_STARTED
                    continue
                state, faults = self._state(spec.position), self.faults(spec.position)
                health = health_of(faults, figures_at(spec, state, faults, self.now()))
                found[card_uuid(self.description, spec)] = health
                if Fault.VANISH not in faults:
                    found.update({each.uuid: health for each in functions_of(self.description, spec, state)})
            return found

    def slices(self, uuid: CardUuid) -> tuple[Slice, ...]:
        with self._lock:
            spec = self.spec_of(uuid)
            state = self._state(spec.position)
            return tuple(slice_of(self.description, spec, state, each, self.now()) for each in state.slices)

    def room(self, uuid: CardUuid) -> SliceRoom:
        with self._lock:
            spec = self.spec_of(uuid)
            rules = metax_rules.room if spec.vendor is Vendor.METAX else mthreads_runtime.room
            return rules(spec, self._state(spec.position))

    # ----------------------------------------------------------------------------------------------- changing

    def create_slice(
        self, uuid: CardUuid, memory: Bytes, cores: int, name: str, *, online: bool = False
    ) -> Slice:
        with self._lock:
            spec = self._metax(uuid)
            state, made = metax_rules.create(
                spec, self._state(spec.position), memory, cores, name, online=online
            )
            self._states[spec.position] = state
            return slice_of(self.description, spec, state, made, self.now())

    def resize_slice(self, uuid: CardUuid, slice_id: int, memory: Bytes | None, cores: int | None) -> Slice:
        with self._lock:
            spec = self._metax(uuid)
            state, made = metax_rules.resize(spec, self._state(spec.position), slice_id, memory, cores)
            self._states[spec.position] = state
            return slice_of(self.description, spec, state, made, self.now())

    def remove_slice(self, uuid: CardUuid, slice_id: int) -> None:
        with self._lock:
            spec = self._metax(uuid)
            self._states[spec.position] = metax_rules.remove(spec, self._state(spec.position), slice_id)

    def set_policy(self, uuid: CardUuid, policy: QosPolicy) -> None:
        with self._lock:
            spec = self.spec_of(uuid)
            rules = metax_rules.set_policy if spec.vendor is Vendor.METAX else mthreads_runtime.set_policy
            self._states[spec.position] = rules(spec, self._state(spec.position), policy)

    def set_sliced(self, uuid: CardUuid, *, on: bool) -> None:
        with self._lock:
            spec = self._whole(uuid)
            rules = metax_rules.set_sliced if spec.vendor is Vendor.METAX else mthreads_runtime.set_sliced
            self._states[spec.position] = rules(spec, self._state(spec.position), on=on)

    def set_virtual_functions(self, uuid: CardUuid, count: int) -> None:
        with self._lock:
            spec = self._metax(uuid)
            state = metax_rules.set_virtual_functions(spec, self._state(spec.position), count)
            self._states[spec.position] = state

    def restart_cards(self) -> None:
        """What becomes of MetaX cards when their driver comes or goes: parts are lost, processes have ended."""
        with self._lock:
            for spec in self.description.cards:
                if spec.vendor is Vendor.METAX:
                    before = self._state(spec.position)
                    self._states[spec.position] = msgspec.structs.replace(
                        fresh(spec, before.vanished),
                        virtual_functions=0,
                        slices_made=before.slices_made,
                        overrides=before.overrides,
                    )

    # ---------------------------------------------------------------------------------- processes, containers

    def use(self, position: int, part: int = WHOLE, memory: Bytes | None = None, name: str = "") -> Holder:
        """Let a process run on a card, a slice or a virtual function; half its memory unless told otherwise."""
        with self._lock:
            spec = self.spec_of(card_uuid(self.description, self.description.cards[position]))
            state = self._state(position)
            limit = self._part_memory(spec, state, part)
            if part in state.holders:
                raise refused(Kind.BUSY, spec, f"{_part_text(part)} is in use already", "release it first")
            wanted = Bytes(limit // 2 // MIB * MIB) if memory is None else memory
            if not 0 <= wanted <= limit:
                why = f"a process cannot hold {memory_text(wanted)} there"
                raise refused(Kind.INVALID, spec, why, f"ask for up to {memory_text(limit)}")
            holder = Holder(self._pid(position, part), name or "simulated", wanted)
            holders = {**state.holders, part: holder}
            self._states[position] = msgspec.structs.replace(state, holders=holders)
            return holder

    def release(self, position: int, part: int = WHOLE) -> None:
        """End the process on a card, a slice or a virtual function."""
        with self._lock:
            spec = self.spec_of(card_uuid(self.description, self.description.cards[position]))
            state = self._state(position)
            if part not in state.holders:
                raise refused(Kind.INVALID, spec, f"nobody uses {_part_text(part)}", "name one in use")
            holders = {each: holder for each, holder in state.holders.items() if each != part}
            self._states[position] = msgspec.structs.replace(state, holders=holders)

    def start_container(self, container: str, environment: Mapping[str, str]) -> tuple[Slice, ...]:
        """What Moore Threads' runtime does when a container starts; answers the slices made, on all cards or none."""
        with self._lock:
            short = mthreads_runtime.short_id(container)
            cards = [spec for spec in self.description.cards if spec.vendor is Vendor.MTHREADS]
            order = mthreads_runtime.read_environment(environment, len(cards))
            changed: dict[int, CardState] = {}
            if order is None:
                return ()
            for number in order.cards:
                spec = self.spec_of(card_uuid(self.description, cards[number]))
                state, pid = self._state(spec.position), self._pid(spec.position, WHOLE)
                changed[spec.position] = mthreads_runtime.start(spec, state, short, order, pid)
            self._states.update(changed)
            return tuple(
                slice_of(self.description, self.description.cards[at], state, each, self.now())
                for at, state in changed.items()
                for each in state.slices
                if each.name == short
            )

    def stop_container(self, container: str) -> None:
        """What the runtime does when a container ends; one it never started is no error, as there."""
        with self._lock:
            short = mthreads_runtime.short_id(container)
            for spec in self.description.cards:
                if spec.vendor is Vendor.MTHREADS:
                    state = mthreads_runtime.stop(self._state(spec.position), short)
                    self._states[spec.position] = state

    def state(self, position: int) -> CardState:
        """What has been done to a card, for whoever wants to look behind the reports."""
        with self._lock:
            return self._state(position)

    # ------------------------------------------------------------------------------------------------- inside

    def _state(self, position: int) -> CardState:
        """The state as of now: a card that was away comes back as it was described."""
        state = self._states[position]
        vanished = times_vanished(self._events, position, self.now())
        if vanished > state.vanished:
            self._states[position] = state = fresh(self.description.cards[position], vanished)
        return state

    def _as_driven(self, spec: CardSpec) -> CardSpec:
        module = self.kernel.loaded
        told = module is self._described_module and not self.description.host_driver
        if spec.vendor is not Vendor.METAX or module is None or told:
            return spec
        return msgspec.structs.replace(spec, driver_version=module.version)

    def _metax(self, uuid: CardUuid) -> CardSpec:
        spec = self._whole(uuid)
        if spec.vendor is not Vendor.METAX:
            raise metax_rules.not_metax(spec)
        return spec

    def _whole(self, uuid: CardUuid) -> CardSpec:
        spec = self.spec_of(uuid)
        if uuid not in self._by_uuid:
            raise refused(Kind.NOT_SUPPORTED, spec, "that is a virtual function of it", "name the card")
        return spec

    def _parent_of(self, uuid: CardUuid) -> CardSpec | None:
        return next(
            (spec for spec in self.description.cards if self._number_of(spec, uuid) is not None), None
        )

    def _number_of(self, spec: CardSpec, uuid: CardUuid) -> int | None:
        parent = card_uuid(self.description, spec)
        functions = range(self._state(spec.position).virtual_functions)
        return next((number for number in functions if function_uuid(parent, number) == uuid), None)

    def _function_figures(self, spec: CardSpec, state: CardState, uuid: CardUuid, whole: Figures) -> Figures:
        """What a virtual function can tell: its memory and who holds it; the board is its card's business."""
        number = self._number_of(spec, uuid)
        holder = None if number is None else state.holders.get(number)
        return Figures(
            memory_used=Bytes(0) if holder is None else holder.memory,
            memory_total=Bytes(spec.memory // max(state.virtual_functions, 1)),
            temperature_celsius=whole.temperature_celsius,
            ecc_uncorrected=whole.ecc_uncorrected,
            processes=NA
            if whole.processes is NA
            else tuple(each for each in whole.processes if each.slice_id == number),
        )

    def _part_memory(self, spec: CardSpec, state: CardState, part: int) -> Bytes:
        if part == WHOLE:
            if state.slices or state.virtual_functions:
                raise refused(Kind.BUSY, spec, "it is in parts", "name one of them")
            return spec.memory
        if state.virtual_functions:
            if not 0 <= part < state.virtual_functions:
                last = state.virtual_functions - 1
                raise refused(Kind.INVALID, spec, f"there is no virtual function {part}", f"name 0 to {last}")
            return Bytes(spec.memory // state.virtual_functions)
        return metax_rules.found(spec, state, part).memory

    @staticmethod
    def _pid(position: int, part: int) -> int:
        return _FIRST_PID + position * _PARTS_PER_CARD + part + 1


def _kernel_of(description: Description) -> Kernel:
    metax = [spec for spec in description.cards if spec.vendor is Vendor.METAX]
    if not metax or description.module is ModuleAtStart.NONE:
        return Kernel(description.kernel, None, description.host_driver)
    version = description.host_driver or metax[0].driver_version
    return Kernel(description.kernel, Loaded(version=version), version)


def _part_text(part: int) -> str:
    return "the card" if part == WHOLE else f"part {part}"
