from collections.abc import Iterable
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.servers import servers, unlinked
from tangram.engine.usage import Hold
from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.topology import Link, LinkKind, Topology
from tangram.units.ids import CardUuid
from tangram.units.memory import GIB, from_gib
from tangram.wire.metax_listing import NODE_DEVICES, encode_listing
from tangram.wire.metax_publishing import figures_of, listing_of
from tangram.wire.nodes import read_node
from wire.manifests import node


def card(index: int, *, mode: CardMode = CardMode.SLICED, cordoned: bool = False) -> Card:
    return Card(
        uuid=CardUuid(f"GPU-{index}"),
        index=index,
        vendor=Vendor.METAX,
        memory=from_gib(64),
        slots=16 if mode is CardMode.SLICED else 1,
        mode=mode,
        numa=0,
        cordoned=cordoned,
        announced_qos=QosPolicy.FIXED_SHARE if mode is CardMode.SLICED else None,
        bdf=f"0000:{index + 10:02x}:00.0",
    )


def linked(*pairs: tuple[int, int], size: int) -> Topology:
    return Topology(size, tuple(Link(a, b, LinkKind.METAXLINK) for a, b in pairs))


def test_what_we_announce_is_read_back_as_the_same_cards_and_links() -> None:
    cards = (card(0), card(1))
    topology = linked((0, 1), size=2)
    annotation = encode_listing(listing_of(cards, topology, {}))
    read = read_node(node(annotations={NODE_DEVICES: annotation})).node
    assert read.cards == cards
    assert read.topology == topology


def test_what_is_held_is_not_available() -> None:
    (listed,) = listing_of([card(0)], None, {CardUuid("GPU-0"): Hold(16 * GIB, 60, 3)})
    assert (listed.available_vram_mib, listed.available_compute, listed.available_dev_count) == (
        49152,
        40,
        13,
    )
    assert (listed.total_vram_mib, listed.total_compute, listed.total_dev_count) == (65536, 100, 16)


def test_cards_linked_through_others_are_one_zone_and_lone_cards_none() -> None:
    cards = [card(index) for index in range(5)]
    zones = [each.link_zone for each in listing_of(cards, linked((0, 2), (2, 4), size=5), {})]
    assert zones == [1, 0, 1, 0, 1]


def test_a_cordoned_card_is_announced_as_unhealthy() -> None:
    assert [each.healthy for each in listing_of([card(0), card(1, cordoned=True)], None, {})] == [True, False]


def test_cards_of_other_vendors_are_not_metax_business() -> None:
    other = Card(uuid=CardUuid("x"), index=0, vendor=Vendor.MTHREADS, memory=from_gib(48))
    assert listing_of([other], None, {}) == ()


@given(servers(), st.booleans())
def test_published_figures_are_sums_of_the_vendors_weights_with_links_and_without(
    server: Node,
    plain: bool,  # noqa: FBT001 - drawn
) -> None:
    found = unlinked(server) if plain else server
    cards = tuple(replace(each, vendor=Vendor.METAX) for each in found.cards)
    figures = figures_of(cards, found.topology, {})
    if found.topology is None:
        assert figures is None
        return
    assert figures is not None
    # Of MetaX: 60 for a link, and the same 10 for a pair within a NUMA node and across sockets.
    worth = {
        (link.a, link.b): (60 * link.lanes if link.kind else 0) + (60, 50, 20, 15, 10, 10, 0)[link.pcie]
        for link in found.topology.links
    }

    def inside(chosen: Iterable[int]) -> int:
        return sum(worth.get(pair, 0) for pair in combinations(sorted(chosen), 2))

    everything = set(range(len(cards)))
    for count in range(1, len(cards) + 1):
        sets = [set(each) for each in combinations(everything, count)]
        assert figures.scores[count] == max(map(inside, sets))
        assert figures.losses[count] == min(
            inside(everything) - inside(each) - inside(everything - each) for each in sets
        )
