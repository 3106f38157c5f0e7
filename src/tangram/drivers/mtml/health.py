"""Whether a card may be given to new pods, from what the driver says about it now.

A card is ill when the driver fails on its calls, when it lost data, or when it waits for a reset to retire memory. A
link that is down or slower makes pods slower, not wrong, so it is a warning on a healthy card.
"""

from __future__ import annotations

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.calls import Calls, Handle
from tangram.drivers.mtml.failures import UNHEALTHY
from tangram.drivers.mtml.figures import UNCORRECTED, ecc_errors, has_ecc
from tangram.drivers.mtml.links import port_states
from tangram.model.devices import Health
from tangram.units.ids import CardUuid
from tangram.units.na import Maybe, NotAvailable

_PENDING = 1
_DOWN = 0
_DEGRADED = 2


def check_card(calls: Calls, position: int, card: Handle) -> Health:
    """The first thing that is wrong with the card, or the first to be warned of, or nothing."""
    calls.about(f"card {position}")
    memory = calls.known_handle("mtmlDeviceInitMemory", card)
    calls.known_number("mtmlDeviceGetPowerUsage", card)
    errors: Maybe[int] = 0
    pending: Maybe[int] = 0
    if not isinstance(memory, NotAvailable):
        calls.known_number("mtmlMemoryGetUsed", memory)
        errors = ecc_errors(calls, memory, UNCORRECTED) if has_ecc(calls, memory) else 0
        pending = calls.known_number("mtmlMemoryGetRetiredPagesPendingStatus", memory)
    links = _links(calls, card)
    for failed in calls.failures:
        if failed.vendor_code in UNHEALTHY:
            return Health(healthy=False, code=UNHEALTHY[failed.vendor_code], message=failed.sentence)
    if not isinstance(errors, NotAvailable) and errors > 0:
        return Health(
            healthy=False,
            code="ecc-uncorrected",
            message=f"{errors} memory errors that could not be corrected since the driver was loaded; "
            "stop its workloads and reset the card",
        )
    if pending == _PENDING:
        return Health(
            healthy=False,
            code="retired-pages-pending",
            message="memory pages wait to be retired; stop its workloads and reset the card",
        )
    denied = next((failed for failed in calls.failures if failed.kind is Kind.NOT_PERMITTED), None)
    if denied is not None:
        return Health(healthy=True, code="not-permitted", message=denied.sentence)
    return links


def unanswering(error: DriverError) -> Health:
    """The health of a card that is listed and does not even tell its name."""
    code = (
        "card-gone" if error.kind is Kind.CARD_GONE else UNHEALTHY.get(error.vendor_code or 0, "unreadable")
    )
    return Health(healthy=False, code=code, message=error.sentence)


def vanished(uuid: CardUuid) -> Health:
    """The health of a card that was there and is not any more."""
    return Health(healthy=False, code="card-gone", message=f"card {uuid} was here and is not listed any more")


def _links(calls: Calls, card: Handle) -> Health:
    states = port_states(calls, card)
    down = [port for port, state in enumerate(states) if state == _DOWN]
    degraded = [port for port, state in enumerate(states) if state == _DEGRADED]
    if down:
        return Health(healthy=True, code="mtlink-down", message=f"MTLink is down on {_ports(down)}")
    if degraded:
        return Health(
            healthy=True, code="mtlink-degraded", message=f"MTLink runs slower on {_ports(degraded)}"
        )
    return Health(healthy=True)


def _ports(ports: list[int]) -> str:
    numbers = ", ".join(map(str, ports))
    return f"port {numbers}" if len(ports) == 1 else f"ports {numbers}"
