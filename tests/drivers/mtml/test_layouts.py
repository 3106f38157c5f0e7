"""The records of the library, seen by a C compiler, by the vendor's package, and by the sizes we insist on."""

import ctypes
import subprocess

import pymtml
import pytest

from builders.native import program
from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.package import RECORD_SIZES, refuse_wrong_records

RECORDS: dict[str, type[ctypes.Structure]] = {
    "MtmlPciInfo": pymtml.c_mtmlPciInfo_t,
    "MtmlDeviceProperty": pymtml.c_mtmlDeviceProperty_t,
    "MtmlMtLinkSpec": pymtml.c_mtmlMtLinkSpec_t,
    "MtmlMtLinkLayout": pymtml.c_mtmlMtLinkLayout_t,
    "MtmlPageRetirementCount": pymtml.c_mtmlPageRetirementCount_t,
}


def compiled_layout() -> list[list[str]]:
    printed = subprocess.run(
        [program(("mtml/layout.c",), "layout")], capture_output=True, check=True, text=True
    )
    return [line.split() for line in printed.stdout.splitlines()]


def test_the_vendors_package_has_every_field_where_the_compiler_puts_ours() -> None:
    wrong: list[str] = []
    for record, field, offset, size in compiled_layout():
        kind = RECORDS[record]
        if field == ".":
            found = ("0", str(ctypes.sizeof(kind)))
        elif offset == "mask":
            found = ("mask", str(mask_of(field)))
        else:
            place = getattr(kind, field)
            found = (str(place.offset), str(place.size))
        if found != (offset, size):
            wrong.append(f"{record}.{field}: C has {offset} {size}, the package {found}")
    assert wrong == []


def mask_of(field: str) -> int:
    record = pymtml.c_mtmlDeviceProperty_t()
    setattr(record, field, 0xFFFFFFFF)
    return int.from_bytes(bytes(record)[:4], "little")


def test_the_sizes_we_insist_on_are_those_of_the_c_declarations() -> None:
    sizes = {record: int(size) for record, field, _, size in compiled_layout() if field == "."}
    assert {RECORDS[record].__name__: size for record, size in sizes.items()} == RECORD_SIZES
    assert sizes["MtmlPciInfo"] == 104


def test_a_package_whose_records_are_too_small_is_refused_before_the_library_writes_past_them() -> None:
    class TooSmall(ctypes.Structure):
        _fields_ = [("segment", ctypes.c_uint * 25)]

    with pytest.raises(DriverError, match="has 100 bytes where the library writes 104") as caught:
        refuse_wrong_records(vars(pymtml) | {"c_mtmlPciInfo_t": TooSmall})
    assert caught.value.kind is Kind.NO_LIBRARY
