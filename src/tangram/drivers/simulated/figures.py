"""Live figures of a simulated card: a pure function of the description, the time and who holds what.

The numbers move so that a screen looks alive, and they move the same way every time.
"""

from __future__ import annotations

import math
from typing import Final

from tangram.drivers.simulated.description import CardSpec, Fault, Figure
from tangram.drivers.simulated.faults import TOO_HOT
from tangram.drivers.simulated.state import WHOLE, CardState
from tangram.model.cards import Vendor
from tangram.model.devices import Figures, Process
from tangram.units.memory import MIB, Bytes
from tangram.units.na import NA

POWER_CAP: Final = {
    "MXC500": 350,
    "MXC550": 450,
    "MXC600": 850,
    "MTT S5000": 950,
    "X10000": 950,
}
_USUAL_CAP: Final = 350
_NO_ECC: Final = ("MTT S4000", "MTT S3000", "MTT S80", "MTT S70")
_IDLE_MEMORY: Final = {Vendor.METAX: 858 * MIB, Vendor.MTHREADS: 0}
_CLOCKS: Final = {
    Vendor.METAX: {"XCORE": (200, 1600), "MC": (1600, 1600)},
    Vendor.MTHREADS: {"graphics": (200, 1750), "memory": (1200, 8000)},
}
_WEIGHTS_PER_CARD: Final = 16
_AMBIENT: Final = 34.0


def figures_at(spec: CardSpec, state: CardState, faults: frozenset[Fault], now: float) -> Figures:
    """All figures of the card at that moment, without those the description takes away."""
    used = _override(state, Figure.UTILISATION, _utilisation(spec, state, now))
    heat = _override(state, Figure.TEMPERATURE, _temperature(faults, used, spec.position, now))
    cap = float(POWER_CAP.get(spec.product, _USUAL_CAP))
    watts = _override(state, Figure.POWER, round(cap * (0.17 + 0.78 * used / 100), 1))
    has_ecc = spec.product not in _NO_ECC
    errors = int(_override(state, Figure.ECC, 2.0 if Fault.ECC in faults else 0.0))
    held = _IDLE_MEMORY[spec.vendor] + sum(holder.memory for holder in state.holders.values())
    memory = Bytes(int(_override(state, Figure.MEMORY, float(min(held, spec.memory)))))

    def offered(figure: Figure) -> bool:
        return figure not in spec.without

    return Figures(
        utilisation_percent=used if offered(Figure.UTILISATION) else NA,
        memory_used=memory if offered(Figure.MEMORY) else NA,
        memory_total=spec.memory if offered(Figure.MEMORY) else NA,
        temperature_celsius=heat if offered(Figure.TEMPERATURE) else NA,
        power_watts=watts if offered(Figure.POWER) else NA,
        power_cap_watts=cap if offered(Figure.POWER) else NA,
        clocks_mhz=_clocks(spec.vendor, used) if offered(Figure.CLOCKS) else {},
        ecc_corrected=0 if has_ecc and offered(Figure.ECC) else NA,
        ecc_uncorrected=errors if (has_ecc or errors) and offered(Figure.ECC) else NA,
        retired_pages=(1 if errors else 0) if has_ecc and offered(Figure.ECC) else NA,
        throttled_by=("chip over temperature",) if heat >= TOO_HOT else (),
        processes=_processes(state) if offered(Figure.PROCESSES) else NA,
    )


def part_utilisation(spec: CardSpec, state: CardState, part: int, now: float) -> float:
    """How much of the card one part uses."""
    if part not in state.holders:
        return 0.0
    return round(
        _share(state, spec.vendor, part) * (0.8 + 0.15 * math.sin(now / 7 + spec.position + part)), 1
    )


def _override(state: CardState, figure: Figure, otherwise: float) -> float:
    return state.overrides.get(figure, otherwise)


def _utilisation(spec: CardSpec, state: CardState, now: float) -> float:
    parts = sum(part_utilisation(spec, state, part, now) for part in state.holders)
    return round(min(100.0, spec.load + parts), 1)


def _share(state: CardState, vendor: Vendor, part: int) -> float:
    """Percent of the card that a part may use."""
    if part == WHOLE:
        return 100.0
    if state.virtual_functions:
        return 100.0 / state.virtual_functions
    held = state.slice(part)
    if held is None:
        return 0.0
    if vendor is Vendor.METAX:
        return float(held.cores)
    weights = sum(each.cores for each in state.slices)
    return 100.0 * held.cores / max(weights, _WEIGHTS_PER_CARD)


def _temperature(faults: frozenset[Fault], used: float, position: int, now: float) -> float:
    if Fault.OVERHEAT in faults:
        return TOO_HOT + 3.0
    return round(_AMBIENT + 0.35 * used + 1.5 * math.sin(now / 30 + position), 1)


def _clocks(vendor: Vendor, used: float) -> dict[str, int]:
    return {name: low if used == 0 else high for name, (low, high) in _CLOCKS[vendor].items()}


def _processes(state: CardState) -> tuple[Process, ...]:
    return tuple(
        Process(holder.pid, holder.name, holder.memory, None if part == WHOLE else part)
        for part, holder in sorted(state.holders.items())
    )
