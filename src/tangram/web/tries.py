"""How often somebody may be wrong: a few times at once, and then again as time passes.

Nobody guesses a Kubernetes token. But each guess is a question to the API server, and a form that anybody can reach
must not be a way to ask it as often as they like. Only wrong tries count, so that colleagues behind one address do not
keep each other out by working.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

MOST: Final = 10
PER_MINUTE: Final = 10.0
MOST_ADDRESSES: Final = 4096
_IPV6_SITE: Final = 64
"""One customer has this many bits to choose addresses from."""


class Tries:
    """What each address has left. When there are too many addresses, the one heard of longest ago is forgotten."""

    def __init__(
        self, most: int = MOST, per_minute: float = PER_MINUTE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._per_s = per_minute / 60
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def wait_s(self, address: str) -> int:
        """How long until the next try; 0 for at once."""
        left, at = self._left.get(_site(address), (float(self._most), 0.0))
        now_left = min(self._most, left + (self._clock() - at) * self._per_s)
        return 0 if now_left >= 1 else math.ceil((1 - now_left) / self._per_s)

    def failed(self, address: str) -> None:
        """One try less."""
        site, now = _site(address), self._clock()
        left, at = self._left.pop(site, (float(self._most), now))
        self._left[site] = (max(0.0, min(self._most, left + (now - at) * self._per_s) - 1), now)
        while len(self._left) > MOST_ADDRESSES:
            self._left.popitem(last=False)


def _site(address: str) -> str:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if known.version == 4:
        return str(known)
    mapped = known.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((known, _IPV6_SITE), strict=False))
