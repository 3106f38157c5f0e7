"""What MetaX's plugin publishes about links: figures per request size, which are read too, and zones.

The figures are a JSON object from number of cards to an integer, up to the number of cards free right now. A peer
reads a missing or unreadable figure as 0, the best loss there is, and so prefers the node it knows least about; here
unreadable is an error and missing stays missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tangram.vendors.metax import names
from tangram.wire import jsontext, loose
from tangram.wire.errors import WireError, shown

SCORES: Final = "metax-tech.com/gpu.topology.scores"
LOSSES: Final = "metax-tech.com/gpu.topology.losses"
ZONES: Final = "metax-tech.com/gpu.topology.zones"

DIRECT_LINK: Final = "DirectLink"

_WEIGHT = "topologyLinkWeight"
_LARGEST = 2**31 - 1
"""Peers read 32 bits, and so does our engine."""


class LinkZone(msgspec.Struct, frozen=True, kw_only=True):
    """Cards that are joined directly, with how many of them there are, work, and are free."""

    name: str
    """`gpu-group-0` and up."""
    kind: str = DIRECT_LINK
    weight: int | None = None
    """What a direct link adds to the worth of a pair."""
    capacity: int = 0
    allocatable: int = 0
    available: int = 0


def encode_figures(figures: Iterable[tuple[int, int]]) -> str:
    """Scores or losses, by ascending number of cards. Raises `WireError` for figures that would not be read back."""
    ordered = dict(sorted(figures))
    for cards, figure in ordered.items():
        if cards < 1 or cards > _LARGEST or abs(figure) > _LARGEST:
            raise WireError(
                "figures-unwritable", f"no figure {shown(figure)} can be published for {shown(cards)} cards"
            )
    return jsontext.compact({str(cards): figure for cards, figure in ordered.items()}, SCORES)


def decode_figures(written: str, key: str) -> tuple[tuple[int, int], ...]:
    """Scores or losses, by ascending number of cards. Raises `WireError` if any of them cannot be read."""
    found = jsontext.parse(written, key)
    if not loose.is_object(found):
        raise WireError(
            "figures-malformed", f"{key} is {shown(found)}: it is an object from card count to number"
        )
    figures: dict[int, int] = {}
    for count, figure in loose.members(found).items():
        cards, value = loose.integer(count), loose.integer(figure)
        if cards is None or cards < 1 or value is None or abs(value) > _LARGEST:
            raise WireError("figures-malformed", f"{key} gives {shown(figure)} for {shown(count)} cards")
        figures[cards] = value
    return tuple(sorted(figures.items()))


def encode_zones(zones: Sequence[LinkZone]) -> str:
    """The zone list. Raises `WireError` for text that is not UTF-8."""
    return jsontext.compact({"zones": [_zone_object(zone) for zone in zones]}, ZONES)


def _zone_object(zone: LinkZone) -> dict[str, object]:
    attributes = [] if zone.weight is None else [{"name": _WEIGHT, "value": str(zone.weight)}]
    amounts = {
        "capacity": str(zone.capacity),
        "allocatable": str(zone.allocatable),
        "available": str(zone.available),
    }
    return {
        "name": zone.name,
        "type": zone.kind,
        "attributes": attributes,
        "resources": [{"name": names.GPU, **amounts}],
    }
