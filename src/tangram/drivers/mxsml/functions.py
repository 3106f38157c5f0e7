"""The functions of the library that we call, and the numbers it gives to things.

Only what is called is declared: each declaration is a promise about somebody else's binary. Every output is declared as
a plain address, so that a roomy record may be passed wherever a record is expected.
"""

from __future__ import annotations

from ctypes import c_uint, c_void_p
from typing import Final

PREFIX: Final = "mxSml"

_U = c_uint
_P = c_void_p

SIGNATURES: Final[dict[str, tuple[type[c_uint | c_void_p], ...]]] = {
    "Init": (),
    "InitWithFlags": (_U,),
    "GetDeviceCount": (),
    "GetPfDeviceCount": (),
    "GetVirtualDevicesByPhysicalId": (_U, _P),
    "GetDeviceInfo": (_U, _P),
    "GetAllLimitedDevices": (_P,),
    "GetLimitedDeviceInfo": (_U, _P),
    "GetDeviceState": (_U, _P),
    "GetDeviceUnavailableReason": (_U, _P),
    "GetDeviceVersion": (_U, _U, _P, _P),
    "GetBoardSerial": (_U, _P, _P),
    "GetSriovState": (_U, _P),
    "GetNodeAffinity": (_U, _U, _P),
    "GetMemoryInfo": (_U, _P),
    "GetDeviceIpUsage": (_U, _U, _P),
    "GetTemperatureInfo": (_U, _U, _P),
    "GetBoardPowerInfo": (_U, _P, _P),
    "GetBoardPowerLimit": (_U, _P),
    "GetClocks": (_U, _U, _P, _P),
    "GetCurrentClocksThrottleReason": (_U, _P),
    "GetTotalEccErrors": (_U, _P),
    "GetNumberOfProcess": (_P,),
    "GetProcessInfo_v3": (_U, _P),
    "GetSingleGpuProcess": (_U, _P, _P),
    "GetSingleGpuProcess_v2": (_U, _P, _P),
    "GetSingleGpuProcess_v3": (_U, _P, _P),
    "GetDeviceTopology": (_U, _U, _P),
    "GetMetaXLinkInfo": (_U, _P),
    "GetMetaXLinkInfo_v2": (_U, _P, _P),
    "GetMetaXLinkRemoteInfo": (_U, _U, _P),
    "GetMetaXLinkState": (_U, _P, _P, _P),
    "GetMetaXLinkPortState": (_U, _P, _P),
    "GetSgpuToggle": (_U, _P),
    "SetSgpuToggle": (_U, _U),
    "CreateSgpu": (_U, _U, _U, _P),
    "RemoveSgpu": (_U, _U),
    "GetSgpuCount": (_U,),
    "GetSgpuInfo": (_U, _U, _P),
    "GetSgpuUsage": (_U, _U, _P),
    "GetSgpuMemory": (_U, _U, _P),
    "GetSgpuAvailableQuota": (_U, _P),
    "SetSgpuVramQuota": (_U, _U, _U),
    "SetSgpuComputeQuota": (_U, _U, _U),
    "SetSgpuDeviceQueuePriority": (_U, _U, _U),
    "GetDeviceSchedClass": (_U, _P),
    "SetDeviceSchedClass": (_U, _U),
    "GetSgpuAlias": (_U, _U, _P, _P),
    "SetSgpuAlias": (_U, _U, _P),
}
"""By name without the prefix. `GetErrorString`, which answers with text, is bound apart."""

OLDER: Final = {
    "InitWithFlags": "Init",
    "GetMetaXLinkInfo_v2": "GetMetaXLinkInfo",
    "GetProcessInfo_v3": "GetSingleGpuProcess_v3",
    "GetSingleGpuProcess_v3": "GetSingleGpuProcess_v2",
    "GetSingleGpuProcess_v2": "GetSingleGpuProcess",
}
"""What is called in place of a function that the library does not have."""

COUNTS: Final = frozenset({"GetDeviceCount", "GetPfDeviceCount", "GetSgpuCount"})
"""These answer with a count and have no way to report an error."""

MOST_DEVICES: Final = 128
"""The library's own lists end here; a larger count is garbage."""
FIRST_PHYSICAL_ID: Final = 100
"""Cards split into virtual functions are numbered from here on."""
RE_ENUMERATE: Final = 1

BRANDS: Final = {1: "MXN", 2: "MXC", 3: "MXG", 4: "MXX"}
PHYSICAL: Final = 1
VIRTUAL: Final = 2

BIOS_VERSION: Final = 0
DRIVER_VERSION: Final = 1
COMPUTE_USAGE: Final = 4
HOTSPOT: Final = 0
POWER_WAYS: Final = 8
"""Room for the ways that feed a board, of which there are two or three."""
CLOCKS: Final = {"XCORE": (11,), "MC": (2, 3), "VPUE": (5,), "VPUD": (6,)}
"""Units by name. The memory of C cards has another number than that of N cards."""

METAXLINK_LEVEL: Final = 5
LINK_PORTS: Final = range(1, 8)

LINK_ON: Final = 0
LINK_OFF_FOR_SRIOV: Final = 2
LINK_STATES: Final = {
    0: "enabled",
    1: "switched off by a person",
    2: "off because SR-IOV is on",
    3: "off because the number of cards fits no layout",
    4: "training failed",
}
PORT_UP: Final = 1
PORT_STATES: Final = {
    0: "not trained",
    1: "up",
    2: "down, optical module in place",
    3: "down, no optical module",
    4: "optical module not used",
    5: "not used",
}

THROTTLE_BITS: Final = {
    0x2: "application limit",
    0x4: "power",
    0x8: "chip temperature",
    0x10: "voltage regulator temperature",
    0x20: "memory temperature",
    0x40: "temperature",
    0x80: "board power signal",
    0x100: "power brake",
    0x200: "current swing",
    0x80000000: "other",
}
"""Idle and low use, which also set bits, slow nobody down."""

ALIAS_BYTES: Final = 32
"""With the zero at the end."""
