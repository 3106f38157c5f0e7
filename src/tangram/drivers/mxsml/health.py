"""Whether a card may be given to anyone, and if not, why.

A card is out of service when the library says so, when it cannot be read, or when its memory lost data. A link that is
down is worth a remark and no more: most jobs never use it. What the library cannot tell is not held against a card.
"""

from __future__ import annotations

from tangram.drivers.lost_memory import lost_memory
from tangram.drivers.mxsml import codes, functions
from tangram.drivers.mxsml.binding import Binding, decoded
from tangram.drivers.mxsml.layouts import EccErrors, MemoryInfo, UnavailableReason
from tangram.drivers.mxsml.sightings import Sighting
from tangram.drivers.unusable import limited, unavailable
from tangram.model.devices import Health
from tangram.units.na import NotAvailable

GONE = "gone"
UNREADABLE = "unreadable"
LINK_DOWN = "link-down"
"""Of a healthy card."""

_FINE = Health(healthy=True)


def gone(index: int, bdf: str) -> Health:
    """Of a card that was there before."""
    at = f" at {bdf}" if bdf else ""
    return Health(healthy=False, code=GONE, message=f"card {index}{at} is not there any more")


def answers(binding: Binding, seen: Sighting) -> bool:
    """Whether its figures can be read. A card whose files vanished stays "available" to the library."""
    binding.record("GetMemoryInfo", seen.number, into=MemoryInfo)
    return binding.status != codes.SYSFS_READ


def silent(binding: Binding, seen: Sighting) -> Health:
    """Of a card whose figures could be read before."""
    why = binding.library.error("GetMemoryInfo", codes.SYSFS_READ).sentence
    return Health(
        healthy=False, code=UNREADABLE, message=f"card {seen.number} does not answer any more: {why}"
    )


def judge(binding: Binding, seen: Sighting, uncorrected_limit: int) -> Health:
    """The health of a card that is there."""
    if seen.trouble:
        if seen.limited:
            return limited(_reason(binding, seen.number) or seen.trouble)
        return Health(healthy=False, code=UNREADABLE, message=seen.trouble)
    return _availability(binding, seen) or _memory(binding, seen, uncorrected_limit) or _link(binding, seen)


def _availability(binding: Binding, seen: Sighting) -> Health | None:
    state = binding.signed("GetDeviceState", seen.number)
    status = binding.status
    if state == 1:
        return None
    if status == codes.GONE:
        return gone(seen.number, seen.bdf)
    reason = _reason(binding, seen.number)
    if not isinstance(state, NotAvailable):
        return unavailable(reason or f"the library calls it unavailable (state {state}) and gives no reason")
    if reason:
        return unavailable(reason)
    if status in {codes.NOT_SUPPORTED, codes.ABSENT}:
        return None
    trouble = binding.library.error("GetDeviceState", status).sentence
    return Health(healthy=False, code=UNREADABLE, message=trouble)


def _reason(binding: Binding, number: int) -> str:
    found = binding.record("GetDeviceUnavailableReason", number, into=UnavailableReason)
    if isinstance(found, NotAvailable):
        return ""
    text = decoded(found.text)
    return text or (f"reason {found.code}" if found.code else "")


def _memory(binding: Binding, seen: Sighting, limit: int) -> Health | None:
    ecc = binding.record("GetTotalEccErrors", seen.number, into=EccErrors)
    if isinstance(ecc, NotAvailable):
        return None
    return lost_memory(ecc.sram_uncorrected + ecc.dram_uncorrected, ecc.retired_pages, limit)


def _link(binding: Binding, seen: Sighting) -> Health:
    state, text = binding.state_with_text("GetMetaXLinkState", seen.number)
    if isinstance(state, NotAvailable) or state in {functions.LINK_ON, functions.LINK_OFF_FOR_SRIOV}:
        return _FINE
    words = functions.LINK_STATES.get(state, f"state {state}")
    detail = f" ({text})" if text else ""
    return Health(healthy=True, code=LINK_DOWN, message=f"MetaXLink is not in use: {words}{detail}")
