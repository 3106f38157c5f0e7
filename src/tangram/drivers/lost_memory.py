"""When errors of a card's memory take it out of service, whichever driver counted them."""

from __future__ import annotations

from typing import Final

from tangram.model.devices import Health

ECC: Final = "ecc-uncorrected"
RETIRED: Final = "retired-pages"


def lost_memory(uncorrected: int, retired_pages: int, limit: int = 0) -> Health | None:
    """Unhealthy for more uncorrected errors, or more pages given up after double bit errors, than the limit.

    Koordinator's device daemon judges by the same two. Counts that could not be read are not among these: a missing one
    hides no known one.
    """
    if uncorrected > limit:
        errors = "error" if uncorrected == 1 else "errors"
        return Health(healthy=False, code=ECC, message=f"{uncorrected} uncorrected memory {errors}")
    if retired_pages > limit:
        pages = "page was" if retired_pages == 1 else "pages were"
        message = f"{retired_pages} memory {pages} retired after double bit errors"
        return Health(healthy=False, code=RETIRED, message=message)
    return None
