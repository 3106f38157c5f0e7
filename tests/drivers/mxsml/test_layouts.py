"""The binding's records against the same records compiled from C, and against the sizes the vendor's binary uses."""

import subprocess
from ctypes import Structure, sizeof

import pytest

from builders.native import program
from tangram.drivers.mxsml import layouts

VENDOR_SIZES: dict[type[Structure], int] = {
    layouts.DeviceInfo: 184,
    layouts.DeviceIds: 516,
    layouts.UnavailableReason: 68,
    layouts.MemoryInfo: 48,
    layouts.BoardWay: 12,
    layouts.EccErrors: 20,
    layouts.SliceInfo: 124,
    layouts.SliceQuota: 12,
    layouts.SliceMemory: 24,
    layouts.LinkSpeed: 8,
    layouts.LinkSpeeds: 56,
    layouts.RemoteEnd: 36,
    layouts.ProcessOnCard1: 48,
    layouts.ProcessOnCard2: 56,
    layouts.ProcessOnCard3: 56,
    layouts.ProcessRecord1: 3144,
    layouts.ProcessRecord2: 3656,
    layouts.ProcessRecord3: 3656,
}


@pytest.fixture(scope="module")
def compiled() -> dict[str, tuple[int, ...]]:
    printed = subprocess.run(
        [program(("mxsml/layout.c",), "layout")], capture_output=True, check=True, text=True, timeout=60
    ).stdout
    return {name: tuple(map(int, numbers)) for name, *numbers in map(str.split, printed.splitlines())}


@pytest.mark.parametrize("record", layouts.RECORDS, ids=lambda record: record.__name__)
def test_a_record_has_the_size_the_vendor_uses(record: type[Structure]) -> None:
    assert sizeof(record) == VENDOR_SIZES[record]


@pytest.mark.parametrize("record", layouts.RECORDS, ids=lambda record: record.__name__)
def test_every_field_is_where_a_c_compiler_puts_it(
    record: type[Structure], compiled: dict[str, tuple[int, ...]]
) -> None:
    name = record.__name__
    ours: dict[str, tuple[int, ...]] = {name: (sizeof(record),)}
    for field in record._fields_:
        where = getattr(record, field[0])
        ours[f"{name}.{field[0]}"] = (where.offset, where.size)
    assert ours == {key: value for key, value in compiled.items() if key.partition(".")[0] == name}


def test_offsets_that_were_seen_in_the_vendors_binary_hold() -> None:
    info, sliced, process = layouts.DeviceInfo, layouts.SliceInfo, layouts.ProcessRecord3
    assert [
        getattr(info, name).offset for name in ("bdf", "gpu_id", "node_id", "uuid", "brand", "mode", "name")
    ] == [
        8,
        40,
        44,
        48,
        144,
        148,
        152,
    ]
    assert [getattr(sliced, name).offset for name in ("memory_mb", "compute", "minor", "online", "uuid")] == [
        8,
        16,
        20,
        24,
        28,
    ]
    assert [getattr(process, name).offset for name in ("name", "count", "cards")] == [4, 68, 72]
    assert layouts.ProcessOnCard3.__dict__["slice_id"].offset == 52


def test_a_roomy_record_has_spare_bytes_behind_it() -> None:
    record = layouts.roomy(layouts.DeviceInfo)
    assert sizeof(record) == 184
    assert bytes(record) == bytes(184)
