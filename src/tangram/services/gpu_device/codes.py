"""Every code with which the agent refuses a start. The set is closed: `docs/refusals.md` shows an example of each.

As in admission, a code never changes its meaning and is never reused; sentences may be reworded at any time.
"""

from enum import StrEnum


class StartCode(StrEnum):
    """Why a container does not start yet, or not at all."""

    START_WITHOUT_IDS = "start-without-ids"
    START_UNNOTED = "start-unnoted"
    START_UNLISTED = "start-unlisted"
    POD_UNKNOWN = "pod-unknown"
    CONTAINER_UNKNOWN = "container-unknown"
    HOLDERS_SEVERAL = "holders-several"
    HOLDERS_DISAGREE = "holders-disagree"
    NOTES_UNREADABLE = "notes-unreadable"
    WAITING_NONE = "waiting-none"
    WAITING_SEVERAL = "waiting-several"

    POD_OVER = "pod-over"
    ALLOCATION_MISSING = "allocation-missing"
    ALLOCATION_UNREADABLE = "allocation-unreadable"
    ALLOCATION_PER_POD = "allocation-per-pod"
    REQUEST_REFUSED = "request-refused"
    MORE_THAN_ASKED = "more-than-asked"
    SLOTS_MISMATCH = "slots-mismatch"

    CARD_UNKNOWN = "card-unknown"
    CARD_OF_OTHER_VENDOR = "card-of-other-vendor"
    CARD_NOT_SLICED = "card-not-sliced"
    CARD_NOT_WHOLE = "card-not-whole"
    CARD_UNHEALTHY = "card-unhealthy"
    MEMORY_IMPOSSIBLE = "memory-impossible"

    MEMORY_OVERSOLD = "memory-oversold"
    COMPUTE_OVERSOLD = "compute-oversold"
    SLOTS_OVERSOLD = "slots-oversold"
    CARD_EXCLUSIVE = "card-exclusive"
    QOS_CLASH = "qos-clash"
    APP_CLASS_CLASH = "app-class-clash"
    CARD_HELD_WHOLE = "card-held-whole"
    CARD_PROMISED = "card-promised"
    RUNS_WITHOUT_CARDS = "runs-without-cards"

    CLAIM_UNKNOWN = "claim-unknown"
    GRANT_CHANGED = "grant-changed"
    CDI_UNWRITABLE = "cdi-unwritable"
    MACA_ABSENT = "maca-absent"
    MEMORY_MISSING = "memory-missing"
    ANSWERED_OTHERWISE = "answered-otherwise"
