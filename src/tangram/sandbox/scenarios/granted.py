"""What a container found when it started, read from its log.

The log is written by whoever starts the container, from the files that the real agent left there. So it is the other
end of an allocation, and a story that shows an allocation compares it with this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from tangram.model.allocations import Share
from tangram.model.requests import AskKind
from tangram.units.memory import Bytes, parse_memory

_LINE: Final = re.compile(
    r"^\[sandbox\] card (?P<card>\d+): (?P<product>[^,\n]+), (?P<uuid>[^,\n]+), "
    r"(?:whole, (?P<all>[^,\n]+)|slice \d+: (?P<part>.+?) of memory, (?P<cores>\d+) (?:%|of 16 shares) of compute"
    r"(?:, (?P<policy>[a-z-]+))?)$",
    re.MULTILINE,
)


class Given(Struct, frozen=True, kw_only=True):
    """One card, or a part of it, inside a container."""

    card: int
    product: str
    uuid: str
    memory: Bytes
    cores: int | None
    """Percent of a MetaX card, sixteenths of a Moore Threads card; None where the whole card is there."""
    policy: str = ""


def given_in(log: str) -> tuple[Given, ...]:
    """The cards that a container's log tells of."""
    return tuple(
        Given(
            card=int(found["card"]),
            product=found["product"],
            uuid=found["uuid"],
            memory=parse_memory(found["all"] or found["part"]),
            cores=None if found["cores"] is None else int(found["cores"]),
            policy=found["policy"] or "",
        )
        for found in _LINE.finditer(log)
    )


def agree(shares: Sequence[Share], given: Sequence[Given]) -> bool:
    """Whether a container has exactly what its pod was allotted: these cards, as much memory, as much compute."""
    allotted = sorted((share.card, share.memory, _cores(share)) for share in shares)
    found = sorted((each.uuid, each.memory, -1 if each.cores is None else each.cores) for each in given)
    return allotted == found


def _cores(share: Share) -> int:
    return -1 if share.kind is AskKind.WHOLE else share.cores
