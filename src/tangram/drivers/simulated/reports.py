"""Simulated cards in the records that every driver reports in. Pure: description, state and faults in, records out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from tangram.drivers.simulated import metax_rules
from tangram.drivers.simulated.description import CardSpec, Description, Fault, Figure, Joint
from tangram.drivers.simulated.figures import part_utilisation
from tangram.drivers.simulated.mthreads_runtime import slice_minor
from tangram.drivers.simulated.state import (
    CardState,
    SliceState,
    card_uuid,
    function_uuid,
    slice_uuid,
    uuid_from,
)
from tangram.model.cards import Vendor
from tangram.model.devices import Device, DeviceNodes, LinkPort, LinkReport, Slice, SriovState
from tangram.model.topology import Link, LinkKind, PcieLevel
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.units.na import NA, Maybe
from tangram.vendors.mthreads.tiers import memory_tiers

_FAMILY_LENGTH = 3
_FIRST_RENDER = 128
_FUNCTIONS_PER_DEVICE = 8
_PORT_SPEED = {LinkKind.METAXLINK: (32.0, 16), LinkKind.MTLINK: (32.0, 8)}


def device_of(description: Description, spec: CardSpec, state: CardState) -> Device:
    """The card itself."""
    uuid = card_uuid(description, spec)
    metax = spec.vendor is Vendor.METAX
    return Device(
        uuid=uuid,
        index=spec.position,
        vendor=spec.vendor,
        product=spec.product,
        bdf=spec.bdf,
        family=spec.product[:_FAMILY_LENGTH] if metax else "MTT",
        serial=NA
        if Figure.SERIAL in spec.without
        else uuid_from(uuid, "serial").replace("-", "")[:14].upper(),
        memory=spec.memory,
        numa=NA if Figure.NUMA in spec.without or spec.numa < 0 else spec.numa,
        pcie_path=spec.pcie_path,
        nodes=_nodes(spec, spec.position),
        driver_version=spec.driver_version,
        firmware_version=spec.firmware_version,
        mode=spec.mode,
        sriov=_sriov(spec, state),
        virtual_functions=state.virtual_functions if metax else NA,
        sliced=state.sliced,
        sliceable=metax_rules.sliceable(spec) if metax and state.sliced else NA,
        memory_tiers=() if metax else memory_tiers(spec.memory),
    )


def functions_of(description: Description, spec: CardSpec, state: CardState) -> tuple[Device, ...]:
    """The virtual functions a card is split into, as devices of their own."""
    parent = card_uuid(description, spec)
    return tuple(
        _function(spec, state, parent, number, len(description.cards))
        for number in range(state.virtual_functions)
    )


def slice_of(
    description: Description, spec: CardSpec, state: CardState, each: SliceState, now: float
) -> Slice:
    """One slice, with its use."""
    parent = card_uuid(description, spec)
    metax = spec.vendor is Vendor.METAX
    holder = state.holders.get(each.id)
    return Slice(
        card=parent,
        id=each.id,
        memory=each.memory,
        cores=each.cores,
        uuid=slice_uuid(parent, each) if metax else "",
        name=each.name,
        online=each.online if metax else NA,
        minor=spec.position * 16 + each.id if metax else slice_minor(spec, each.id),
        memory_used=Bytes(0) if holder is None else holder.memory,
        utilisation_percent=part_utilisation(spec, state, each.id, now),
        busy=holder is not None,
    )


def links_of(
    description: Description,
    devices: Sequence[Device],
    down: frozenset[int],
) -> LinkReport:
    """How the devices are joined; `down` are the cards whose direct links do not work now."""
    by_uuid = {card_uuid(description, spec): spec for spec in description.cards}
    parents = [by_uuid.get(device.virtual_function_of or device.uuid) for device in devices]
    joints = {(joint.a, joint.b): joint for joint in description.joints}
    links: list[Link] = []
    for (a, one), (b, other) in combinations(enumerate(parents), 2):
        if one is None or other is None:
            continue
        if one.position == other.position:
            links.append(Link(a, b, pcie=PcieLevel.INTERNAL))
            continue
        joint = joints[min(one.position, other.position), max(one.position, other.position)]
        split = devices[a].virtual_function_of or devices[b].virtual_function_of
        linked = joint.kind is not LinkKind.NONE and not split and not down & {joint.a, joint.b}
        links.append(
            Link(a, b, joint.kind, joint.pcie, joint.lanes) if linked else Link(a, b, pcie=joint.pcie)
        )
    present = {device.uuid: device.bdf for device in devices}
    return LinkReport(known=True, links=tuple(links), ports=_ports(description, present, down))


def links_down(
    description: Description, states: Mapping[int, CardState], faults: Mapping[int, frozenset[Fault]]
) -> frozenset[int]:
    """Cards whose links are down: by a fault, or because virtual functions switch MetaXLink off."""
    return frozenset(
        spec.position
        for spec in description.cards
        if states[spec.position].virtual_functions or faults[spec.position] & {Fault.LINK, Fault.VANISH}
    )


def _ports(
    description: Description, present: Mapping[CardUuid, str], down: frozenset[int]
) -> tuple[LinkPort, ...]:
    """Every end of every direct link of the cards that are there; ports are numbered in the order of their peers."""
    ends: dict[int, list[tuple[int, Joint]]] = {spec.position: [] for spec in description.cards}
    for joint in description.joints:
        if joint.kind is not LinkKind.NONE:
            ends[joint.a] += [(joint.b, joint)] * joint.lanes
            ends[joint.b] += [(joint.a, joint)] * joint.lanes
    ports: list[LinkPort] = []
    for spec in description.cards:
        uuid = card_uuid(description, spec)
        if uuid not in present:
            continue
        for number, (peer, joint) in enumerate(sorted(ends[spec.position], key=lambda end: end[0])):
            up = not down & {spec.position, peer}
            remote = card_uuid(description, description.cards[peer])
            speed, width = _PORT_SPEED[joint.kind]
            ports.append(
                LinkPort(
                    card=uuid,
                    port=number,
                    up=up,
                    state="up" if up else "down",
                    speed=speed if up else NA,
                    width=width if up else NA,
                    remote=remote if remote in present else None,
                    remote_bdf=present.get(remote, ""),
                )
            )
    return tuple(ports)


def _sriov(spec: CardSpec, state: CardState) -> Maybe[SriovState]:
    if spec.sriov is None:
        return NA
    return SriovState.ON if state.virtual_functions else spec.sriov


def _function(spec: CardSpec, state: CardState, parent: CardUuid, number: int, cards: int) -> Device:
    device, function = divmod(number + 1, _FUNCTIONS_PER_DEVICE)
    bdf = f"{spec.bdf.rpartition(':')[0]}:{device:02x}.{function}"
    minor = cards + spec.position * _FUNCTIONS_PER_DEVICE + number
    return Device(
        uuid=function_uuid(parent, number),
        index=minor,
        vendor=spec.vendor,
        product=f"{spec.product} VF",
        bdf=bdf,
        family=spec.product[:_FAMILY_LENGTH],
        memory=Bytes(spec.memory // state.virtual_functions),
        numa=NA if Figure.NUMA in spec.without or spec.numa < 0 else spec.numa,
        pcie_path=(*spec.pcie_path[:-1], bdf),
        nodes=_nodes(spec, minor),
        driver_version=spec.driver_version,
        firmware_version=spec.firmware_version,
        mode=spec.mode,
        sliced=False,
        virtual_function_of=parent,
    )


def _nodes(spec: CardSpec, minor: int) -> DeviceNodes:
    # The first DRM card of a server is the display of its management controller, as on real ones.
    control = "/dev/mxcd" if spec.vendor is Vendor.METAX else f"/dev/mtgpu.{spec.vendor_position}"
    return DeviceNodes(control, f"/dev/dri/card{minor + 1}", f"/dev/dri/renderD{_FIRST_RENDER + minor}")
