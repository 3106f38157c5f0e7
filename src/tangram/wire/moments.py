"""When a pod was bound, from whichever of the schedulers' clocks it carries.

Two allocations that overlap are settled by it: the later one is refused. So the most exact time wins, and a time that
cannot be read is no time rather than the beginning of the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping

from tangram.wire import hami, loose, metax_allocated, mthreads
from tangram.wire.koordinator import names

_NANOSECONDS = 10**9
_LATEST = 2**63

_KEYS = (
    (metax_allocated.PREDICATE_TIME, 1),
    (mthreads.PREDICATE_TIME, 1),
    (names.BIND_TIMESTAMP, 1),
    (hami.BIND_TIME, _NANOSECONDS),
    (hami.TIME, _NANOSECONDS),
)


def bound_at(annotations: Mapping[str, str]) -> int | None:
    """Unix nanoseconds, or None when the pod does not say."""
    for key, unit in _KEYS:
        moment = loose.integer(annotations.get(key))
        if moment is not None and 0 < moment * unit < _LATEST:
            return moment * unit
    return None
