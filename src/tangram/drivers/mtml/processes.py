"""Processes on a card that no slices divide, by two functions that are in the library and in no header.

libmtml 1.5.0 exports them; newer headers and the vendor's package do not mention them. What they take and write was
measured on 1.5.0: a count, and records of 32 bytes with a number and the memory held. A library that has them and
writes other records is recognised by how much it clears, and its list counts as not available.

Two things make a list a lower bound. The library leaves out what the kernel driver gives number 0, as it does with
processes that have no number where the library is asked: so a list is complete only in the host's PID namespace, and an
empty one says that a card is idle only there. And it asks the kernel driver for 80 processes at most, those without a
number among them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Final, NamedTuple

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.calls import Calls, Handle
from tangram.model.devices import Device, Process
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe

COUNT: Final = "mtmlDeviceCountRunningProcesses"
LIST: Final = "mtmlDeviceGetRunningProcesses"
MOST_PROCESSES: Final = 4096
MOST_TOLD: Final = 80
"""A list of so many may have been cut there."""
_SPARE: Final = 8
"""Room for those that come between the two questions."""
_ROOM_PER_RECORD: Final = 1024
"""Bytes: what a record of another library would have to exceed to write where it must not."""
_UNTOUCHED: Final = 0xA5


class ProcessRecord(ctypes.Structure):
    _fields_ = (("pid", ctypes.c_uint), ("memory", ctypes.c_uint64), ("unused", ctypes.c_uint64 * 2))


class Users(NamedTuple):
    """Who holds memory of a card, as far as the library tells."""

    listed: tuple[Process, ...]
    why_unknown: str = ""
    """Why there may be more; empty where the list is complete."""

    @property
    def processes(self) -> Maybe[tuple[Process, ...]]:
        """All of them, or `NA`."""
        return NA if self.why_unknown else self.listed


def running_processes(calls: Calls, card: Handle, *, all_seen: bool | None) -> Users:
    """Who holds memory of the card. `all_seen` is whether the host's processes have numbers where this runs.

    Where that was not asked (None), a list counts as complete, and an empty one as unknown.
    """
    listed = _listed(calls, card)
    if listed is None:
        return Users((), "this libmtml lists no processes")
    return Users(tuple(each for each in listed if each.pid), why_incomplete(listed, all_seen=all_seen))


def why_incomplete(listed: Sequence[Process], *, all_seen: bool | None) -> str:
    """Why a card may have processes beside these; empty where it has none. `all_seen` is as above."""
    if not all(each.pid for each in listed):
        return "libmtml lists a process without a number"
    if len(listed) >= MOST_TOLD:
        return f"libmtml tells of {MOST_TOLD} processes at most"
    if all_seen is False or (all_seen is None and not listed):
        return (
            "processes without a number in this PID namespace are not listed; run this program in the host's (in a "
            "pod: hostPID: true)"
        )
    return ""


def refuse_in_use(device: Device, users: Users) -> None:
    """Raise `busy` for a card that is not known to be idle.

    The slicing module takes a card from under whoever uses it, so what cannot be told counts as in use. That leaves
    the change possible where gpu-device runs, in the host's PID namespace, over a library that lists processes. Over
    one that does not, only a person can know that a card is idle.
    """
    if users.listed:
        pids = ", ".join(str(each.pid) for each in users.listed[:8])
        raise DriverError(Kind.BUSY, f"card {device.index} is in use by process {pids}")
    if users.why_unknown:
        raise DriverError(
            Kind.BUSY,
            f"card {device.index} cannot be shown to be idle, and counts as in use: {users.why_unknown}; or, when "
            "nothing uses it, write the list of sliced cards to the sgpu_km module yourself",
        )


def _listed(calls: Calls, card: Handle) -> tuple[Process, ...] | None:
    """As the library writes them; None where it does not, or writes something else than was measured."""
    try:
        count = ctypes.c_uint(0)
        calls.unwrapped(COUNT, card, ctypes.byref(count))
        if count.value > MOST_PROCESSES:
            return None
        room = count.value + _SPARE
        memory = bytearray([_UNTOUCHED]) * (room * _ROOM_PER_RECORD)
        calls.unwrapped(LIST, card, ctypes.c_uint(room), (ctypes.c_char * len(memory)).from_buffer(memory))
    except DriverError:
        return None
    # The room that was named is cleared first, up to its last byte and no further.
    if len(bytes(memory).rstrip(bytes([_UNTOUCHED]))) != room * ctypes.sizeof(ProcessRecord):
        return None
    records = (ProcessRecord * room).from_buffer(memory)
    return tuple(
        Process(pid=each.pid, memory=Bytes(each.memory)) for each in records if each.pid or each.memory
    )
