"""Which cards the library knows, and what each says about itself once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.calls import Calls, Handle
from tangram.drivers.mtml.place import numa_node, pcie_path
from tangram.drivers.mtml.slicing import is_sliced
from tangram.drivers.sgpu_km import SgpuKm
from tangram.model.cards import Vendor
from tangram.model.devices import Device, DeviceNodes
from tangram.units.ids import CardUuid, card_uuid, pci_bus_id
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable, known
from tangram.units.refusal import UnitError
from tangram.vendors.mthreads.tiers import memory_tiers

if TYPE_CHECKING:
    import pymtml

MOST_CARDS: Final = 1024
"""More than any machine has; a larger count is a broken answer, and following it would take for ever."""
_MPC_PARENT = 1
_BRAND_MTT = 0
_NODE_WORDS = 16
"""64-bit words of a mask over 1024 NUMA nodes, the most the kernel can be built for."""


class Found(NamedTuple):
    """A place in the library's list, with the card that answered there or the reason why none did."""

    position: int
    handle: Handle | None = None
    uuid: CardUuid | None = None
    error: DriverError | None = None


def find_cards(calls: Calls) -> list[Found]:
    """Every place in the list. Parents of split cards are passed over: they manage and cannot compute."""
    calls.about("")
    count = calls.count_cards()
    if count > MOST_CARDS:
        raise DriverError(
            Kind.FAILED,
            f"mtmlLibraryCountDevice says {count} cards, which cannot be",
            call="mtmlLibraryCountDevice",
        )
    found = (_found(calls, position) for position in range(count))
    return [each for each in found if each is not None]


def find_card(calls: Calls, uuid: CardUuid) -> Handle:
    """The card with that UUID, or `card-gone`."""
    calls.about(f"card {uuid}")
    try:
        handle = calls.handle("mtmlLibraryInitDeviceByUuid", str(uuid))
    except DriverError as error:
        if error.kind is not Kind.NOT_SUPPORTED:
            raise
    else:
        # A kept handle says nothing about now.
        calls.text("mtmlDeviceGetUUID", handle)
        return handle
    for each in find_cards(calls):
        if each.uuid == uuid and each.handle is not None:
            calls.about(f"card {each.position}")
            return each.handle
    raise DriverError(Kind.CARD_GONE, f"card {uuid} is not on this node any more", call="mtmlDeviceGetUUID")


def read_card(
    calls: Calls, position: int, handle: Handle, uuid: CardUuid, *, sysfs: Path, module: SgpuKm
) -> Device:
    """What the card says; what it does not say is `NA`."""
    calls.about(f"card {position}")
    index = known(calls.known_number("mtmlDeviceGetIndex", handle), position)
    bdf = _bus_address(calls, handle)
    nodes = DeviceNodes(
        control=known(calls.known_text("mtmlDeviceGetGpuPath", handle), ""),
        card=known(calls.known_text("mtmlDeviceGetPrimaryPath", handle), ""),
        render=known(calls.known_text("mtmlDeviceGetRenderPath", handle), ""),
    )
    memory = _memory(calls, handle)
    product = known(calls.known_text("mtmlDeviceGetName", handle), "")
    brand = calls.known_number("mtmlDeviceGetBrand", handle)
    return Device(
        uuid=uuid,
        index=index,
        vendor=Vendor.MTHREADS,
        product=product,
        bdf=bdf,
        family="MTT" if brand == _BRAND_MTT or product.startswith("MTT ") else "",
        serial=calls.known_text("mtmlDeviceGetSerialNumber", handle),
        memory=memory,
        numa=_numa(calls, handle, sysfs, bdf),
        pcie_path=pcie_path(sysfs, bdf),
        nodes=nodes,
        driver_version=_driver_version(calls),
        firmware_version=calls.known_text("mtmlDeviceGetMtBiosVersion", handle),
        sliced=is_sliced(module, nodes, index),
        memory_tiers=() if isinstance(memory, NotAvailable) else memory_tiers(memory),
    )


def lost_places(found: Sequence[Found], last: Mapping[int, CardUuid]) -> dict[int, CardUuid]:
    """For each place that does not answer, the card that was there before, unless that one answers elsewhere now."""
    present = {each.uuid for each in found}
    return {
        each.position: last[each.position]
        for each in found
        if each.uuid is None and each.position in last and last[each.position] not in present
    }


def _found(calls: Calls, position: int) -> Found | None:
    calls.about(f"card {position}")
    try:
        handle = calls.handle("mtmlLibraryInitDeviceByIndex", position)
        if _is_parent(calls, handle):
            return None
        return Found(position, handle, card_uuid(calls.text("mtmlDeviceGetUUID", handle)))
    except DriverError as error:
        return Found(position, error=error)
    except UnitError as error:
        nonsense = f"mtmlDeviceGetUUID (card {position}) answered with no UUID: {error}"
        return Found(position, error=DriverError(Kind.FAILED, nonsense, call="mtmlDeviceGetUUID"))


def _is_parent(calls: Calls, handle: Handle) -> bool:
    answer = calls.known_answer("mtmlDeviceGetProperty", handle)
    if isinstance(answer, NotAvailable):
        return False
    return cast("pymtml.c_mtmlDeviceProperty_t", answer).mpcType == _MPC_PARENT


def _bus_address(calls: Calls, handle: Handle) -> str:
    answer = calls.known_answer("mtmlDeviceGetPciInfo", handle)
    if isinstance(answer, NotAvailable):
        return ""
    info = cast("pymtml.c_mtmlPciInfo_t", answer)
    try:
        return pci_bus_id(info.sbdf)
    except (UnitError, UnicodeDecodeError):
        # The text is broken; the numbers beside it say the same.
        written = f"{info.segment:x}:{info.bus:x}:{info.device:x}.0"
    try:
        return pci_bus_id(written) if info.bus or info.device else ""
    except UnitError:
        return ""


def _memory(calls: Calls, handle: Handle) -> Maybe[Bytes]:
    memory = calls.known_handle("mtmlDeviceInitMemory", handle)
    if isinstance(memory, NotAvailable):
        return NA
    total = calls.known_number("mtmlMemoryGetTotal", memory)
    # No card has no memory: a nought is an answer that was never filled in.
    return NA if isinstance(total, NotAvailable) or total == 0 else Bytes(total)


def _numa(calls: Calls, handle: Handle, sysfs: Path, bdf: str) -> Maybe[int]:
    answer = calls.known_answer("mtmlDeviceGetMemoryAffinityWithinNode", handle, _NODE_WORDS)
    if not isinstance(answer, NotAvailable):
        words = cast("Sequence[int]", answer)
        mask = sum(word << (64 * at) for at, word in enumerate(words))
        if mask.bit_count() == 1:
            return mask.bit_length() - 1
    # Near several nodes, or to none it would name: the kernel's own answer is one number.
    return numa_node(sysfs, bdf)


def _driver_version(calls: Calls) -> Maybe[str]:
    system = calls.known_handle("mtmlLibraryInitSystem")
    return NA if isinstance(system, NotAvailable) else calls.known_text("mtmlSystemGetDriverVersion", system)
