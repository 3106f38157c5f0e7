"""A whole short file: its version, then everything in it, or the first sentence about what is wrong.

Two kinds of file share the form of a pod. `cluster/v1` has nodes and the pods on them; `pods/v1` has only pods, and
describes a stream to replay or a demand to expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tangram.model.allocations import Tenant
from tangram.model.cards import Vendor
from tangram.model.nodes import Node
from tangram.model.requests import Request
from tangram.units.ids import NodeName
from tangram.wire import loose
from tangram.wire.clusterfile.fields import Fields, nearest, refusal
from tangram.wire.clusterfile.nodes import MOST_NODES, read_nodes
from tangram.wire.clusterfile.pods import MOST_PODS, pod_fields, read_request, refs_of
from tangram.wire.clusterfile.tenants import check_room, read_tenant
from tangram.wire.errors import shown

VERSION_KEY: Final = "tangram"
CLUSTER_VERSION: Final = "cluster/v1"
PODS_VERSION: Final = "pods/v1"
MOST_CARDS_IN_ALL: Final = 500_000


class Unnamed(msgspec.Struct, frozen=True):
    """A pod that runs on a node and says how many cards it has, but not which."""

    node: NodeName
    request: Request


class ClusterFile(msgspec.Struct, frozen=True, kw_only=True):
    nodes: tuple[Node, ...]
    tenants: tuple[Tenant, ...] = ()
    unnamed: tuple[Unnamed, ...] = ()
    waiting: tuple[Request, ...] = ()


def is_short_file(document: object) -> bool:
    """Whether a document claims to be one of ours, readable or not."""
    return VERSION_KEY in loose.members(document)


def read_cluster_file(document: object) -> ClusterFile:
    """The cluster a `cluster/v1` document describes. Raises `WireError` for the first thing that is wrong with it."""
    _check_version(document, CLUSTER_VERSION)
    fields = Fields(document, "", (VERSION_KEY, "nodes", "pods"))
    nodes: dict[NodeName, Node] = {}
    cards: dict[str, NodeName] = {}
    for position, entry in enumerate(fields.entries("nodes")):
        place = f"nodes[{position}]"
        for node in read_nodes(entry, place):
            if node.name in nodes:
                legal = "each node has a name of its own, and count adds -0, -1 and so on"
                raise refusal(place, f"there are two nodes {node.name}", legal, "rename one of them")
            nodes[node.name] = node
            if len(nodes) > MOST_NODES or len(cards) > MOST_CARDS_IN_ALL:
                legal = f"at most {MOST_NODES} nodes with {MOST_CARDS_IN_ALL} cards in all are read"
                raise refusal(place, "there are too many", legal, "lower a count")
            for card in node.cards:
                owner = cards.setdefault(card.uuid, node.name)
                if owner != node.name:
                    legal = "a card is on one node"
                    raise refusal(
                        place, f"card {card.uuid} is on {owner} too", legal, "change one of the uuids"
                    )
    if not nodes:
        raise refusal(
            "nodes", "there is none", "a cluster has at least one node", "list one with name and product"
        )
    return _with_pods(fields, nodes)


def read_pods_file(document: object, vendors: Iterable[Vendor]) -> tuple[Request, ...]:
    """The pods of a `pods/v1` document, for a cluster with cards of those vendors. Raises `WireError`."""
    _check_version(document, PODS_VERSION)
    fields = Fields(document, "", (VERSION_KEY, "pods"))
    around = tuple(vendors)
    found: dict[str, Request] = {}
    for position, entry in enumerate(fields.entries("pods")):
        form = pod_fields(entry, f"pods[{position}]")
        if "node" in form:
            raise form.no("node", "pods of a stream are not placed yet", "remove it")
        for ref in refs_of(form):
            _check_new(str(ref), found, form)
            found[str(ref)] = read_request(form, ref, around)
        if len(found) > MOST_PODS:
            raise refusal(
                form.place, "there are too many pods", f"at most {MOST_PODS} are read", "lower a count"
            )
    if not found:
        raise refusal(
            "pods", "there is none", "a stream has at least one pod", "list one with name and cards"
        )
    return tuple(found.values())


def _with_pods(fields: Fields, nodes: Mapping[NodeName, Node]) -> ClusterFile:
    vendors = tuple({card.vendor for node in nodes.values() for card in node.cards})
    tenants: list[Tenant] = []
    unnamed: list[Unnamed] = []
    waiting: list[Request] = []
    seen: dict[str, None] = {}
    for position, entry in enumerate(fields.entries("pods")):
        form = pod_fields(entry, f"pods[{position}]")
        node = _node_of(form, nodes)
        for ref in refs_of(form):
            _check_new(str(ref), seen, form)
            seen[str(ref)] = None
            if node is None:
                waiting.append(read_request(form, ref, vendors))
            elif "cards" in form and not loose.is_list(form.members["cards"]):
                own = {card.vendor for card in node.cards}
                unnamed.append(Unnamed(node.name, read_request(form, ref, own)))
            else:
                tenants.append(read_tenant(form, ref, node))
    check_room(nodes, tenants)
    return ClusterFile(
        nodes=tuple(nodes.values()), tenants=tuple(tenants), unnamed=tuple(unnamed), waiting=tuple(waiting)
    )


def _node_of(form: Fields, nodes: Mapping[NodeName, Node]) -> Node | None:
    name = form.text("node")
    if name is None:
        return None
    node = nodes.get(NodeName(name))
    if node is None:
        names = list(nodes)
        legal = f"the nodes are {', '.join(names[:8])}{' and more' if len(names) > 8 else ''}"
        raise form.no("node", legal, f"{nearest(name, names)}, or remove it for a pod that waits")
    return node


def _check_new(name: str, seen: Mapping[str, object], form: Fields) -> None:
    if name in seen:
        legal = "each pod has a name of its own, and count adds -0, -1 and so on"
        raise refusal(form.place, f"there are two pods {name}", legal, "rename one of them")


def _check_version(document: object, expected: str) -> None:
    # Before the keys, because another version has other keys.
    version = loose.members(document).get(VERSION_KEY)
    if version != expected:
        legal = f"this file must be of version {expected}"
        raise refusal(VERSION_KEY, f"it is {shown(version)}", legal, f"write {VERSION_KEY}: {expected}")
