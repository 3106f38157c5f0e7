"""A card's live figures, each in the unit of our records."""

from __future__ import annotations

from tangram.drivers.mxsml import functions
from tangram.drivers.mxsml.binding import Binding
from tangram.drivers.mxsml.layouts import BoardWay, EccErrors, MemoryInfo
from tangram.drivers.mxsml.processes import processes_on
from tangram.drivers.mxsml.sightings import Sighting
from tangram.model.devices import Figures
from tangram.units.memory import KIB, Bytes
from tangram.units.na import NA, Maybe, NotAvailable


def read(binding: Binding, seen: Sighting) -> Figures:
    """Every figure the card offers; `NA` for each it does not."""
    if seen.trouble:
        return Figures()
    number = seen.number
    memory = binding.record("GetMemoryInfo", number, into=MemoryInfo)
    used, total = (NA, NA) if isinstance(memory, NotAvailable) else (memory.used, memory.total)
    ecc = binding.record("GetTotalEccErrors", number, into=EccErrors)
    ecc_known = not isinstance(ecc, NotAvailable)
    return Figures(
        utilisation_percent=_percent(binding.signed("GetDeviceIpUsage", number, functions.COMPUTE_USAGE)),
        memory_used=_kib(used),
        memory_total=_kib(total),
        temperature_celsius=_scaled(binding.signed("GetTemperatureInfo", number, functions.HOTSPOT), 100),
        power_watts=_power(binding, number),
        power_cap_watts=_scaled(binding.number("GetBoardPowerLimit", number), 1000),
        clocks_mhz=_clocks(binding, number),
        ecc_corrected=ecc.sram_corrected + ecc.dram_corrected if ecc_known else NA,
        ecc_uncorrected=ecc.sram_uncorrected + ecc.dram_uncorrected if ecc_known else NA,
        retired_pages=ecc.retired_pages if ecc_known else NA,
        throttled_by=_throttles(binding, number),
        processes=processes_on(binding, seen),
    )


def _percent(value: Maybe[int]) -> Maybe[float]:
    # An idle or sleeping card answers -1 for some units.
    return NA if isinstance(value, NotAvailable) or not 0 <= value <= 100 else float(value)


def _kib(value: Maybe[int]) -> Maybe[Bytes]:
    return NA if isinstance(value, NotAvailable) or value < 0 else Bytes(value * KIB)


def _scaled(value: Maybe[int], parts: int) -> Maybe[float]:
    return NA if isinstance(value, NotAvailable) else value / parts


def _power(binding: Binding, number: int) -> Maybe[float]:
    ways = binding.records("GetBoardPowerInfo", number, into=BoardWay, room=functions.POWER_WAYS)
    return NA if isinstance(ways, NotAvailable) or not ways else sum(way.power for way in ways) / 1000


def _clocks(binding: Binding, number: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, units in functions.CLOCKS.items():
        for unit in units:
            clocks = binding.numbers("GetClocks", number, unit)
            if not isinstance(clocks, NotAvailable) and clocks:
                found[name] = clocks[0]
                break
    return found


def _throttles(binding: Binding, number: int) -> tuple[str, ...]:
    bits = binding.bits("GetCurrentClocksThrottleReason", number)
    if isinstance(bits, NotAvailable) or not bits:
        return ()
    return tuple(name for bit, name in functions.THROTTLE_BITS.items() if bits & bit)
