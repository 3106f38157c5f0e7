"""The vendor's own package over our twin: so the twin is checked by something we did not write."""

import ctypes
from collections.abc import Iterator

import pymtml
import pytest

from builders.mtml_twin import GIB, Show, eight_s5000, twin_library, uuid_of


@pytest.fixture(autouse=True)
def started(show: Show, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    show(eight_s5000())
    monkeypatch.setattr(pymtml, "mtmlLib", ctypes.CDLL(str(twin_library())))
    monkeypatch.setattr(pymtml, "_mtmlGetFunctionPointer_cache", {})
    pymtml.mtmlLibraryInit()
    yield
    pymtml.mtmlLibraryShutDown()


def test_the_package_finds_the_cards_and_reads_them() -> None:
    assert pymtml.mtmlLibraryGetVersion() == "2.3.5-linux"
    assert pymtml.mtmlSystemGetDriverVersion(pymtml.mtmlLibraryInitSystem()) == "3.3.5-server"
    assert pymtml.mtmlLibraryCountDevice() == 8
    card = pymtml.mtmlLibraryInitDeviceByIndex(6)
    assert pymtml.mtmlDeviceGetIndex(card) == 6
    assert pymtml.mtmlDeviceGetUUID(card) == uuid_of(6)
    assert pymtml.mtmlDeviceGetName(card) == "MTT S5000"
    assert pymtml.mtmlDeviceGetSerialNumber(card) == "SN0006"
    assert pymtml.mtmlDeviceGetGpuPath(card) == "/dev/mtgpu.6"
    assert pymtml.mtmlDeviceCountGpuCores(card) == 8
    assert pymtml.mtmlDeviceGetPowerUsage(card) == 123456
    for same in (
        pymtml.mtmlLibraryInitDeviceByUuid(uuid_of(6)),
        pymtml.mtmlLibraryInitDeviceByPciSbdf("00000000:c3:00.0"),
    ):
        assert pymtml.mtmlDeviceGetIndex(same) == 6


def test_the_package_reads_records_and_bits() -> None:
    card = pymtml.mtmlLibraryInitDeviceByIndex(6)
    place = pymtml.mtmlDeviceGetPciInfo(card)
    assert (place.sbdf, place.segment, place.bus, place.device) == ("00000000:c3:00.0", 0, 0xC3, 0)
    assert (place.pciCurSpeed, place.pciCurWidth, place.pciCurGen, place.busWidth) == (32.0, 16, 5, 0)
    bits = pymtml.mtmlDeviceGetProperty(card)
    assert (bits.virtCap, bits.virtRole, bits.mpcCap, bits.mpcType, bits.mtLinkCap) == (0, 0, 1, 0, 1)
    spec = pymtml.mtmlDeviceGetMtLinkSpec(card)
    assert (spec.version, spec.bandWidth, spec.linkNum) == (20000, 53, 14)


def test_the_package_reads_memory_and_processor() -> None:
    card = pymtml.mtmlLibraryInitDeviceByIndex(0)
    memory, gpu = pymtml.mtmlDeviceInitMemory(card), pymtml.mtmlDeviceInitGpu(card)
    assert (pymtml.mtmlMemoryGetTotal(memory), pymtml.mtmlMemoryGetUsed(memory)) == (80 * GIB, 4 * GIB)
    assert pymtml.mtmlMemoryGetUtilization(memory) == 5
    assert (pymtml.mtmlGpuGetClock(gpu), pymtml.mtmlMemoryGetMaxClock(memory)) == (1750, 8000)
    assert pymtml.mtmlMemoryGetEccMode(memory) == (1, 1)
    assert pymtml.mtmlMemoryGetEccErrorCounter(memory, 1, 0, 1) == 0
    assert pymtml.mtmlMemoryGetRetiredPagesPendingStatus(memory) == 0
    pymtml.mtmlDeviceFreeGpu(gpu)
    pymtml.mtmlDeviceFreeMemory(memory)


def test_the_package_reads_the_topology() -> None:
    zero, four = pymtml.mtmlLibraryInitDeviceByIndex(0), pymtml.mtmlLibraryInitDeviceByIndex(4)
    assert pymtml.mtmlDeviceGetTopologyLevel(zero, four) == 5
    assert pymtml.mtmlDeviceGetP2PStatus(zero, four, 1) == 0
    near = pymtml.mtmlDeviceGetDeviceByTopologyLevel(
        zero, 4, pymtml.mtmlDeviceCountDeviceByTopologyLevel(zero, 4)
    )
    assert [pymtml.mtmlDeviceGetIndex(each) for each in near] == [1, 2, 3]
    assert pymtml.mtmlDeviceCountMtLinkLayouts(zero, four) == 2
    layouts = pymtml.mtmlDeviceGetMtLinkLayouts(zero, four, 2)
    for layout in layouts:
        assert pymtml.mtmlDeviceGetMtLinkState(zero, layout.localLinkId) == 1
        remote = pymtml.mtmlDeviceGetMtLinkRemoteDevice(zero, layout.localLinkId)
        assert pymtml.mtmlDeviceGetIndex(remote) == 4
        back = pymtml.mtmlDeviceGetMtLinkRemoteDevice(four, layout.remoteLinkId)
        assert pymtml.mtmlDeviceGetIndex(back) == 0
    assert pymtml.mtmlDeviceCountMtLinkShortestPaths(zero, four) == (1, 2)
    assert pymtml.mtmlDeviceGetMemoryAffinityWithinNode(four, 2) == [2, 0]
    assert pymtml.mtmlDeviceGetCpuAffinityWithinNode(zero, 1) == [1]


def test_the_package_turns_the_twins_codes_into_its_errors(show: Show) -> None:
    with pytest.raises(pymtml.MTMLError_NotFound):
        pymtml.mtmlLibraryInitDeviceByIndex(8)
    card = pymtml.mtmlLibraryInitDeviceByIndex(0)
    show(eight_s5000().having("fault mtmlDeviceGetName 4", "fault mtmlDeviceGetUUID 2"))
    with pytest.raises(pymtml.MTMLError_NotSupported):
        pymtml.mtmlDeviceGetName(card)
    with pytest.raises(pymtml.MTMLError_DriverFailure):
        pymtml.mtmlDeviceGetUUID(card)
    assert pymtml.mtmlErrorString(12) == "resource is busy"


def test_the_library_stops_only_after_as_many_ends_as_starts() -> None:
    pymtml.mtmlLibraryInit()
    pymtml.mtmlLibraryShutDown()
    assert pymtml.mtmlLibraryCountDevice() == 8
