"""Whether a card may be given to anyone, and if not, why.

A card is out of service when the library says so, when it or a figure of it that could be read before cannot be read
any more, or when its memory lost data. A link that is down is worth a remark and no more: most jobs never use it. What
the library cannot tell is not held against a card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tangram.drivers.lost_memory import lost_memory
from tangram.drivers.mxsml import codes, functions
from tangram.drivers.mxsml.binding import Binding, decoded
from tangram.drivers.mxsml.layouts import BoardWay, EccErrors, MemoryInfo, UnavailableReason
from tangram.drivers.mxsml.sightings import Sighting
from tangram.drivers.unusable import limited, unavailable
from tangram.model.devices import Health
from tangram.units.na import NA, NotAvailable

GONE = "gone"
UNREADABLE = "unreadable"
LINK_DOWN = "link-down"
"""Of a healthy card."""

_FINE = Health(healthy=True)
_ASKED: Final = {
    "memory": "GetMemoryInfo",
    "utilisation": "GetDeviceIpUsage",
    "temperature": "GetTemperatureInfo",
    "power": "GetBoardPowerInfo",
}
_UNITS: Final = {"utilisation": functions.COMPUTE_USAGE, "temperature": functions.HOTSPOT}


def gone(index: int, bdf: str) -> Health:
    """Of a card that was there before."""
    at = f" at {bdf}" if bdf else ""
    return Health(healthy=False, code=GONE, message=f"card {index}{at} is not there any more")


def silences(binding: Binding, seen: Sighting) -> dict[str, str]:
    """Of each figure that is listened to, why it cannot be read; nothing for one that was read.

    A card whose files vanished stays "available" to the library, and one sensor may go alone. Without its file the
    library calls a figure unreadable or not supported, by function. Other codes say something else than that the figure
    is gone, so a figure with one of these is left out. One question each.
    """
    number, found = seen.number, dict[str, str]()
    for figure, function in _ASKED.items():
        if figure == "memory":
            told = binding.record(function, number, into=MemoryInfo) is not NA
        elif figure == "power":
            ways = binding.records(function, number, into=BoardWay, room=functions.POWER_WAYS)
            told = not isinstance(ways, NotAvailable) and len(ways) > 0
        else:
            told = binding.signed(function, number, _UNITS[figure]) is not NA
        status = binding.status
        if told:
            found[figure] = ""
        elif status == codes.DONE:
            found[figure] = f"{functions.PREFIX}{function}: it answers with nothing"
        elif status in {codes.SYSFS_READ, codes.NOT_SUPPORTED}:
            found[figure] = binding.library.error(function, status).sentence
    return found


def silent(seen: Sighting, figures: Sequence[str], reasons: Mapping[str, str]) -> Health:
    """Of a card that does not tell these figures any more; it did before."""
    *most, last = figures
    named = f"{', '.join(most)} and {last}" if most else last
    why = next((reason for figure in figures if (reason := reasons.get(figure))), "")
    return Health(
        healthy=False,
        code=UNREADABLE,
        message=f"card {seen.number} does not tell its {named} any more{': ' if why else ''}{why}",
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
