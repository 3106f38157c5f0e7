"""Every function of MetaX's library that we call and that changes nothing, with arguments good and bad.

Those that change a card are asked in the stories of `mxsml_changes`. Memory that a function may write is filled with a
pattern before, so that what it leaves alone is compared as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import Structure, c_char, c_int, c_uint, c_uint64

from real_libraries.questions import Call, InOut, Library, Out
from tangram.drivers.mxsml import layouts
from tangram.drivers.mxsml.functions import PREFIX, SIGNATURES

DEVICES = (*range(8), 9, 100, 4096)
OTHERS = (0, 1, 3, 4, 9, 100)
"""Those that each is put beside."""
SLICES = (0, 1, 3, 15, 16, 99)
TEXT = 128


def questions() -> Iterator[Call]:
    """What can be asked without changing anything. Numbers of cards that are not there are among them."""
    yield Call("Init")
    yield from (Call("InitWithFlags", (flags,)) for flags in (0, 1, 2))
    yield from (Call("GetErrorString", (code,)) for code in (*range(30), 2**32 - 1))
    yield from (Call(name) for name in ("GetDeviceCount", "GetPfDeviceCount"))
    yield Call("GetAllLimitedDevices", (_record(layouts.DeviceIds),))
    yield Call("GetNumberOfProcess", (_number(),))
    for room in (0, 1, 4, 16):
        yield Call("GetProcessInfo_v3", (room, _record(layouts.ProcessRecord3, 16)))
    for device in DEVICES:
        yield from _of_device(device)


def _of_device(device: int) -> Iterator[Call]:
    for name, out in _RECORDS.items():
        yield Call(name, (device, out))
    for name, units in _UNITS.items():
        yield from (Call(name, (device, unit, _number())) for unit in units)
    for unit in (0, 1, 2):
        yield Call("GetDeviceVersion", (device, unit, Out("text", TEXT), InOut(96)))
    yield Call("GetDeviceVersion", (device, 1, Out("text", TEXT), InOut(2)))
    yield Call("GetBoardSerial", (device, Out("text", TEXT), InOut(96)))
    yield Call("GetNodeAffinity", (device, 4, _number(times=4)))
    for room in (0, 2, 8):
        yield Call("GetBoardPowerInfo", (device, InOut(room), _record(layouts.BoardWay, 8)))
    for unit in (2, 3, 5, 6, 11, 40):
        yield Call("GetClocks", (device, unit, InOut(8), _number(times=8)))
    yield Call("GetClocks", (device, 3, InOut(1), _number(times=8)))
    for name, record in _PROCESSES.items():
        yield from (Call(name, (device, InOut(room), _record(record, 4))) for room in (0, 1, 4))
    for port in range(10):
        yield Call("GetMetaXLinkRemoteInfo", (device, port, _record(layouts.RemoteEnd)))
    yield Call("GetMetaXLinkState", (device, _number(), Out("text", TEXT), InOut(96)))
    yield Call("GetMetaXLinkInfo_v2", (device, InOut(16), _record(layouts.LinkSpeed, 16)))
    for room in (3, 16):
        yield Call("GetMetaXLinkPortState", (device, _number(times=16), InOut(room)))
    yield Call("GetSgpuCount", (device,))
    for number in SLICES:
        yield from (Call(name, (device, number, out)) for name, out in _OF_SLICE.items())
        yield from (
            Call("GetSgpuAlias", (device, number, Out("text", TEXT), InOut(room))) for room in (96, 2)
        )


def _record(record: type[Structure], times: int = 1) -> Out:
    return Out(record.__name__, times)


def _number(kind: str = "u32", times: int = 1) -> Out:
    return Out(kind, times)


RECORDS = {record.__name__: record for record in layouts.RECORDS} | {
    "u32": c_uint,
    "int": c_int,
    "u64": c_uint64,
    "text": c_char,
}
"""What may be written, by name."""
DECLARED = (*SIGNATURES, "GetErrorString")
"""Every function of the library that we call."""
_RECORDS = {
    "GetDeviceInfo": _record(layouts.DeviceInfo),
    "GetLimitedDeviceInfo": _record(layouts.DeviceInfo),
    "GetVirtualDevicesByPhysicalId": _record(layouts.DeviceIds),
    "GetDeviceState": _number("int"),
    "GetDeviceUnavailableReason": _record(layouts.UnavailableReason),
    "GetSriovState": _number(),
    "GetMemoryInfo": _record(layouts.MemoryInfo),
    "GetBoardPowerLimit": _number(),
    "GetCurrentClocksThrottleReason": _number("u64"),
    "GetTotalEccErrors": _record(layouts.EccErrors),
    "GetMetaXLinkInfo": _record(layouts.LinkSpeeds),
    "GetSgpuToggle": _number(),
    "GetSgpuAvailableQuota": _record(layouts.SliceQuota),
    "GetDeviceSchedClass": _number(),
}
_UNITS = {"GetDeviceIpUsage": (0, 4), "GetTemperatureInfo": (0, 1, 40), "GetDeviceTopology": OTHERS}
_OF_SLICE = {
    "GetSgpuInfo": _record(layouts.SliceInfo),
    "GetSgpuUsage": _number("int"),
    "GetSgpuMemory": _record(layouts.SliceMemory),
}
_PROCESSES = {
    "GetSingleGpuProcess": layouts.ProcessRecord1,
    "GetSingleGpuProcess_v2": layouts.ProcessRecord2,
    "GetSingleGpuProcess_v3": layouts.ProcessRecord3,
}
LIBRARY = Library(PREFIX, RECORDS, Call("InitWithFlags", (1,)), texts=frozenset({"GetErrorString"}))
