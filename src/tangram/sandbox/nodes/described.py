"""From a cluster file to machines: for each node what cards are in it, how they are offered, and the host around them.

The file was made for asking questions about clusters that exist only on paper; here its nodes come alive, so what no
machine can be is refused with a sentence: cards of no known vendor, numbers that do not begin at 0, uuids of somebody's
choice (the drivers make them), ways of offering cards that no agent has. Pods are not read: a sandbox is a cluster, and
pods are submitted to it. Equal nodes share one description of their cards, because there may be a thousand of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import resources
from itertools import groupby
from typing import Final

import msgspec

from tangram.daemon.yaml_text import parse_document
from tangram.drivers.pcie import WORD_OF_LEVEL
from tangram.drivers.simulated.description import Description, Fault
from tangram.drivers.simulated.reading import CARDS_VERSION, VERSION_KEY, read_description
from tangram.drivers.simulated.state import card_uuid
from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node, Taint
from tangram.model.topology import Link, LinkKind
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import GIB, MIB, Bytes
from tangram.wire import device_config, loose
from tangram.wire.clusterfile.cards import find_product
from tangram.wire.clusterfile.fields import refusal
from tangram.wire.clusterfile.reading import read_cluster_file
from tangram.wire.errors import WireError
from tangram.wire.node_facts import stand_in_id

USUAL_CPU_MILLI: Final = 64_000
USUAL_MEMORY: Final = Bytes(256 * GIB)
MOST_PODS: Final = 110
"""What a kubelet takes unless told otherwise."""

_SLICES: Final = 16
_WORD_OF_LINK: Final = {
    LinkKind.METAXLINK: "metaxlink",
    LinkKind.MTLINK: "mtlink",
    LinkKind.NONE: "none",
}


class MachineDescription(msgspec.Struct, frozen=True, kw_only=True):
    """One node before it runs."""

    node: NodeName
    cards: Description
    config: dict[str, str] = {}
    """The files of the device configuration, by name; none where every card is offered as its driver has it."""
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    cordoned: tuple[CardUuid, ...] = ()
    """Cards that take no new tenants."""
    cpu_milli: int = USUAL_CPU_MILLI
    memory: Bytes = USUAL_MEMORY
    pods: int = MOST_PODS


def default_machines() -> tuple[MachineDescription, ...]:
    """The machines of a sandbox for which nobody named a file."""
    return read_machines(parse_document(default_text()))


def default_text() -> str:
    """The file of the cluster above."""
    return resources.files("tangram.sandbox.nodes").joinpath("default_cluster.yaml").read_text("utf-8")


def read_machines(document: object) -> tuple[MachineDescription, ...]:
    """The machines of a `cluster/v1` document. Raises `WireError` for the first thing that no machine can be."""
    if loose.members(document).get("pods"):
        legal = "a sandbox starts without pods"
        raise refusal(
            "pods", "it lists pods", legal, "remove it, and submit the pods with kubectl once it runs"
        )
    shapes: dict[Hashable, Description] = {}
    return tuple(_machine(node, shapes) for node in read_cluster_file(document).nodes)


def _machine(node: Node, shapes: dict[Hashable, Description]) -> MachineDescription:
    place = f"node {node.name}"
    _check(node, place)
    cards = _description(node, place, shapes)
    uuids = [card_uuid(cards, spec) for spec in cards.cards]
    return MachineDescription(
        node=node.name,
        cards=cards,
        config=_config(node.cards, place),
        labels=node.labels,
        taints=node.taints,
        unschedulable=node.unschedulable,
        cordoned=tuple(uuids[at] for at, card in enumerate(node.cards) if card.cordoned),
        cpu_milli=USUAL_CPU_MILLI if node.host.cpu_milli is None else node.host.cpu_milli,
        memory=USUAL_MEMORY if node.host.memory is None else node.host.memory,
    )


def _check(node: Node, place: str) -> None:
    for position, card in enumerate(node.cards):
        here = f"{place}, card {card.index}"
        if card.vendor is Vendor.GENERIC:
            legal = "simulated cards are MetaX's or Moore Threads'"
            raise refusal(here, "its vendor is generic", legal, "name a product such as C500 or S4000")
        if card.index != position:
            legal = "the drivers number cards from 0 without gaps"
            raise refusal(
                here, f"it would be the card at place {position}", legal, "remove first_card and index"
            )
        if card.uuid != stand_in_id(node.name, card.vendor, card.index):
            legal = "simulated cards are given uuids by their driver"
            raise refusal(here, f"its uuid is {str(card.uuid)!r:.80}", legal, "remove uuid")
        _check_mode(card, here)


def _check_mode(card: Card, place: str) -> None:
    whole_or_sliced = card.mode in (CardMode.WHOLE, CardMode.SLICED)
    if card.vendor is Vendor.MTHREADS and not whole_or_sliced:
        raise refusal(
            place, f"its mode is {card.mode}", "Moore Threads cards are native or sgpu", "write one of these"
        )
    if card.mode is CardMode.UNDECIDED:
        raise refusal(
            place, "its mode is undecided", "an agent offers each card in one way", "write native or sgpu"
        )
    if card.mode is CardMode.SLICED and card.slots != _SLICES:
        raise refusal(
            place, f"it has {card.slots} slots", f"a sliced card has {_SLICES} of them", "remove slots"
        )


def _description(node: Node, place: str, shapes: dict[Hashable, Description]) -> Description:
    entries = [_entry(card) for card in node.cards]
    links = () if node.topology is None else node.topology.links
    broken = tuple(card.index for card in node.cards if not card.healthy)
    shape = (msgspec.json.encode(entries), links, broken)
    known = shapes.get(shape)
    if known is None:
        try:
            known = shapes[shape] = read_description(_document(entries, links, broken))
        except WireError as error:
            raise WireError(error.code, f"{place}: {error.sentence}") from error
    return msgspec.structs.replace(known, name=str(node.name))


def _document(
    entries: Sequence[dict[str, object]], links: Sequence[Link], broken: Sequence[int]
) -> dict[str, object]:
    """The cards in the words of a description of simulated cards: what is legal there need not be known here."""
    groups = [{**entry, "count": len(list(same))} for entry, same in groupby(entries)]
    pairs: list[dict[str, object]] = []
    for link in links:
        pair: dict[str, object] = {"cards": [link.a, link.b], "link": _WORD_OF_LINK[link.kind]}
        if link.kind is not LinkKind.NONE:
            pair["lanes"] = link.lanes
        if link.pcie in WORD_OF_LEVEL:
            pair["pcie"] = WORD_OF_LEVEL[link.pcie]
        pairs.append(pair)
    return {
        VERSION_KEY: CARDS_VERSION,
        "cards": groups,
        "pairs": pairs,
        "faults": [{"at": "0s", "card": number, "fault": Fault.ECC.value} for number in broken],
    }


def _entry(card: Card) -> dict[str, object]:
    entry: dict[str, object] = {
        "product": card.product,
        "memory": f"{_whole_memory(card) // MIB} MiB",
        "numa": card.numa,
        "sliced": card.mode is CardMode.SLICED,
        "policy": (card.announced_qos or QosPolicy.BEST_EFFORT).value,
    }
    if card.mode is CardMode.VIRTUAL:
        entry["virtual_functions"] = card.slots
    return entry


def _whole_memory(card: Card) -> Bytes:
    """The memory of the card itself: a file names of a sliced one what can be sliced, which the driver works out."""
    known = find_product(card.product) if card.mode is CardMode.SLICED else None
    if known is None:
        return card.memory
    product = known[1]
    return product.memory if product.memory is not None and card.memory == product.sliceable else card.memory


def _config(cards: Sequence[Card], place: str) -> dict[str, str]:
    """The device configuration under which the agent offers MetaX cards so. Moore Threads' follow their module."""
    metax = [card for card in cards if card.vendor is Vendor.METAX]
    modes = {card.mode for card in metax}
    if modes <= {CardMode.WHOLE}:
        return {}
    if modes == {CardMode.SHARED}:
        turns = {card.slots for card in metax}
        if len(turns) > 1:
            legal = "all shared cards of a node have as many slots"
            raise refusal(place, f"its cards have {sorted(turns)} slots", legal, "write slots once")
        return _files(f"mode: shared\nshareNums: {turns.pop()}\n")
    if modes == {CardMode.VIRTUAL}:
        return _files("mode: vgpu\n")
    if modes == {CardMode.SLICED}:
        return _files("mode: sgpu\n")
    if modes == {CardMode.WHOLE, CardMode.SLICED}:
        sliced = [card.index for card in metax if card.mode is CardMode.SLICED]
        return _files(f"mode: mixed\nslicedCards: {sliced}\n")
    legal = "cards of one node are whole and sliced together, or all shared, or all split"
    raise refusal(place, f"its cards are {', '.join(sorted(modes))}", legal, "use several nodes")


def _files(cluster: str) -> dict[str, str]:
    return {device_config.VERSION_KEY: "v1", device_config.CLUSTER_KEY: cluster}
