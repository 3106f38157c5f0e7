"""A card's live figures. Whatever the card does not offer, or fails to tell just now, is `NA`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from tangram.drivers.mtml.calls import Calls, Handle, signed
from tangram.model.devices import Figures, Process
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe, NotAvailable

if TYPE_CHECKING:
    import pymtml

CORRECTED: Final = 0
UNCORRECTED: Final = 1
_SINCE_START = 0
"""Counted since the driver was loaded; the other kind counts over the card's life and never comes down again."""
_DRAM = 1
_ECC_ON = 1


def read_figures(calls: Calls, card: Handle, processes: Maybe[tuple[Process, ...]]) -> Figures:
    """The figures of one moment."""
    gpu = calls.known_handle("mtmlDeviceInitGpu", card)
    memory = calls.known_handle("mtmlDeviceInitMemory", card)
    used, total = _of(calls, memory, "mtmlMemoryGetUsed"), _of(calls, memory, "mtmlMemoryGetTotal")
    utilisation = _of(calls, gpu, "mtmlGpuGetUtilization")
    temperature = _of(calls, gpu, "mtmlGpuGetTemperature")
    power = calls.known_number("mtmlDeviceGetPowerUsage", card)
    ecc = not isinstance(memory, NotAvailable) and has_ecc(calls, memory)
    return Figures(
        utilisation_percent=NA if isinstance(utilisation, NotAvailable) else float(utilisation),
        memory_used=NA if isinstance(used, NotAvailable) else Bytes(used),
        memory_total=NA if isinstance(total, NotAvailable) else Bytes(total),
        temperature_celsius=NA if isinstance(temperature, NotAvailable) else float(signed(temperature)),
        power_watts=NA if isinstance(power, NotAvailable) else power / 1000,
        clocks_mhz=_clocks(calls, gpu, memory),
        ecc_corrected=ecc_errors(calls, memory, CORRECTED) if ecc else NA,
        ecc_uncorrected=ecc_errors(calls, memory, UNCORRECTED) if ecc else NA,
        retired_pages=_retired(calls, memory),
        processes=processes,
    )


def has_ecc(calls: Calls, memory: Maybe[Handle]) -> bool:
    """Whether the memory counts its errors now. Counters of memory that does not are noughts that mean nothing."""
    if isinstance(memory, NotAvailable):
        return False
    answer = calls.known_answer("mtmlMemoryGetEccMode", memory)
    return not isinstance(answer, NotAvailable) and cast("tuple[int, int]", answer)[0] == _ECC_ON


def ecc_errors(calls: Calls, memory: Maybe[Handle], kind: int) -> Maybe[int]:
    """Memory errors of that kind since the driver was loaded."""
    if isinstance(memory, NotAvailable):
        return NA
    return calls.known_number("mtmlMemoryGetEccErrorCounter", memory, kind, _SINCE_START, _DRAM)


def _of(calls: Calls, part: Maybe[Handle], function: str) -> Maybe[int]:
    return NA if isinstance(part, NotAvailable) else calls.known_number(function, part)


def _clocks(calls: Calls, gpu: Maybe[Handle], memory: Maybe[Handle]) -> dict[str, int]:
    clocks = {"gpu": _of(calls, gpu, "mtmlGpuGetClock"), "memory": _of(calls, memory, "mtmlMemoryGetClock")}
    return {name: clock for name, clock in clocks.items() if not isinstance(clock, NotAvailable)}


def _retired(calls: Calls, memory: Maybe[Handle]) -> Maybe[int]:
    if isinstance(memory, NotAvailable):
        return NA
    answer = calls.known_answer("mtmlMemoryGetRetiredPagesCount", memory)
    if isinstance(answer, NotAvailable):
        return NA
    pages = cast("pymtml.c_mtmlPageRetirementCount_t", answer)
    return pages.sbeCount + pages.dbeCount
