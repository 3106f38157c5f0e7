"""The records the library fills in, byte for byte as it lays them out on 64-bit machines.

Field names are ours, offsets are the library's. A test compiles the same declarations from C and compares every size
and offset. `roomy` makes records with spare bytes behind them: a newer library whose record has grown then writes into
the spare part and not into somebody else's memory.
"""

from __future__ import annotations

from ctypes import Structure, c_char, c_float, c_int, c_long, c_uint, c_ulong, sizeof
from typing import ClassVar, Final, TypeVar

SPARE: Final = 1024
LINKS: Final = 7
"""Link ports the older link record has room for."""

_Record = TypeVar("_Record", bound=Structure)


class DeviceInfo(Structure):
    device_id: int
    kind: int
    bdf: bytes
    gpu_id: int
    node_id: int
    uuid: bytes
    brand: int
    mode: int
    name: bytes
    _fields_: ClassVar = [
        ("device_id", c_uint),
        ("kind", c_uint),
        ("bdf", c_char * 32),
        ("gpu_id", c_uint),
        ("node_id", c_uint),
        ("uuid", c_char * 96),
        ("brand", c_uint),
        ("mode", c_uint),
        ("name", c_char * 32),
    ]


class DeviceIds(Structure):
    number: int
    ids: list[int]
    _fields_: ClassVar = [("number", c_int), ("ids", c_int * 128)]


class UnavailableReason(Structure):
    code: int
    text: bytes
    _fields_: ClassVar = [("code", c_int), ("text", c_char * 64)]


class MemoryInfo(Structure):
    """In units of 1024 bytes."""

    visible_total: int
    visible_used: int
    total: int
    used: int
    xtt_total: int
    xtt_used: int
    _fields_: ClassVar = [
        ("visible_total", c_long),
        ("visible_used", c_long),
        ("total", c_long),
        ("used", c_long),
        ("xtt_total", c_long),
        ("xtt_used", c_long),
    ]


class BoardWay(Structure):
    """One supply line: mV, mA, mW."""

    voltage: int
    current: int
    power: int
    _fields_: ClassVar = [("voltage", c_uint), ("current", c_uint), ("power", c_uint)]


class EccErrors(Structure):
    sram_corrected: int
    sram_uncorrected: int
    dram_corrected: int
    dram_uncorrected: int
    retired_pages: int
    _fields_: ClassVar = [
        ("sram_corrected", c_uint),
        ("sram_uncorrected", c_uint),
        ("dram_corrected", c_uint),
        ("dram_uncorrected", c_uint),
        ("retired_pages", c_uint),
    ]


class SliceInfo(Structure):
    parent: int
    slice_id: int
    memory_mb: int
    queue_priority: int
    compute: int
    minor: int
    online: int
    uuid: bytes
    _fields_: ClassVar = [
        ("parent", c_uint),
        ("slice_id", c_uint),
        ("memory_mb", c_uint),
        ("queue_priority", c_uint),
        ("compute", c_uint),
        ("minor", c_uint),
        ("online", c_uint),
        ("uuid", c_char * 96),
    ]


class SliceQuota(Structure):
    total_mb: int
    free_mb: int
    free_compute: int
    _fields_: ClassVar = [("total_mb", c_uint), ("free_mb", c_uint), ("free_compute", c_uint)]


class SliceMemory(Structure):
    """In bytes."""

    total: int
    used: int
    free: int
    _fields_: ClassVar = [("total", c_long), ("used", c_long), ("free", c_long)]


class LinkSpeed(Structure):
    speed: float
    width: int
    _fields_: ClassVar = [("speed", c_float), ("width", c_uint)]


class LinkSpeeds(Structure):
    """The older form: all ports in one record."""

    speed: list[float]
    width: list[int]
    _fields_: ClassVar = [("speed", c_float * LINKS), ("width", c_uint * LINKS)]


class RemoteEnd(Structure):
    device_id: int
    bdf: bytes
    _fields_: ClassVar = [("device_id", c_int), ("bdf", c_char * 32)]


class ProcessOnCard1(Structure):
    bdf: bytes
    gpu_id: int
    memory: int
    _fields_: ClassVar = [("bdf", c_char * 32), ("gpu_id", c_uint), ("memory", c_ulong)]


class ProcessOnCard2(Structure):
    bdf: bytes
    gpu_id: int
    memory: int
    die: int
    _fields_: ClassVar = [*ProcessOnCard1._fields_, ("die", c_uint)]


class ProcessOnCard3(Structure):
    bdf: bytes
    gpu_id: int
    memory: int
    die: int
    slice_id: int
    _fields_: ClassVar = [*ProcessOnCard2._fields_, ("slice_id", c_int)]


class ProcessRecord1(Structure):
    pid: int
    name: bytes
    count: int
    cards: list[ProcessOnCard1]
    _fields_: ClassVar = [
        ("pid", c_uint),
        ("name", c_char * 64),
        ("count", c_uint),
        ("cards", ProcessOnCard1 * 64),
    ]


class ProcessRecord2(Structure):
    pid: int
    name: bytes
    count: int
    cards: list[ProcessOnCard2]
    _fields_: ClassVar = [
        ("pid", c_uint),
        ("name", c_char * 64),
        ("count", c_uint),
        ("cards", ProcessOnCard2 * 64),
    ]


class ProcessRecord3(Structure):
    pid: int
    name: bytes
    count: int
    cards: list[ProcessOnCard3]
    _fields_: ClassVar = [
        ("pid", c_uint),
        ("name", c_char * 64),
        ("count", c_uint),
        ("cards", ProcessOnCard3 * 64),
    ]


RECORDS: Final[tuple[type[Structure], ...]] = (
    DeviceInfo,
    DeviceIds,
    UnavailableReason,
    MemoryInfo,
    BoardWay,
    EccErrors,
    SliceInfo,
    SliceQuota,
    SliceMemory,
    LinkSpeed,
    LinkSpeeds,
    RemoteEnd,
    ProcessOnCard1,
    ProcessOnCard2,
    ProcessOnCard3,
    ProcessRecord1,
    ProcessRecord2,
    ProcessRecord3,
)


def roomy(record: type[_Record]) -> _Record:
    """One zeroed record with spare bytes behind it."""
    return record.from_buffer(bytearray(sizeof(record) + SPARE))
