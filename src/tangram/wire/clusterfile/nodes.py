"""A node of a short file, or many equal ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from tangram.model.cards import Card
from tangram.model.nodes import HostCapacity, Node, Taint
from tangram.units.ids import CardUuid, IdError, NodeName, node_name
from tangram.vendors.wording import either
from tangram.wire import loose
from tangram.wire.clusterfile.cards import SHARED_KEYS, read_cards
from tangram.wire.clusterfile.fields import Fields, refusal
from tangram.wire.clusterfile.links import read_links
from tangram.wire.errors import shown
from tangram.wire.node_facts import stand_in_id

MOST_NODES: Final = 20_000
"""More than Kubernetes is built for. A slip in `count` should end in a sentence and not in all of the memory."""

NODE_KEYS: Final = (
    "name",
    "count",
    *SHARED_KEYS,
    "cards",
    "first_card",
    "links",
    "numa",
    "cpu",
    "host_memory",
    "labels",
    "taints",
    "unschedulable",
    "unhealthy",
    "cordoned",
)
_HOSTNAME = "kubernetes.io/hostname"
"""The kubelet gives every node this label, and selectors rely on it."""
_TAINT_KEYS = ("key", "value", "effect")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TAINT = re.compile(r"([^=:\s]+)(?:=([^=:\s]*))?:(\w+)")


def read_nodes(value: object, place: str) -> Iterator[Node]:
    """The nodes of one entry: one, or with `count` that many, numbered from 0."""
    fields = Fields(value, place, NODE_KEYS)
    count = fields.whole("count", least=1, most=MOST_NODES)
    base = fields.text("name")
    if base is None:
        raise fields.lacking("name", "write for example name: gpu-1")
    first = _node(fields, _checked(fields, base if count is None else f"{base}-0"))
    yield first
    for number in range(1, count or 1):
        yield _twin(first, _checked(fields, f"{base}-{number}"))


def _checked(fields: Fields, name: str) -> NodeName:
    try:
        return node_name(name)
    except IdError as error:
        raise fields.no("name", error.legal, f"write {error.instead}") from error


def _twin(node: Node, name: NodeName) -> Node:
    """The same node under another name; cards that were named after the node are named after its twin."""

    def renamed(card: Card) -> Card:
        if card.uuid != stand_in_id(node.name, card.vendor, card.index):
            return card
        return replace(card, uuid=CardUuid(stand_in_id(name, card.vendor, card.index)))

    labels = {**node.labels, **({_HOSTNAME: str(name)} if node.labels[_HOSTNAME] == node.name else {})}
    return replace(node, name=name, cards=tuple(renamed(card) for card in node.cards), labels=labels)


def _node(fields: Fields, name: NodeName) -> Node:
    cards = read_cards(fields, name)
    return Node(
        name=name,
        cards=cards,
        topology=read_links(fields, cards),
        host=HostCapacity(fields.cpu_milli("cpu"), fields.memory("host_memory")),
        labels={_HOSTNAME: str(name), **fields.texts("labels")},
        taints=tuple(
            _taint(each, f"{fields.at('taints')}[{at}]") for at, each in enumerate(fields.entries("taints"))
        ),
        unschedulable=fields.flag("unschedulable"),
        # The cards of a file are served as Tangram's agent serves them.
        managed=True,
    )


def _taint(written: object, place: str) -> Taint:
    if isinstance(written, str):
        parts = _TAINT.fullmatch(written.strip())
        if parts is None:
            legal = "a taint is key=value:effect or key:effect"
            raise refusal(
                place, f"it is {shown(written)}", legal, "write for example dedicated=ai:NoSchedule"
            )
        taint = Taint(parts[1], parts[2] or "", parts[3])
    else:
        fields = Fields(written, place, _TAINT_KEYS)
        key = fields.text("key")
        if key is None:
            raise fields.lacking("key", "write for example key: dedicated")
        value = "" if "value" not in fields else loose.scalar_text(fields.members["value"]) or ""
        taint = Taint(key, value, fields.text("effect") or "NoSchedule")
    if taint.effect not in _EFFECTS:
        raise refusal(
            place, f"its effect is {shown(taint.effect)}", f"it is {either(_EFFECTS)}", "write one of these"
        )
    return taint
