"""What is wrong with a card at a moment.

It is worked out anew each time from the described timeline and what people added to it, so time may jump.
"""

from __future__ import annotations

from collections.abc import Iterable

from tangram.drivers.simulated.description import Event, Fault
from tangram.model.devices import Figures, Health

TOO_HOT = 105
"""Degrees at which a card is taken out of service."""

NOT_STARTED = Health(healthy=False, code="unavailable", message="the kernel driver could not start the card")


def active_faults(events: Iterable[Event], card: int, now: float) -> frozenset[Fault]:
    """The card's faults now; events come in the order of time."""
    active: frozenset[Fault] = frozenset()
    for event in events:
        if event.card != card or event.at > now:
            continue
        active = frozenset() if event.fault is Fault.RECOVER else active | {event.fault}
    return active


def times_vanished(events: Iterable[Event], card: int, now: float) -> int:
    """How often the card has gone away; each time, whatever was made on it was lost."""
    return sum(event.card == card and event.fault is Fault.VANISH and event.at <= now for event in events)


def health_of(faults: frozenset[Fault], figures: Figures) -> Health:
    """Whether new tenants may come, by the worst thing that is wrong."""
    if Fault.VANISH in faults:
        return Health(healthy=False, code="card-gone", message="the card is no longer on the bus")
    if Fault.HANG in faults:
        return Health(healthy=False, code="stuck", message="calls about the card do not return")
    errors = figures.ecc_uncorrected
    if Fault.ECC in faults or (isinstance(errors, int) and errors > 0):
        count = errors if isinstance(errors, int) else "some"
        return Health(
            healthy=False, code="ecc-uncorrected", message=f"{count} memory errors could not be corrected"
        )
    heat = figures.temperature_celsius
    if Fault.OVERHEAT in faults or (isinstance(heat, float) and heat >= TOO_HOT):
        return Health(healthy=False, code="overheat", message=f"the card is at {heat} C")
    if Fault.LINK in faults:
        return Health(healthy=False, code="link-down", message="the card's direct links are down")
    return Health(healthy=True)
