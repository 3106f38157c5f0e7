"""From sightings to the records everyone else reads."""

from __future__ import annotations

from collections.abc import Sequence

from tangram.drivers.mxsml import functions
from tangram.drivers.mxsml.binding import Binding
from tangram.drivers.mxsml.kernel import HOST_DRIVER, NATIVE_DRIVER, Kernel
from tangram.drivers.mxsml.layouts import DeviceIds, MemoryInfo, SliceQuota
from tangram.drivers.mxsml.sightings import Sighting
from tangram.model.cards import Vendor
from tangram.model.devices import Device, DriverMode, SriovState
from tangram.units.ids import CardUuid
from tangram.units.memory import KIB, MIB, Bytes
from tangram.units.na import NA, Maybe, NotAvailable
from tangram.vendors.metax.products import whole_steps

_AFFINITY_WORDS = 4
"""Of 32 NUMA nodes each."""


def describe(binding: Binding, kernel: Kernel, sightings: Sequence[Sighting]) -> tuple[Device, ...]:
    """The cards as devices, in the order they were seen."""
    parents = _parents(binding, kernel, sightings)
    return tuple(_device(binding, kernel, seen, parents.get(seen.uuid)) for seen in sightings)


def _device(binding: Binding, kernel: Kernel, seen: Sighting, parent: CardUuid | None) -> Device:
    place = kernel.place(seen.bdf)
    usable = not seen.trouble
    # A card in trouble stays what it is: its slices are there, and the pods that have them.
    sliced, sliceable = _slicing(binding, seen.number) if usable else kernel.slicing(seen.bdf)
    sriov, split = _sriov(binding, kernel, seen)
    numa = place.numa
    if isinstance(numa, NotAvailable) and usable:
        numa = _affinity(binding, seen.number)
    return Device(
        uuid=seen.uuid,
        index=seen.number,
        vendor=Vendor.METAX,
        product=seen.product,
        bdf=seen.bdf,
        family=seen.family,
        serial=binding.text("GetBoardSerial", seen.number) if usable else NA,
        memory=_memory(binding, seen.number) if usable else NA,
        numa=numa,
        pcie_path=place.path,
        nodes=place.nodes,
        driver_version=_version(binding, seen.number, functions.DRIVER_VERSION) if usable else NA,
        firmware_version=_version(binding, seen.number, functions.BIOS_VERSION) if usable else NA,
        mode=_mode(seen, place.driver, parent),
        sriov=sriov,
        virtual_functions=split,
        virtual_function_of=parent,
        sliced=sliced,
        sliceable=sliceable,
    )


def _memory(binding: Binding, number: int) -> Maybe[Bytes]:
    info = binding.record("GetMemoryInfo", number, into=MemoryInfo)
    return NA if isinstance(info, NotAvailable) or info.total <= 0 else Bytes(info.total * KIB)


def _version(binding: Binding, number: int, unit: int) -> Maybe[str]:
    return binding.text("GetDeviceVersion", number, unit)


def _slicing(binding: Binding, number: int) -> tuple[Maybe[bool], Maybe[Bytes]]:
    toggle = binding.number("GetSgpuToggle", number)
    if isinstance(toggle, NotAvailable) or toggle != 1:
        return NA if isinstance(toggle, NotAvailable) else False, NA
    quota = binding.record("GetSgpuAvailableQuota", number, into=SliceQuota)
    if isinstance(quota, NotAvailable) or not quota.total_mb:
        return True, NA
    return True, whole_steps(quota.total_mb * MIB)


def _affinity(binding: Binding, number: int) -> Maybe[int]:
    words = binding.words("GetNodeAffinity", number, _AFFINITY_WORDS)
    if isinstance(words, NotAvailable):
        return NA
    nodes = [32 * at + bit for at, word in enumerate(words) for bit in range(32) if word >> bit & 1]
    # Near two nodes is near none in particular.
    return nodes[0] if len(nodes) == 1 else NA


def _mode(seen: Sighting, driver: str, parent: CardUuid | None) -> Maybe[DriverMode]:
    if seen.mode == functions.PHYSICAL or driver == HOST_DRIVER or parent is not None:
        return DriverMode.CLOUD
    # A card the library cannot read has not told its mode; the kernel may still.
    return DriverMode.NATIVE if driver == NATIVE_DRIVER or not seen.trouble else NA


def _sriov(binding: Binding, kernel: Kernel, seen: Sighting) -> tuple[Maybe[SriovState], Maybe[int]]:
    if seen.mode == functions.VIRTUAL:
        return NA, NA
    split = kernel.virtual_functions(seen.bdf)
    if isinstance(split, NotAvailable) and seen.mode == functions.PHYSICAL:
        split = _split_by_library(binding, seen.number)
    if not isinstance(split, NotAvailable) and split > 0:
        return SriovState.ON, split
    most = kernel.most_virtual_functions(seen.bdf)
    if not isinstance(most, NotAvailable):
        return (SriovState.OFF if most > 0 else SriovState.FORBIDDEN), 0
    # The library's "state" only says whether the card could.
    able = NA if seen.trouble else binding.number("GetSriovState", seen.number)
    if isinstance(able, NotAvailable):
        return NA, split
    return (SriovState.OFF if able else SriovState.FORBIDDEN), 0


def _split_by_library(binding: Binding, number: int) -> Maybe[int]:
    listed = binding.record("GetVirtualDevicesByPhysicalId", number, into=DeviceIds)
    return NA if isinstance(listed, NotAvailable) else max(0, min(listed.number, functions.MOST_DEVICES))


def _parents(binding: Binding, kernel: Kernel, sightings: Sequence[Sighting]) -> dict[CardUuid, CardUuid]:
    """Whose virtual functions the virtual functions are: by the kernel's link, else by the library's list."""
    by_place = {seen.bdf: seen.uuid for seen in sightings if seen.bdf}
    by_number = {seen.number: seen.uuid for seen in sightings}
    parents: dict[CardUuid, CardUuid] = {}
    for seen in sightings:
        if seen.mode == functions.VIRTUAL and (parent := by_place.get(kernel.parent(seen.bdf))) is not None:
            parents[seen.uuid] = parent
        elif seen.mode == functions.PHYSICAL:
            listed = binding.record("GetVirtualDevicesByPhysicalId", seen.number, into=DeviceIds)
            if not isinstance(listed, NotAvailable):
                mine = listed.ids[: max(0, min(listed.number, functions.MOST_DEVICES))]
                parents |= {by_number[each]: seen.uuid for each in mine if each in by_number}
    return parents
