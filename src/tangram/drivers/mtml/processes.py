"""Processes on a card that no slices divide, by two functions that are in the library and in no header.

libmtml 1.5.0 exports them; newer headers and the vendor's package do not mention them. What they take and write was
measured on 1.5.0: a count, and records of 32 bytes with a number and the memory held. A library that has them and
writes other records is recognised by how much it clears, and its list counts as not available. So does an empty list:
the library leaves out what the kernel driver gives number 0, as it may do with processes of other namespaces.
"""

from __future__ import annotations

import ctypes
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.calls import Calls, Handle
from tangram.model.devices import Device, Process
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable

COUNT: Final = "mtmlDeviceCountRunningProcesses"
LIST: Final = "mtmlDeviceGetRunningProcesses"
MOST_PROCESSES: Final = 4096
_SPARE: Final = 8
"""Room for those that come between the two questions."""
_ROOM_PER_RECORD: Final = 1024
"""Bytes: what a record of another library would have to exceed to write where it must not."""
_UNTOUCHED: Final = 0xA5


class ProcessRecord(ctypes.Structure):
    _fields_ = (("pid", ctypes.c_uint), ("memory", ctypes.c_uint64), ("unused", ctypes.c_uint64 * 2))


def running_processes(calls: Calls, card: Handle) -> Maybe[tuple[Process, ...]]:
    """Who holds memory of the card, or `NA` where the library does not tell, or not of all."""
    try:
        count = ctypes.c_uint(0)
        calls.unwrapped(COUNT, card, ctypes.byref(count))
        if not 0 < count.value <= MOST_PROCESSES:
            return NA
        room = count.value + _SPARE
        memory = bytearray([_UNTOUCHED]) * (room * _ROOM_PER_RECORD)
        calls.unwrapped(LIST, card, ctypes.c_uint(room), (ctypes.c_char * len(memory)).from_buffer(memory))
    except DriverError:
        return NA
    # The room that was named is cleared first, up to its last byte and no further.
    if len(bytes(memory).rstrip(bytes([_UNTOUCHED]))) != room * ctypes.sizeof(ProcessRecord):
        return NA
    records = (ProcessRecord * room).from_buffer(memory)
    found = tuple(
        Process(pid=each.pid, memory=Bytes(each.memory)) for each in records if each.pid or each.memory
    )
    return found if found and all(each.pid for each in found) else NA


def refuse_in_use(device: Device, processes: Maybe[tuple[Process, ...]]) -> None:
    """Raise `busy` for a card that processes are known to use. One whose list is not available is not refused."""
    if not isinstance(processes, NotAvailable) and processes:
        pids = ", ".join(str(each.pid) for each in processes[:8])
        raise DriverError(Kind.BUSY, f"card {device.index} is in use by process {pids}")
