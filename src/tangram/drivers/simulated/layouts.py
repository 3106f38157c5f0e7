"""Servers that were seen in the field, and link patterns for those that were not.

A server is where its cards sit on PCIe plus which pairs share a direct link. PCIe levels are never written down: they
follow from the addresses, by the same rule that reads a real machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Final

import msgspec

from tangram.vendors.metax import products as metax
from tangram.vendors.mthreads import products as mthreads
from tangram.vendors.products import ServerLayout

Path = tuple[str, ...]
Pairs = dict[tuple[int, int], int]
"""Joined pairs and how many parallel links join them."""

_CARDS_PER_DOMAIN: Final = 16
_BUSES_PER_CARD: Final = 12


class Pattern(StrEnum):
    """Which cards of a group share a direct link."""

    NONE = "none"
    PAIRS = "pairs"
    RING = "ring"
    TWO_ISLANDS = "two-islands"
    ISLANDS_OF_FOUR = "islands-of-four"
    FULL_MESH = "full-mesh"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    product: str
    numa: tuple[int, ...]
    paths: tuple[Path, ...]
    pairs: Pairs

    @property
    def size(self) -> int:
        return len(self.paths)


def pairs_of(pattern: Pattern, count: int, lanes: int = 1) -> Pairs:
    """The joined pairs of so many cards."""
    numbers = range(count)
    match pattern:
        case Pattern.NONE:
            return {}
        case Pattern.RING:
            around = {(min(a, b), max(a, b)) for a in numbers if (b := (a + 1) % count) != a}
            return dict.fromkeys(sorted(around), lanes)
        case Pattern.PAIRS:
            size = 2
        case Pattern.TWO_ISLANDS:
            size = (count + 1) // 2
        case Pattern.ISLANDS_OF_FOUR:
            size = 4
        case Pattern.FULL_MESH:
            size = count
    return _islands([numbers[at : at + size] for at in range(0, count, max(size, 1))], lanes)


def _islands(islands: Sequence[Sequence[int]], lanes: int) -> Pairs:
    return {pair: lanes for island in islands for pair in combinations(island, 2)}


def root_port_each(positions: Sequence[int]) -> tuple[Path, ...]:
    """Cards of an unnamed server: each on a host bridge of its own, so that NUMA alone tells near from far."""
    return tuple(
        (f"{domain:04x}:{bus - 1:02x}:01.0", f"{domain:04x}:{bus:02x}:00.0")
        for domain, bus in (_bus_of(position) for position in positions)
    )


def _bus_of(position: int) -> tuple[int, int]:
    domain, at = divmod(position, _CARDS_PER_DOMAIN)
    return domain, 0x0E + at * _BUSES_PER_CARD


def _one_switch(buses: Sequence[int]) -> tuple[Path, ...]:
    """Cards behind one switch."""
    root = min(buses) - 3
    trunk = (f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0")
    return tuple(
        (*trunk, f"0000:{root + 2:02x}:{port:02x}.0", f"0000:{bus:02x}:00.0")
        for port, bus in enumerate(buses)
    )


def _switch_of_switches(buses: Sequence[int]) -> tuple[Path, ...]:
    """Cards behind one switch with a smaller one below it for every two."""
    root = min(buses) - 5
    trunk = (f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0")
    paths: list[Path] = []
    for pair in range(0, len(buses), 2):
        first = buses[pair]
        branch = (f"0000:{root + 2:02x}:{pair // 2:02x}.0", f"0000:{first - 2:02x}:00.0")
        for port, bus in enumerate(buses[pair : pair + 2]):
            leaf = (f"0000:{first - 1:02x}:{port:02x}.0", f"0000:{bus:02x}:00.0")
            paths.append((*trunk, *branch, *leaf))
    return tuple(paths)


def _seen(product: str, layout: ServerLayout, numa: tuple[int, ...] = ()) -> Server:
    nodes = numa or layout.numa
    return Server(
        product=product,
        numa=nodes,
        paths=root_port_each(range(len(nodes))),
        pairs=_islands(layout.islands, layout.lanes),
    )


def _no_bridge() -> Server:
    quads = ((0x0E, 0x0F, 0x1E, 0x1F), (0x4E, 0x4F, 0x5E, 0x5F))
    paths = tuple(path for quad in quads for path in _switch_of_switches(quad))
    return Server(product="MXC500", numa=(0,) * 8, paths=paths, pairs={})


def _s4000(pattern: Pattern) -> Server:
    """The bus numbers of a real box, in two fours; which pairs are linked is not known, so there is a choice."""
    fours = ((0x08, 0x09, 0x0E, 0x11), (0x32, 0x38, 0x3B, 0x3C))
    return Server(
        product="MTT S4000",
        numa=(0, 0, 0, 0, 1, 1, 1, 1),
        paths=tuple(path for four in fours for path in _one_switch(four)),
        pairs=pairs_of(pattern, 8),
    )


SERVERS: Final[dict[str, Callable[[], Server]]] = {
    "c500-4": lambda: _seen("MXC500", metax.C500_FOUR),
    "c500-8-two-groups": lambda: _seen("MXC500", metax.C500_BRIDGED),
    "c500-8-two-groups-one-numa": lambda: _seen("MXC500", metax.C500_BRIDGED, (0,) * 8),
    "c500-8-no-bridge": _no_bridge,
    "c550-oam-8-full-mesh": lambda: _seen("MXC550", metax.C550_OAM),
    "s4000-8": lambda: _s4000(Pattern.TWO_ISLANDS),
    "s4000-8-ring": lambda: _s4000(Pattern.RING),
    "s4000-8-full-mesh": lambda: _s4000(Pattern.FULL_MESH),
    "s5000-8-full-mesh": lambda: _seen("MTT S5000", mthreads.S5000_MESH),
}
"""Named servers, made when asked for."""
