"""Processes of running containers on the simulated cards, so that figures, health checks and `tangram top` see them.

MetaX: a process on the card, on the slice that the agent made, or on the virtual function. Moore Threads: the vendor's
runtime reads the container's variables and makes the slice, and what it refuses keeps the container from starting.
Cards that several containers use at once have one process for all of them; it goes with the last.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import msgspec

from tangram.drivers.errors import DriverError
from tangram.drivers.simulated.mthreads_runtime import VISIBLE
from tangram.drivers.simulated.state import WHOLE, card_uuid, function_uuid
from tangram.drivers.simulated.world import World
from tangram.model.devices import Slice
from tangram.sandbox.nodes.gifts import Gifts
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes, memory_text

Place = tuple[int, int]
"""A card's position, and the part of it."""


class NotStarted(Exception):  # noqa: N818 - says what is the case
    """The runtime refuses to start a container; one sentence."""


class Occupied(msgspec.Struct, frozen=True, kw_only=True):
    """What one container occupies, and the lines that tell about it."""

    container: str
    places: tuple[Place, ...] = ()
    runtime: bool = False
    """Whether Moore Threads' runtime started it."""
    lines: tuple[str, ...] = ()


class Occupying:
    def __init__(self, world: World) -> None:
        self._world = world
        self._users: Counter[Place] = Counter()

    def begin(self, container: str, name: str, gifts: Gifts) -> Occupied:
        """Let the container's process run on what it was given. Raises `NotStarted`."""
        made = self._by_runtime(container, gifts)
        places: list[Place] = []
        lines: list[str] = []
        try:
            for grant in gifts.grants:
                slices = {part.card: part for part in grant.slices}
                for unit in grant.cards:
                    position = self._world.spec_of(unit).position
                    part = slices.get(unit)
                    lines += self._told(position, unit, None if part is None else part.id, made)
                    if self._is_metax(position):
                        ids = [part.id] if part is not None else self._functions(position, grant.ids)
                        for place in [(position, each) for each in ids]:
                            self._use(place, name)
                            places.append(place)
        except DriverError as error:
            self.end(Occupied(container=container, places=tuple(places), runtime=bool(made)))
            raise NotStarted(error.sentence) from error
        started = VISIBLE in gifts.environment
        return Occupied(container=container, places=tuple(places), runtime=started, lines=tuple(lines))

    def end(self, occupied: Occupied) -> None:
        """The container is over. Cards that are gone meanwhile took its process along."""
        for place in occupied.places:
            self._users[place] -= 1
            if self._users[place] <= 0:
                del self._users[place]
                with suppress(DriverError):
                    self._world.release(*place)
        if occupied.runtime:
            with suppress(DriverError):
                self._world.stop_container(occupied.container)

    def _use(self, place: Place, name: str) -> None:
        if not self._users[place]:
            self._world.use(*place, name=name)
        self._users[place] += 1

    def _by_runtime(self, container: str, gifts: Gifts) -> tuple[Slice, ...]:
        if VISIBLE not in gifts.environment:
            return ()
        try:
            return self._world.start_container(container, gifts.environment)
        except DriverError as error:
            raise NotStarted(error.sentence) from error

    def _is_metax(self, position: int) -> bool:
        return self._world.description.cards[position].sriov is not None

    def _functions(self, position: int, ids: tuple[str, ...]) -> list[int]:
        """The virtual functions of the card among the ids; the card itself where there are none."""
        description = self._world.description
        parent = card_uuid(description, description.cards[position])
        count = self._world.state(position).virtual_functions
        return [number for number in range(count) if function_uuid(parent, number) in ids] or [WHOLE]

    def _told(self, position: int, unit: CardUuid, part: int | None, made: tuple[Slice, ...]) -> list[str]:
        spec = self._world.description.cards[position]
        card = f"card {position}: {spec.product}, {unit}"
        own = [each for each in self._world.slices(unit) if each.id == part] if part is not None else []
        own += [each for each in made if each.card == unit]
        if not own:
            (function,) = self._functions(position, (unit,))
            if function != WHOLE:
                count = self._world.state(position).virtual_functions
                return [f"{card}, function {function} of {count}, {memory_text(Bytes(spec.memory // count))}"]
            return [f"{card}, whole, {memory_text(spec.memory)}"]
        compute = "of 16 shares of compute"
        if self._is_metax(position):
            compute = f"% of compute, {self._world.room(unit).policy}"
        return [
            f"{card}, slice {each.id}: {memory_text(each.memory)} of memory, {each.cores} {compute}"
            for each in own
        ]
