"""Who is on which card: processes and slices as the driver tells, and containers that were given it.

A container that has just started holds its cards before any process of it has opened them, so the engine's own
containers count as well.

A card whose processes cannot be listed is not idle, whatever its load is: a model that waits for requests has a load of
0 % and all the memory. On a host that is rare, because the vendors' libraries list every process there. In a container
without the host's PID namespace they do not, and `mx-smi` and the kernel's files never list any. Cards can still be
named there, by a person who knows that they are idle; none is picked for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tangram.drivers.snapshot import CardReading
from tangram.model.cards import Vendor
from tangram.model.devices import Device
from tangram.units.ids import CardUuid
from tangram.units.na import NotAvailable
from tangram.wire import mthreads_container

_MOST_NAMED = 4
_UNKNOWN = "somebody or nobody, as its processes cannot be listed here"


class Holder(msgspec.Struct, frozen=True):
    """A running container, with the device nodes and variables it was started with."""

    name: str
    devices: frozenset[str] = frozenset()
    """Paths on the host."""
    env: Mapping[str, str] = {}
    cards: frozenset[str] = frozenset()
    """The uuids that we wrote down when it was started."""


def users_of(
    cards: Sequence[CardReading], holders: Iterable[Holder], on_host: Mapping[str, str]
) -> dict[CardUuid, tuple[str, ...]]:
    """Per card that is not idle, who is on it. `on_host` says where a node is, if not at its own path."""
    running = tuple(holders)
    found = {card.device.uuid: _users(card, running, on_host) for card in cards}
    return {uuid: users for uuid, users in found.items() if users}


def _users(card: CardReading, running: Sequence[Holder], on_host: Mapping[str, str]) -> tuple[str, ...]:
    users = [f"container {each.name}" for each in running if _holds(each, card.device, on_host)]
    users += [f"slice {part.name or part.uuid or part.id}" for part in card.slices or ()]
    users += _processes(card)
    more = len(users) - _MOST_NAMED
    return (*users[:_MOST_NAMED], f"{more} more") if more > 1 else tuple(users)


def _holds(holder: Holder, device: Device, on_host: Mapping[str, str]) -> bool:
    if device.uuid in holder.cards:
        return True
    own = [path for path in (device.nodes.card, device.nodes.render) if path]
    if any(on_host.get(path, path) in holder.devices for path in own):
        return True
    visible = holder.env.get(mthreads_container.VISIBLE, "")
    if device.vendor is not Vendor.MTHREADS or not visible:
        return False
    return visible == "all" or str(mthreads_container.card_number(device)) in [
        each.strip() for each in visible.split(",")
    ]


def _processes(card: CardReading) -> list[str]:
    if card.figures is None:
        return [_UNKNOWN]
    processes = card.figures.processes
    if not isinstance(processes, NotAvailable):
        return [f"{each.name or 'process'} (pid {each.pid})" for each in processes]
    load = card.figures.utilisation_percent
    if isinstance(load, NotAvailable) or load <= 0:
        return [_UNKNOWN]
    return [f"a load of {load:.0f} %"]
