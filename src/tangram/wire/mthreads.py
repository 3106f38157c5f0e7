"""What Moore Threads' toolkit reads on a pod to learn which physical cards it was given."""

from __future__ import annotations

from typing import Final

GPU_INDEX: Final = "mthreads.com/gpu-index"
"""Physical card numbers; see `card_numbers`."""
PREDICATE_NODE: Final = "mthreads.com/predicate-node"
PREDICATE_TIME: Final = "mthreads.com/predicate-time"
"""Unix nanoseconds: the toolkit serves waiting pods in this order."""
