"""Cards that are on the bus and that the vendor's software cannot use, named and judged alike by every driver.

Leaving them out would turn a broken card into a smaller node; calling them healthy would sell a card that no container
can use.
"""

from __future__ import annotations

from typing import Final

from tangram.model.devices import Health
from tangram.units.ids import CardUuid

LIMITED: Final = "limited"
"""The vendor's software sees the card and cannot use it."""
UNAVAILABLE: Final = "unavailable"
"""It could, but the kernel driver has taken the card out of service."""


def uuid_at(bdf: str) -> CardUuid:
    """What to call a card that does not tell its uuid, in a spelling that cannot be taken for one."""
    return CardUuid(f"PCI-{bdf}")


def limited(reason: str) -> Health:
    """Of a card that the vendor's software cannot use, with its word for why."""
    return Health(healthy=False, code=LIMITED, message=reason)


def unavailable(reason: str) -> Health:
    """Of a card that is out of service, with the kernel driver's word for why."""
    return Health(healthy=False, code=UNAVAILABLE, message=reason)
