"""One node in full: its cards with their links, and for a pod the sets of cards that were weighed for it."""

from __future__ import annotations

from tangram.engine.hostrules import taint_text
from tangram.model.nodes import Node
from tangram.model.topology import PcieLevel
from tangram.reports.status import node_status
from tangram.reports.status_shape import TERMINATING
from tangram.reports.view_shape import CardSet, LinkView, NodeDetail
from tangram.reports.weighing import card_sets, held_sets
from tangram.services.scheduler.state import State
from tangram.units.ids import NodeName


def node_detail(state: State, name: str, pod: str, at: float) -> NodeDetail | str:
    """The node, or why there is nothing to tell of it."""
    ledger = state.ledger
    node = ledger.node(NodeName(name))
    if node is None or not node.cards:
        why = "there is no such node" if node is None else "it announces no cards"
        return f"cannot tell of node {name}: {why}; 'tangram status' lists the nodes with cards"
    return NodeDetail(
        at=at,
        node=node_status(ledger, node, dict.fromkeys(state.leaving, TERMINATING)),
        links=_links(node),
        links_known=node.topology is not None,
        labels=dict(node.labels),
        taints=[taint_text(each) for each in node.taints],
        cpu_milli=node.host.cpu_milli,
        host_memory=node.host.memory,
        problems=list(state.problems.get(node.name, ())),
        pod=pod,
        sets=_sets(state, node, pod),
    )


def _sets(state: State, node: Node, pod: str) -> list[CardSet]:
    """Of a pod that waits by what it asks; of one that has its place by what it holds, since nothing else is kept."""
    namespace, _, name = pod.partition("/")
    seen = state.known(namespace, name)
    if seen is None:
        return []
    holding = state.ledger.holding(seen.ref.uid)
    request = None if seen.waiting is None else seen.waiting.request
    if holding is not None and (holding.bound or request is None):
        return held_sets(state.ledger, holding.tenant, node, state.defaults, state.frag)
    return [] if request is None else card_sets(state.ledger, request, node.name, state.defaults, state.frag)


def _links(node: Node) -> list[LinkView]:
    numbers = [card.index for card in node.cards]
    return [
        LinkView(
            a=numbers[link.a],
            b=numbers[link.b],
            kind=link.kind,
            pcie=PcieLevel(link.pcie).name.lower().replace("_", "-"),
            lanes=link.lanes,
        )
        for link in (node.topology.links if node.topology is not None else ())
        if 0 <= link.a < link.b < len(numbers)
    ]
