"""What Moore Threads' toolkit reads on a pod to learn which physical cards it was given."""

from __future__ import annotations

from typing import Final

from tangram.wire import loose
from tangram.wire.errors import WireError, shown

GPU_INDEX: Final = "mthreads.com/gpu-index"
"""Physical card numbers; see `card_numbers`."""
PREDICATE_NODE: Final = "mthreads.com/predicate-node"
PREDICATE_TIME: Final = "mthreads.com/predicate-time"
"""Unix nanoseconds: the toolkit serves waiting pods in this order."""


def decode_card_count(written: str) -> int:
    """The number of cards in `request-gpu-num`. Raises `WireError` for anything below one."""
    count = loose.integer(written)
    if count is None or count < 1:
        raise WireError(
            "count-malformed", f"the number of cards is {shown(written)}: it is a whole number above 0"
        )
    return count
