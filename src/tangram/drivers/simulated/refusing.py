"""How a simulated card says no, so that every rule words it the same way."""

from __future__ import annotations

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.description import CardSpec


def label(spec: CardSpec) -> str:
    """How people speak of the card, on the command line and in sentences."""
    return f"GPU-{spec.position}"


def refused(kind: Kind, spec: CardSpec, why: str, instead: str) -> DriverError:
    """What is in the way, and what to do about it."""
    return DriverError(kind, f"{label(spec)}: {why}; {instead}")
