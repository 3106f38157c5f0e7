"""How cards are joined: MetaXLink by the library's word, PCIe by the library's word or the kernel's tree.

The library gives one level per pair, and its numbers are names, not distances: the link level hides the PCIe level of
the same pair, which placement still needs when the link is down. That one is worked out from bus addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from tangram.drivers.mxsml import codes, functions
from tangram.drivers.mxsml.binding import Binding, decoded
from tangram.drivers.mxsml.layouts import LinkSpeed, LinkSpeeds, RemoteEnd
from tangram.drivers.mxsml.sightings import Sighting
from tangram.drivers.pcie import level_between
from tangram.model.devices import Device, LinkPort, LinkReport
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.na import NA, Maybe, NotAvailable

LEVELS: Final = {
    0: PcieLevel.INTERNAL,
    1: PcieLevel.SINGLE_SWITCH,
    2: PcieLevel.MULTIPLE_SWITCHES,
    3: PcieLevel.HOST_BRIDGE,
    4: PcieLevel.NUMA_NODE,
    6: PcieLevel.SYSTEM,
}
"""The library's PCIe levels. 5 is MetaXLink, 7 Ethernet, 8 and the rest unknown."""

_ROOM = 16
_NO_LINKS = frozenset({codes.NOT_SUPPORTED, codes.ABSENT})
_DOWN = frozenset({0, 2, 3})
"""Port states of a link that should be up."""


def report(binding: Binding, devices: Sequence[Device], numbers: Mapping[CardUuid, Sighting]) -> LinkReport:
    """Links of these devices, positions being positions among them. A device that is gone is joined to nothing."""
    by_place = {device.bdf: device.uuid for device in devices if device.bdf}
    ports = [
        port
        for device in devices
        if (seen := numbers.get(device.uuid)) is not None and not seen.trouble
        for port in ports_of(binding, seen, by_place)
    ]
    peers = {(port.card, port.remote) for port in ports if port.remote is not None}
    links = tuple(
        _link(
            Link(a, b),
            devices,
            _level(binding, numbers.get(devices[a].uuid), numbers.get(devices[b].uuid)),
            peers,
        )
        for a, b in combinations(range(len(devices)), 2)
    )
    known = len(devices) < 2 or any(
        link.kind is not LinkKind.NONE or link.pcie is not PcieLevel.UNKNOWN for link in links
    )
    return LinkReport(known=known, links=links, ports=tuple(ports))


def _link(
    pair: Link, devices: Sequence[Device], level: Maybe[int], peers: set[tuple[CardUuid, CardUuid]]
) -> Link:
    pcie = NA if isinstance(level, NotAvailable) else LEVELS.get(level, NA)
    if not isinstance(pcie, NotAvailable):
        return Link(pair.a, pair.b, LinkKind.NONE, pcie)
    one, other = devices[pair.a], devices[pair.b]
    joined = level == functions.METAXLINK_LEVEL or (
        (one.uuid, other.uuid) in peers or (other.uuid, one.uuid) in peers
    )
    kind = LinkKind.METAXLINK if joined else LinkKind.NONE
    return Link(pair.a, pair.b, kind, level_between(one.pcie_path, other.pcie_path, one.numa, other.numa))


def _level(binding: Binding, one: Sighting | None, other: Sighting | None) -> Maybe[int]:
    if one is None or other is None or one.trouble or other.trouble:
        return NA
    return binding.number("GetDeviceTopology", one.number, other.number)


def ports_of(binding: Binding, seen: Sighting, by_place: Mapping[str, CardUuid]) -> list[LinkPort]:
    """The link ports of a card that have a peer, or should have one and are down."""
    answers: list[tuple[int, str]] = []
    for port in functions.LINK_PORTS:
        end = binding.record("GetMetaXLinkRemoteInfo", seen.number, port, into=RemoteEnd)
        if binding.status in _NO_LINKS:
            return []
        answers.append((binding.status, "" if isinstance(end, NotAvailable) else decoded(end.bdf)))
    speeds = _speeds(binding, seen.number)
    states = binding.numbers("GetMetaXLinkPortState", seen.number, count_first=False)
    found: list[LinkPort] = []
    for at, (port, (status, bdf)) in enumerate(zip(functions.LINK_PORTS, answers, strict=True)):
        state = NA if isinstance(states, NotAvailable) or at >= len(states) else states[at]
        if status != codes.DONE and state not in _DOWN:
            continue
        speed, width = speeds[at] if at < len(speeds) else (NA, NA)
        found.append(
            LinkPort(
                card=seen.uuid,
                port=port,
                up=NA if isinstance(state, NotAvailable) else state == functions.PORT_UP,
                state=""
                if isinstance(state, NotAvailable)
                else functions.PORT_STATES.get(state, f"state {state}"),
                speed=speed,
                width=width,
                remote=by_place.get(bdf),
                remote_bdf=bdf,
            )
        )
    return found


def _speeds(binding: Binding, number: int) -> Sequence[tuple[Maybe[float], Maybe[int]]]:
    listed = binding.records("GetMetaXLinkInfo_v2", number, into=LinkSpeed, room=_ROOM)
    if not isinstance(listed, NotAvailable):
        return [(each.speed, each.width) for each in listed]
    older = binding.record("GetMetaXLinkInfo", number, into=LinkSpeeds)
    return [] if isinstance(older, NotAvailable) else list(zip(older.speed, older.width, strict=True))
