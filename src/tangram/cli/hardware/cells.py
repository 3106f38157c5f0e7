"""Figures as they stand in a table: short, with their unit, and N/A where nobody could read them."""

from __future__ import annotations

from tangram.cli.hardware.report import CardReport
from tangram.drivers.inventory import SLICES_PER_CARD
from tangram.model.cards import CardMode, Vendor
from tangram.units.memory import GIB, MIB, Bytes
from tangram.units.na import NA, Maybe, NotAvailable

HEALTHY = "ok"


def percent(figure: Maybe[float]) -> str:
    """A share of a whole, without decimals."""
    return str(figure) if isinstance(figure, NotAvailable) else f"{figure:.0f}%"


def celsius(figure: Maybe[float]) -> str:
    """A temperature."""
    return str(figure) if isinstance(figure, NotAvailable) else f"{figure:.0f} C"


def gibibytes(size: Maybe[Bytes]) -> str:
    """One decimal, and none where it would be a zero."""
    if isinstance(size, NotAvailable):
        return str(size)
    return f"{size / GIB:.1f}".removesuffix(".0")


def memory(used: Maybe[Bytes], total: Maybe[Bytes]) -> str:
    """Used and total in one unit, so that they can be compared at a glance."""
    if isinstance(used, NotAvailable) and isinstance(total, NotAvailable):
        return str(NA)
    return f"{gibibytes(used)}/{gibibytes(total)} GiB"


def size(amount: Maybe[Bytes]) -> str:
    """Small amounts in MiB, because a process of 300 MiB is not 0.3 GiB to anybody."""
    if isinstance(amount, NotAvailable):
        return str(amount)
    return f"{amount // MIB} MiB" if amount < 10 * GIB else f"{gibibytes(amount)} GiB"


def power(used: Maybe[float], cap: Maybe[float]) -> str:
    """Drawn power, with its cap where there is one."""
    if isinstance(used, NotAvailable) and isinstance(cap, NotAvailable):
        return str(NA)
    drawn = str(used) if isinstance(used, NotAvailable) else f"{used:.0f}"
    return f"{drawn} W" if isinstance(cap, NotAvailable) else f"{drawn}/{cap:.0f} W"


def compute(cores: int, vendor: str) -> str:
    """A slice's compute in the unit of its vendor."""
    return f"{cores}/16" if vendor == Vendor.MTHREADS else f"{cores}%"


def mode(card: CardReport) -> str:
    """How the card is offered, with how much of it is taken."""
    if card.mode == CardMode.SLICED:
        taken = "?" if isinstance(card.slices, NotAvailable) else len(card.slices)
        return f"sliced {taken}/{SLICES_PER_CARD}{_of_less(card.sliceable, card.memory_total)}"
    if card.mode == CardMode.VIRTUAL:
        return f"{card.virtual_functions} VF"
    return str(card.mode) if isinstance(card.mode, NotAvailable) else "whole"


def _of_less(sliceable: Maybe[Bytes], total: Maybe[Bytes]) -> str:
    """What can be sliced, where it is not the memory that stands in its own column: else it would be told twice."""
    if isinstance(sliceable, NotAvailable) or sliceable == total:
        return ""
    return f" of {gibibytes(sliceable)} GiB"


def health(card: CardReport) -> str:
    """One word for a good card, the reason for a bad one, and the warning of one that may still be used."""
    if isinstance(card.healthy, NotAvailable):
        return str(card.healthy)
    reason = card.health_message or card.health_code
    if card.healthy:
        return f"{HEALTHY}, but {reason}" if reason else HEALTHY
    return f"BAD: {reason}" if reason else "BAD"
