"""How the cards are joined: MTLink counted per pair, and how far apart they sit on PCIe.

The two are independent; a pair across NUMA nodes may have direct links. A peer that this container may not see looks
like no peer at all, which is why the graph of a node must be built on the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final, cast

from tangram.drivers.mtml.calls import Calls, Handle
from tangram.model.devices import LinkPort, LinkReport
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.na import NA, Maybe, NotAvailable

if TYPE_CHECKING:
    import pymtml

MOST_PORTS: Final = 64
"""Cards have up to 14; a larger number is a broken answer."""
STATES: Final = {0: "down", 1: "up", 2: "degraded"}


def port_states(calls: Calls, handle: Handle) -> tuple[Maybe[int], ...]:
    """The state of each MTLink port; none for a card without MTLink, or one where it is switched off."""
    answer = calls.known_answer("mtmlDeviceGetMtLinkSpec", handle)
    if isinstance(answer, NotAvailable):
        return ()
    ports = cast("pymtml.c_mtmlMtLinkSpec_t", answer).linkNum
    if ports > MOST_PORTS:
        return ()
    return tuple(calls.known_number("mtmlDeviceGetMtLinkState", handle, port) for port in range(ports))


def read_links(calls: Calls, cards: Sequence[tuple[CardUuid, Handle | None]]) -> LinkReport:
    """The pairs and ports of those cards, by position in the list. A card without a handle is gone: no pairs."""
    ports = [_ports(calls, uuid, handle) for uuid, handle in cards]
    links: list[Link] = []
    for a, b in combinations(range(len(cards)), 2):
        one, other = cards[a][1], cards[b][1]
        if one is None or other is None:
            continue
        calls.about(f"cards {a} and {b}")
        level = _level(calls, one, other)
        lanes = _lanes(calls, one, other, ports[a], cards[b][0])
        if lanes:
            links.append(Link(a, b, LinkKind.MTLINK, level, lanes))
        elif level is not PcieLevel.UNKNOWN:
            links.append(Link(a, b, LinkKind.NONE, level))
    return LinkReport(
        known=bool(links) or len(cards) == 1,
        links=tuple(links),
        ports=tuple(port for each in ports for port in each),
    )


def _ports(calls: Calls, uuid: CardUuid, handle: Handle | None) -> tuple[LinkPort, ...]:
    if handle is None:
        return ()
    calls.about(f"card {uuid}")
    return tuple(
        _port(calls, uuid, handle, number, state) for number, state in enumerate(port_states(calls, handle))
    )


def _port(calls: Calls, uuid: CardUuid, handle: Handle, number: int, state: Maybe[int]) -> LinkPort:
    remote = calls.known_handle("mtmlDeviceGetMtLinkRemoteDevice", handle, number)
    peer: Maybe[str] = (
        NA if isinstance(remote, NotAvailable) else calls.known_text("mtmlDeviceGetUUID", remote)
    )
    up: Maybe[bool] = NA
    word = ""
    if not isinstance(state, NotAvailable):
        word = STATES.get(state, f"state {state}")
        up = state in (1, 2) if state in STATES else NA
    return LinkPort(
        card=uuid,
        port=number,
        up=up,
        state=word,
        remote=None if isinstance(peer, NotAvailable) else CardUuid(peer),
    )


def _level(calls: Calls, one: Handle, other: Handle) -> PcieLevel:
    level = calls.known_number("mtmlDeviceGetTopologyLevel", one, other)
    try:
        return PcieLevel.UNKNOWN if isinstance(level, NotAvailable) else PcieLevel(level)
    except ValueError:
        return PcieLevel.UNKNOWN


def _lanes(calls: Calls, one: Handle, other: Handle, ports: Sequence[LinkPort], peer: CardUuid) -> int:
    """Links between two cards that carry data: known ones minus those that are down."""
    up: Mapping[int, Maybe[bool]] = {port.port: port.up for port in ports}
    count = calls.known_number("mtmlDeviceCountMtLinkLayouts", one, other)
    if isinstance(count, NotAvailable) or count > MOST_PORTS:
        return sum(port.remote == peer and port.up is not False for port in ports)
    if count == 0:
        return 0
    answer = calls.known_answer("mtmlDeviceGetMtLinkLayouts", one, other, count)
    if isinstance(answer, NotAvailable):
        return count
    layouts = cast("Sequence[pymtml.c_mtmlMtLinkLayout_t]", answer)
    return sum(up.get(layout.localLinkId, NA) is not False for layout in layouts)
