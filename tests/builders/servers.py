"""Nodes whose cards are joined in any way, for promises that hold whatever the server looks like."""

from itertools import combinations

from hypothesis import strategies as st
from msgspec.structs import replace

from builders.clusters import card
from tangram.engine.layout import Layout, layout_of
from tangram.engine.weights import DEFAULT_WEIGHTS
from tangram.model.cards import CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.ids import NodeName

_LINK_OF = {Vendor.METAX: LinkKind.METAXLINK, Vendor.MTHREADS: LinkKind.MTLINK}


@st.composite
def servers(draw: st.DrawFn, *, largest: int = 7, mode: CardMode = CardMode.WHOLE) -> Node:
    """Every pair is joined as it likes, by no plan of a real server's."""
    vendor = draw(st.sampled_from(list(_LINK_OF)))
    size = draw(st.integers(1, largest))
    kinds = st.sampled_from([LinkKind.NONE, _LINK_OF[vendor]])
    levels = st.sampled_from(list(PcieLevel))
    links = [
        Link(a, b, draw(kinds), draw(levels), draw(st.integers(1, 2)))
        for a, b in combinations(range(size), 2)
        if draw(st.booleans())
    ]
    cards = [card("n", at, vendor=vendor, mode=mode, numa=draw(st.integers(-1, 1))) for at in range(size)]
    topology = None if draw(st.integers(0, 5)) == 0 else Topology(size, tuple(links))
    return Node(name=NodeName("n"), cards=tuple(cards), topology=topology)


def unlinked(node: Node) -> Node:
    """The same server without its direct links."""
    if node.topology is None:
        return node
    links = tuple(replace(link, kind=LinkKind.NONE, lanes=1) for link in node.topology.links)
    return replace(node, topology=replace(node.topology, links=links))


def layout(node: Node) -> Layout:
    found = layout_of(node, DEFAULT_WEIGHTS)
    assert found is not None
    return found


def layouts(largest: int = 7) -> st.SearchStrategy[Layout]:
    """With links and without."""
    either = st.booleans().flatmap(
        lambda plain: servers(largest=largest).map(lambda node: unlinked(node) if plain else node)
    )
    return either.map(layout)
