"""Amounts of a card, short enough for its box."""

from __future__ import annotations

from tangram.units.memory import GIB, MIB

_PERCENT = 100


def memory_text(size: int) -> str:
    """With one decimal at most."""
    if 0 < size < GIB:
        return f"{max(1, size // MIB)} MiB"
    return f"{_gibibytes(size)} GiB"


def memory_of(used: int, total: int) -> str:
    """`16/64 GiB`, one unit for both."""
    return f"{_gibibytes(used)}/{_gibibytes(total)} GiB"


def compute_text(cores: int, of: int) -> str:
    """Percent for a card that is counted so, else parts of what it has."""
    return f"{cores}%" if of == _PERCENT else f"{cores}/{of}"


def share_of(used: float, total: float) -> float:
    """From 0 to 1, whatever was counted."""
    return min(1.0, max(0.0, used / total)) if total > 0 else 0.0


def _gibibytes(size: int) -> str:
    return f"{size / GIB:,.1f}".removesuffix(".0")
