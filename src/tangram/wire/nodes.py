"""A Kubernetes Node as the engine sees it: its cards from whoever announces them, and the host around them.

Reading never fails. A node whose annotation is broken still has taints, a host and perhaps other cards, and dropping it
would make its running pods vanish from the books; so it comes back with what could be read, and a list of what could
not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from tangram.model.cards import SERVED, Card, Vendor
from tangram.model.counted import COUNTED, Stated
from tangram.model.nodes import HostCapacity, Node, Taint
from tangram.model.pods import PodRef
from tangram.model.topology import PublishedTopology, Topology
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.vendors.renaming import NOTHING_RENAMED, Renamed
from tangram.wire import hami, loose
from tangram.wire.agent_state import AGENT, STOPPING
from tangram.wire.errors import Problem, WireError
from tangram.wire.inventory import INVENTORY, Inventory, decode_inventory
from tangram.wire.koordinator.cards import cards_of
from tangram.wire.koordinator.device import Device
from tangram.wire.koordinator.names import GPU
from tangram.wire.metax_cards import MetaxCards, metax_cards
from tangram.wire.metax_topology import LOSSES, SCORES, decode_figures
from tangram.wire.mthreads_cards import mthreads_cards, stand_ins_of
from tangram.wire.node_facts import NodeFacts, read_facts
from tangram.wire.node_topology import topology_of
from tangram.wire.nodelock import NODE_LOCK, owner_of, parse_lock

_LARGEST_HOST: Final = 2**50
_MOST_PODS: Final = 2**31
_AGENT_STOPS: Final = "the node's agent is about to stop"


class NodeReading(msgspec.Struct, frozen=True):
    node: Node
    problems: tuple[Problem, ...] = ()
    locked_for: PodRef | None = None
    """The pod that our own scheduler has locked the node for."""
    device: Device | None = None
    """The `Device` that it was read with."""
    source: bytes = b""
    """As much of the object as was read, for reading it again with another `Device`; empty where our agent reports."""


def read_node(
    manifest: Mapping[str, object],
    device: Device | None = None,
    renamed: Renamed = NOTHING_RENAMED,
    *,
    again: bool = False,
    vendors: Collection[Vendor] = SERVED,
) -> NodeReading:
    """The node an API object describes, with the cards of its `Device` if it has one. Never raises.

    With `again` it can be read again by `with_device`. What is announced of cards of vendors that are not among
    `vendors` is not read; where our agent reports, an option of the agent has left them out.
    """
    facts = read_facts(manifest, renamed)
    spec = loose.members(manifest.get("spec"))
    inventory = _inventory(facts) if INVENTORY in facts.annotations else _announced(facts, device, vendors)
    cards = _with_cordons(facts, inventory.cards)
    if facts.annotations.get(AGENT) == STOPPING:
        cards = tuple(replace(card, healthy=False, health_reason=_AGENT_STOPS) for card in cards)
    node = Node(
        name=facts.name,
        cards=cards,
        topology=inventory.topology,
        published=_published(facts),
        host=_host(facts),
        labels=facts.labels,
        taints=tuple(_taint(loose.members(each)) for each in loose.elements(spec.get("taints"))),
        unschedulable=spec.get("unschedulable") is True,
        managed=INVENTORY in facts.annotations,
        described=device is not None,
        minors=_minors(cards, device),
        stand_ins=stand_ins_of(facts.name, cards),
    )
    source = _source(manifest) if again and not node.managed else b""
    return NodeReading(node, tuple(facts.problems), _locked_for(facts.annotations), device, source)


def with_device(
    reading: NodeReading,
    device: Device | None,
    renamed: Renamed = NOTHING_RENAMED,
    vendors: Collection[Vendor] = SERVED,
) -> NodeReading:
    """The same node with another `Device`, or without one. Only for what was read to be read again."""
    if reading.node.managed:
        # Its cards are what our agent says, whatever the `Device` does.
        cards = reading.node.cards
        node = replace(reading.node, described=device is not None, minors=_minors(cards, device))
        return replace(reading, node=node, device=device)
    found = read_node(msgspec.json.decode(reading.source), device, renamed, vendors=vendors)
    return replace(found, source=reading.source)


def _source(manifest: Mapping[str, object]) -> bytes:
    """As text, which takes a quarter of the memory: it is kept of every node and hardly ever needed."""
    metadata, spec, status = (loose.members(manifest.get(part)) for part in ("metadata", "spec", "status"))
    kept = {
        "metadata": {key: metadata.get(key) for key in ("name", "labels", "annotations")},
        "spec": {key: spec.get(key) for key in ("taints", "unschedulable")},
        "status": {key: status.get(key) for key in ("capacity", "allocatable")},
    }
    return msgspec.json.encode(kept)


def _minors(cards: tuple[Card, ...], device: Device | None) -> dict[CardUuid, int]:
    if device is None:
        return {}
    numbers = {entry.id: entry.minor for entry in device.entries if entry.kind == GPU}
    return {
        card.uuid: number for card in cards if (number := numbers.get(card.uuid, card.index)) != card.index
    }


def _locked_for(annotations: Mapping[str, str]) -> PodRef | None:
    owner = owner_of(annotations)
    if owner is None:
        return None
    try:
        holder = parse_lock(annotations[NODE_LOCK]).holder
    except WireError:
        return None
    return None if holder is None else PodRef(holder.namespace, holder.name, owner)


def _inventory(facts: NodeFacts) -> Inventory:
    """What our agent says, and nothing else: it serves only cards it knows by the ids it published."""
    try:
        return decode_inventory(facts.annotations[INVENTORY])
    except WireError as error:
        facts.complain(error.code, f"{error.sentence}; none of its cards is used until it can be read")
        return Inventory(())


def _announced(facts: NodeFacts, device: Device | None, vendors: Collection[Vendor]) -> Inventory:
    reported: tuple[Card, ...] = ()
    if device is not None:
        reported, problems = cards_of(device)
        facts.problems.extend(problems)
    metax, mthreads = MetaxCards(), ()
    if Vendor.METAX in vendors:
        metax = metax_cards(facts, [card for card in reported if card.vendor is Vendor.METAX])
    if Vendor.MTHREADS in vendors:
        mthreads = mthreads_cards(facts, [card for card in reported if card.vendor is Vendor.MTHREADS])
    cards = metax.cards + mthreads
    topology: Topology | None = topology_of(facts, cards, metax.zones, device)
    return Inventory(cards, topology)


def _with_cordons(facts: NodeFacts, cards: tuple[Card, ...]) -> tuple[Card, ...]:
    real = stand_ins_of(facts.name, cards)
    listed = hami.card_ids(facts.annotations.get(hami.CORDONED_CARDS, ""))
    cordoned = {real.get(CardUuid(each), CardUuid(each)) for each in listed}
    for unknown in sorted(cordoned - {card.uuid for card in cards}):
        facts.complain(
            "cordon-unknown", f"{hami.CORDONED_CARDS} names {unknown!r:.80}, which is no card of it"
        )
    return tuple(replace(card, cordoned=True) if card.uuid in cordoned else card for card in cards)


def _published(facts: NodeFacts) -> PublishedTopology | None:
    scores, losses = _figures(facts, SCORES), _figures(facts, LOSSES)
    return PublishedTopology(scores, losses) if scores or losses else None


def _figures(facts: NodeFacts, key: str) -> tuple[tuple[int, int], ...]:
    written = facts.annotations.get(key, "")
    if not written.strip():
        return ()
    try:
        return decode_figures(written, key)
    except WireError as error:
        facts.complain(error.code, error.sentence)
        return ()


def _host(facts: NodeFacts) -> HostCapacity:
    cpu, memory = facts.amount("cpu", _LARGEST_HOST // 1000), facts.amount("memory", _LARGEST_HOST)
    pods = facts.amount("pods", _MOST_PODS)
    return HostCapacity(
        cpu_milli=None if cpu is None else cpu.milli_value(),
        memory=None if memory is None else Bytes(memory.value()),
        pods=None if pods is None else pods.value(),
        counted=_counted(facts),
    )


def _counted(facts: NodeFacts) -> Stated:
    """Koordinator's amounts as the node's kubelet finds them. It looks at allocatable alone."""
    side = facts.allocatable or facts.capacity
    if not any(name in side for name in COUNTED):
        return ()
    found = [facts.amount(name, _LARGEST_HOST) if name in side else None for name in COUNTED]
    return tuple(None if amount is None else amount.value() for amount in found)


def _taint(written: Mapping[str, object]) -> Taint:
    return Taint(
        key=loose.text(written.get("key")),
        value=loose.scalar_text(written.get("value")) or "",
        effect=loose.text(written.get("effect")) or "NoSchedule",
    )
