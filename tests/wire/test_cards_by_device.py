"""Which cards are chosen on a node of which nothing but Koordinator's Device tells where its cards sit.

koord-device-daemon never looks for MetaXLink: the root complex and the NUMA node of each card are all there is. What
koord-scheduler would choose there is the measure: the smallest scope that holds the job, and of several the fullest.
"""

import json
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.card_sets import best_set
from tangram.engine.filter import filter_nodes
from tangram.engine.layout import layout_of
from tangram.engine.ledger import Ledger
from tangram.engine.weights import DEFAULT_WEIGHTS
from tangram.model.nodes import Node
from tangram.model.requests import AskKind, NodePolicy
from tangram.units.ids import NodeName
from tangram.wire.koordinator.device import read_device
from tangram.wire.nodes import read_node
from wire import manifests

Places = Sequence[tuple[int, str]]
"""NUMA node and root complex of each card."""

ONE_ROOT_EACH: Places = [(at // 4, f"pci0000:{at:02x}") for at in range(8)]
PAIRS: Places = [(at // 4, f"pci0000:{at // 2:02x}") for at in range(8)]
FOURS: Places = [(at // 4, f"pci0000:{at // 4:02x}") for at in range(8)]
TWO_AND_TWO: Places = [(at // 2, f"pci0000:{at:02x}") for at in range(4)]
"""Four cards, two at each socket."""


def reported(places: Places, *, name: str = "n1", pairs_linked: bool = False, whole: bool = False) -> Node:
    """The node as our scheduler reads it, its Device written as koord-device-daemon and koordlet do."""
    entries = [
        {
            "id": f"GPU-{name}-{at}",
            "minor": at,
            "type": "gpu",
            "health": True,
            "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "64Gi"},
            "topology": {"socketID": -1, "nodeID": numa, "pcieID": root, "busID": f"0000:{at + 8:02x}:00.0"},
        }
        for at, (numa, root) in enumerate(places)
    ]
    table = [
        {"minors": [at, at + 1], "gpuLinkType": "MetaXLink", "allocationScore": 1}
        for at in range(0, len(places), 2)
    ]
    device, problems = read_device(
        {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "Device",
            "metadata": {
                "name": name,
                "labels": {
                    "node.koordinator.sh/gpu-vendor": "metax",
                    "node.koordinator.sh/gpu-model": "C500",
                },
                "annotations": {"scheduling.koordinator.sh/gpu-partitions": json.dumps({"2": table})}
                if pairs_linked
                else {},
            },
            "spec": {"devices": entries},
        }
    )
    assert problems == ()
    capacity = {"metax-tech.com/gpu": str(len(places))} if whole else None
    return read_node(manifests.node(name, capacity=capacity), device).node


def beside(node: Node, busy: Sequence[int]) -> Ledger:
    ledger = ledger_of(node)
    for at in busy:
        ledger.put_tenant(tenant(f"t{at}", node, Part(at, node.cards[at].memory, node.cards[at].cores)))
    return ledger


def given_to(ledger: Ledger, count: int, policy: NodePolicy | None = None) -> list[int]:
    asked = request("p", slice_ask(count), node_policy=policy)
    allocation = filter_nodes(ledger, asked, DEFAULTS).allocation
    assert allocation is not None
    return sorted(share.index for share in allocation.containers[0].shares)


@pytest.mark.parametrize("policy", [None, NodePolicy.BINPACK, NodePolicy.SPREAD])
@pytest.mark.parametrize(
    ("places", "busy", "count", "cards"),
    [
        pytest.param(ONE_ROOT_EACH, (0,), 2, [2, 3], id="two beside a busy card"),
        pytest.param(ONE_ROOT_EACH, (0,), 3, [1, 2, 3], id="three beside a busy card"),
        pytest.param(ONE_ROOT_EACH, (0,), 4, [4, 5, 6, 7], id="four with a card busy at the other socket"),
        pytest.param(ONE_ROOT_EACH, (5,), 4, [0, 1, 2, 3], id="four with a card busy at this socket"),
        pytest.param(ONE_ROOT_EACH, (0, 1), 2, [2, 3], id="two beside two busy cards"),
        pytest.param(ONE_ROOT_EACH, (0, 1), 3, [5, 6, 7], id="three where two do not hold them"),
        pytest.param(ONE_ROOT_EACH, (0, 4), 1, [7], id="one where both sockets are alike"),
        pytest.param(ONE_ROOT_EACH, (0, 1, 4), 1, [3], id="one at the fuller socket"),
        pytest.param(ONE_ROOT_EACH, (), 5, [3, 4, 5, 6, 7], id="five: a whole socket and one"),
        pytest.param(PAIRS, (5,), 1, [4], id="pairs: the mate of a busy card"),
        pytest.param(PAIRS, (5,), 2, [6, 7], id="pairs: two below one root of the used socket"),
        pytest.param(PAIRS, (5,), 4, [0, 1, 2, 3], id="pairs: four at one socket"),
        pytest.param(PAIRS, (0,), 2, [2, 3], id="pairs: two below one root"),
        pytest.param(PAIRS, (0,), 3, [1, 2, 3], id="pairs: three at the used socket"),
        pytest.param(PAIRS, (0,), 4, [4, 5, 6, 7], id="pairs: four at the other socket"),
        pytest.param(PAIRS, (0, 2), 2, [6, 7], id="pairs: a pair below one root before two halves"),
        pytest.param(PAIRS, (0, 6), 4, [1, 4, 5, 7], id="pairs: three and one where no socket has four"),
        pytest.param(FOURS, (0,), 3, [1, 2, 3], id="fours: three at the used root"),
        pytest.param(FOURS, (0,), 2, [2, 3], id="fours: two at the used root"),
        pytest.param(FOURS, (0,), 4, [4, 5, 6, 7], id="fours: four at the other root"),
        pytest.param(TWO_AND_TWO, (), 2, [2, 3], id="two and two: two at one socket"),
        pytest.param(TWO_AND_TWO, (0,), 2, [2, 3], id="two and two: not a half of each"),
        pytest.param(TWO_AND_TWO, (0,), 1, [1], id="two and two: one leaves the other socket whole"),
        pytest.param(TWO_AND_TWO, (0,), 3, [1, 2, 3], id="two and two: all that is left"),
    ],
)
def test_a_job_gets_the_cards_of_the_smallest_and_fullest_scope_that_holds_it(
    places: Places, busy: Sequence[int], count: int, cards: list[int], policy: NodePolicy | None
) -> None:
    assert given_to(beside(reported(places), busy), count, policy) == cards


@pytest.mark.parametrize("places", [ONE_ROOT_EACH, PAIRS, FOURS])
@pytest.mark.parametrize(
    "jobs", [(3, 1, 4), (1, 3, 4), (4, 3, 1), (2, 2, 4), (2, 4, 2), (1, 1, 2, 4), (1, 2, 1, 4), (2, 2, 2, 2)]
)
def test_jobs_that_come_one_after_another_fill_one_socket_before_the_next(
    places: Places, jobs: Sequence[int]
) -> None:
    node = reported(places)
    busy: list[int] = []
    for count in jobs:
        cards = given_to(beside(node, busy), count)
        assert len({node.cards[at].numa for at in cards}) == 1
        busy += cards
    assert sorted(busy) == list(range(8))


@pytest.mark.parametrize(
    ("busy", "count", "cards"),
    [
        pytest.param((0,), 2, [2, 3], id="the linked pair of the used socket"),
        pytest.param((0,), 3, [1, 2, 3], id="a linked pair and the card that has lost its mate"),
        pytest.param((0,), 4, [4, 5, 6, 7], id="two linked pairs of one socket"),
        pytest.param((0, 2), 2, [6, 7], id="not two cards that have lost their mates"),
        pytest.param((0, 6), 4, [2, 3, 4, 5], id="two linked pairs where no socket has them"),
        pytest.param((0, 2, 5, 6), 2, [4, 7], id="two of one socket where no pair is left"),
    ],
)
def test_partitions_of_two_and_two_are_kept_whole(busy: Sequence[int], count: int, cards: list[int]) -> None:
    assert given_to(beside(reported(ONE_ROOT_EACH, pairs_linked=True), busy), count) == cards


@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=9),
    st.data(),
)
def test_no_socket_is_broken_into_while_a_fuller_one_holds_the_job(
    numas: list[int], data: st.DataObject
) -> None:
    node = reported([(numa, f"pci0000:{at:02x}") for at, numa in enumerate(numas)])
    busy = sorted(data.draw(st.sets(st.integers(0, len(numas) - 1), max_size=len(numas) - 1)))
    free = [at for at in range(len(numas)) if at not in busy]
    count = data.draw(st.integers(1, len(free)))
    room = {numa: sum(numas[at] == numa for at in free) for numa in set(numas)}
    holding = [each for each in room.values() if each >= count]
    cards = given_to(beside(node, busy), count)
    sockets = {numas[at] for at in cards}
    if holding:
        assert [room[each] for each in sockets] == [min(holding)]
    else:
        together = max(
            sum(numas[a] == numas[b] for a, b in combinations(one, 2)) for one in combinations(free, count)
        )
        assert sum(numas[a] == numas[b] for a, b in combinations(cards, 2)) == together


@pytest.mark.parametrize("places", [ONE_ROOT_EACH, PAIRS, FOURS, TWO_AND_TWO])
def test_the_node_agent_would_choose_the_same_cards(places: Places) -> None:
    node = reported(places)
    layout = layout_of(node, DEFAULT_WEIGHTS)
    assert layout is not None
    for busy in ((), (0,), (1,), (0, 2)):
        for count in range(1, len(places) - len(busy) + 1):
            best = best_set(layout, sum(1 << at for at in range(len(places)) if at not in busy), count)
            assert best is not None
            assert given_to(beside(node, busy), count) == [
                at for at in range(len(places)) if best.mask >> at & 1
            ]


def test_spread_takes_the_node_with_two_cards_at_one_socket_and_not_one_with_a_card_at_each() -> None:
    apart, near = (reported(TWO_AND_TWO, name=name, whole=True) for name in "ab")
    ledger = ledger_of(apart, near)
    for node, taken in ((apart, (0, 2)), (near, (0, 1))):
        for at in taken:
            whole = Part(at, node.cards[at].memory, node.cards[at].cores, AskKind.WHOLE)
            ledger.put_tenant(tenant(f"{node.name}{at}", node, whole))
    asked = request("p", whole_ask(2), node_policy=NodePolicy.SPREAD)
    assert filter_nodes(ledger, asked, DEFAULTS).node == NodeName("b")
