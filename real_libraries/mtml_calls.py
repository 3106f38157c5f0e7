"""Functions of Moore Threads' library with arguments good and bad: those we call, and those the twin has beside them.

Handles are made by name, and a handle that could not be made goes in as a null pointer. What the stand-in of the kernel
driver cannot answer (`UNTOLD`) is asked all the same: the library must answer that the driver failed. Functions that
the library does not have are asked too, so that a newer one is compared in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import Structure, c_char, c_uint, c_uint64
from typing import Final

import pymtml

from real_libraries.questions import Call, Handle, Library, Made, Nothing, Out, Text
from tangram.drivers.mtml.calls import FUNCTIONS
from tangram.drivers.mtml.processes import COUNT, LIST, ProcessRecord

CARDS: Final = 4
MORE: Final = (9, 4096)
"""Positions in the list at which no card is."""
TEXT: Final = 64
UNTOLD: Final = {
    "SystemGetDriverVersion": "it is read by asking the package manager of the machine",
    "GpuGetTemperature": "which bytes of the kernel driver's answer carry it is not known",
    "MemoryGetTotal": "it comes through memory shared with the kernel driver",
    "MemoryGetUtilization": "it is computed from the total",
}
"""Why the stand-in cannot answer these. Nothing else may differ."""
DRIVER_FAILURE: Final = 2
"""What the library answers to them."""


class PciInfo(Structure):
    """As the package declares it, without its way of reading texts, which fails where memory was not written."""

    _fields_ = pymtml.c_mtmlPciInfo_t._fields_


class Property(Structure):
    _fields_ = pymtml.c_mtmlDeviceProperty_t._fields_


class LinkSpec(Structure):
    _fields_ = pymtml.c_mtmlMtLinkSpec_t._fields_


class LinkLayout(Structure):
    _fields_ = pymtml.c_mtmlMtLinkLayout_t._fields_


class Pages(Structure):
    _fields_ = pymtml.c_mtmlPageRetirementCount_t._fields_


RECORDS: Final = {
    "u32": c_uint,
    "u64": c_uint64,
    "text": c_char,
    "pci": PciInfo,
    "property": Property,
    "process": ProcessRecord,
    "link spec": LinkSpec,
    "link layout": LinkLayout,
    "pages": Pages,
}
LIBRARY: Final = Library(
    "mtml", RECORDS, Call("LibraryInit", (Made("library"),)), texts=frozenset({"ErrorString"})
)
DECLARED: Final = tuple(name.removeprefix("mtml") for name in (*FUNCTIONS, COUNT, LIST))
"""Every function of the library that the driver uses."""

_NUMBER: Final = Out("u32")
_LIBRARY: Final = Handle("library")
_TEXTS: Final = ("UUID", "Name", "MtBiosVersion", "GpuPath", "PrimaryPath", "RenderPath")
_OF_CARD: Final = {"Index": _NUMBER, "Brand": _NUMBER, "PowerUsage": _NUMBER, "Property": Out("property")}
_OF_GPU: Final = ("Utilization", "Temperature", "Clock", "MaxClock")
_OF_MEMORY: Final = {
    "Total": Out("u64"),
    "Used": Out("u64"),
    "Utilization": _NUMBER,
    "Clock": _NUMBER,
    "MaxClock": _NUMBER,
}


def questions() -> Iterator[Call]:
    """All of them, in an order in which handles are made before they are used."""
    yield Call("LibraryInit", (Nothing(),))
    yield from (Call("ErrorString", (code,)) for code in (*range(14), 77, 999, 2**32 - 1))
    yield Call("LibraryShutDown", (Nothing(),))
    yield from _texts("LibraryGetVersion", _LIBRARY)
    yield from _filled("LibraryCountDevice", _LIBRARY, _NUMBER)
    yield Call("LibraryInitSystem", (_LIBRARY, Made("system")))
    yield Call("LibraryInitSystem", (_LIBRARY, Nothing()))
    yield from _texts("SystemGetDriverVersion", Handle("system"))
    for position in (*range(CARDS), *MORE):
        yield Call("LibraryInitDeviceByIndex", (_LIBRARY, position, Made(_card(position))))
    yield Call("LibraryInitDeviceByIndex", (_LIBRARY, 0, Nothing()))
    for place in ("00000000:08:00.0", "00000000:7f:00.0", "0000:08:00.0", "08:00.0", "", "nonsense"):
        named = Text(place.encode())
        yield Call("LibraryInitDeviceByPciSbdf", (_LIBRARY, named, Made(f"at {place}")))
        yield from _filled("DeviceGetIndex", Handle(f"at {place}"), _NUMBER)
    yield Call(
        "LibraryInitDeviceByUuid", (_LIBRARY, Text(b"01234567-0123-0123-0123-0123456789ab"), Made("x"))
    )
    yield Call("LibraryInitDeviceByUuid", (_LIBRARY, Nothing(), Made("y")))
    for position in (*range(CARDS), *MORE):
        yield from _of_card(_card(position))
    for one in range(CARDS):
        for other in range(CARDS):
            pair = (Handle(_card(one)), Handle(_card(other)))
            yield Call("DeviceGetTopologyLevel", (*pair, _NUMBER))
            yield Call("DeviceGetP2PStatus", (*pair, 0, _NUMBER))
            yield Call("DeviceCountMtLinkLayouts", (*pair, _NUMBER))
            yield Call("DeviceGetMtLinkLayouts", (*pair, 4, Out("link layout", 4)))
    for handle in ("card 3 memory", "card 3 gpu"):
        yield Call("DeviceFreeMemory" if "memory" in handle else "DeviceFreeGpu", (Handle(handle),))
    yield Call("LibraryFreeDevice", (Handle(_card(3)),))


def _of_card(name: str) -> Iterator[Call]:
    card = Handle(name)
    for each in _TEXTS:
        yield from _texts(f"DeviceGet{each}", card)
    for each, out in _OF_CARD.items():
        yield from _filled(f"DeviceGet{each}", card, out)
    yield from _filled("DeviceGetPciInfo", card, Out("pci"))
    yield from _filled("DeviceCountRunningProcesses", card, _NUMBER)
    for room in (0, 1, 3, 16, 69, 70, 79, 80, 81, 120):
        yield Call("DeviceGetRunningProcesses", (card, room, Out("process", 120)))
    for room in (TEXT, 4):
        yield Call("DeviceGetSerialNumber", (card, room, Out("text", TEXT)))
    yield Call("DeviceGetMemoryAffinityWithinNode", (card, 16, Out("u64", 16)))
    yield from _filled("DeviceGetMtLinkSpec", card, Out("link spec"))
    for port in (0, 1, 99):
        yield Call("DeviceGetMtLinkState", (card, port, _NUMBER))
        yield Call("DeviceGetMtLinkRemoteDevice", (card, port, Made(f"{name} behind {port}")))
    yield Call("DeviceInitGpu", (card, Made(f"{name} gpu")))
    yield Call("DeviceInitMemory", (card, Made(f"{name} memory")))
    for each in _OF_GPU:
        yield from _filled(f"GpuGet{each}", Handle(f"{name} gpu"), _NUMBER)
    for each, out in _OF_MEMORY.items():
        yield from _filled(f"MemoryGet{each}", Handle(f"{name} memory"), out)
    yield from _of_errors(Handle(f"{name} memory"))


def _of_errors(memory: Handle) -> Iterator[Call]:
    yield Call("MemoryGetEccMode", (memory, _NUMBER, _NUMBER))
    for error in (0, 1, 2):
        yield Call("MemoryGetEccErrorCounter", (memory, error, 1, 1, Out("u64")))
    yield Call("MemoryGetRetiredPagesCount", (memory, Out("pages")))
    yield Call("MemoryGetRetiredPagesPendingStatus", (memory, _NUMBER))


def _filled(function: str, handle: Handle, out: Out) -> Iterator[Call]:
    yield Call(function, (handle, out))
    yield Call(function, (handle, Nothing()))
    yield Call(function, (Nothing(), out))


def _texts(function: str, handle: Handle) -> Iterator[Call]:
    for room in (TEXT, 4, 0):
        yield Call(function, (handle, Out("text", TEXT), room))
    yield Call(function, (handle, Nothing(), TEXT))
    yield Call(function, (Nothing(), Out("text", TEXT), TEXT))


def _card(position: int) -> str:
    return f"card {position}"
