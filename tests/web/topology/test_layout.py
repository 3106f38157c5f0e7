"""Where things are: nothing lies on anything else, and everything lies where it belongs."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.node_details import LAYOUTS, joined, node_detail, seen_card
from tangram.reports.view_shape import NodeDetail
from tangram.web.sight import Sight
from tangram.web.topology.grouping import BRIDGE, SWITCH, Plan, plan_of
from tangram.web.topology.layout import Layout, Spot, layout_of
from tangram.web.topology.scene import Scene, scene_of


def laid(detail: NodeDetail) -> tuple[Scene, Plan, Layout]:
    scene = scene_of(detail, Sight(everything=True))
    plan = plan_of(scene)
    return scene, plan, layout_of(scene, plan)


def apart(one: Spot, other: Spot) -> bool:
    return (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )


def within(inner: Spot, outer: Spot) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.width <= outer.x + outer.width
        and inner.y + inner.height <= outer.y + outer.height
    )


@st.composite
def nodes(draw: st.DrawFn) -> NodeDetail:
    size = draw(st.integers(1, 16))
    numa = draw(st.lists(st.integers(-1, 3), min_size=size, max_size=size))
    cards = [seen_card(index, numa=numa[index]) for index in range(size)]
    group = st.lists(st.lists(st.integers(0, 15), max_size=8), max_size=4)
    links = joined(cards, draw(group), switches=draw(group), bridges=draw(group))
    return node_detail(cards, draw(st.sampled_from([links, None])))


@given(nodes())
def test_no_two_cards_boxes_or_bars_overlap_and_all_are_in_the_picture(detail: NodeDetail) -> None:
    scene, plan, layout = laid(detail)
    assert set(layout.cards) == set(range(len(scene.cards)))
    boxes = [box.spot for box in layout.boxes]
    solid = [*layout.cards.values(), *(bar.spot for bar in layout.bars)]
    for spots in (solid, boxes):
        assert all(apart(one, other) for one, other in combinations(spots, 2))
    whole = Spot(0, 0, layout.width, layout.height)
    assert all(within(spot, whole) for spot in [*boxes, *solid])
    assert len(layout.boxes) == len(plan.numa)
    for box in layout.boxes:
        inside = {card for card, spot in layout.cards.items() if within(spot, box.spot)}
        assert inside == set(plan.numa[box.numa])


@given(nodes())
def test_links_leave_from_ports_of_their_own_on_the_edges_of_their_cards(detail: NodeDetail) -> None:
    scene, _plan, layout = laid(detail)
    assert [route.joint for route in layout.routes] == scene.links
    ports = [end for route in layout.routes for end in route.ends]
    assert len(set(ports)) == len(ports)
    for route in layout.routes:
        for card, (x, y) in zip((route.joint.a, route.joint.b), route.ends, strict=True):
            spot = layout.cards[card]
            assert spot.x < x < spot.x + spot.width
            assert y in (spot.y, spot.y + spot.height)
        assert all(0 <= number <= layout.height for number in route.curve[1::2])


@given(nodes())
def test_no_link_runs_over_a_card(detail: NodeDetail) -> None:
    _scene, _plan, layout = laid(detail)
    for route in layout.routes:
        ax, ay, bx, by, cx, cy, dx, dy = route.curve
        for step in range(1, 20):
            s = step / 20
            r = 1 - s
            x = r**3 * ax + 3 * r * r * s * bx + 3 * r * s * s * cx + s**3 * dx
            y = r**3 * ay + 3 * r * r * s * by + 3 * r * s * s * cy + s**3 * dy
            assert not any(
                spot.x < x < spot.x + spot.width and spot.y < y < spot.y + spot.height
                for spot in layout.cards.values()
            )


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("two-groups-of-four", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("full-mesh-without-numa", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("two-cards", ((0, 1),)),
        ("sixteen-cards", (tuple(range(8)), tuple(range(8, 16)))),
        ("no-links", ((0, 1, 2, 3), (4, 5))),
        ("links-unknown", ((0, 1, 2, 3),)),
    ],
)
def test_cards_that_belong_together_share_a_row(name: str, rows: tuple[tuple[int, ...], ...]) -> None:
    assert laid(LAYOUTS[name]())[1].rows == rows


def test_switches_and_the_bridge_above_them_are_found_from_pairs() -> None:
    levels = laid(LAYOUTS["two-groups-of-four"]())[1].levels
    assert [[(under.kind, under.cards) for under in level] for level in levels] == [
        [(SWITCH, (0, 1)), (SWITCH, (2, 3)), (SWITCH, (4, 5)), (SWITCH, (6, 7))],
        [(BRIDGE, (0, 1, 2, 3)), (BRIDGE, (4, 5, 6, 7))],
    ]


def test_a_bridge_over_one_switch_alone_says_nothing_and_is_left_out() -> None:
    cards = [seen_card(number, numa=0) for number in range(2)]
    plan = laid(node_detail(cards, joined(cards, [], switches=[range(2)], bridges=[range(2)])))[1]
    assert [under.kind for level in plan.levels for under in level] == [SWITCH]


def test_a_switch_that_both_rows_share_is_one_switch_with_a_spine() -> None:
    _scene, _plan, layout = laid(LAYOUTS["full-mesh-without-numa"]())
    assert [bar.cards for bar in layout.bars] == [tuple(range(8))] * 2
    assert [len(wire) for wire in layout.wires].count(8) == 1


def test_a_spine_ends_at_the_bars_of_rows_that_are_not_alike() -> None:
    cards = [seen_card(number) for number in range(7)]
    links = joined(cards, [], switches=[range(3), range(3, 7)], bridges=[range(7)])
    _scene, _plan, layout = laid(node_detail(cards, links))
    (spine,) = [wire for wire in layout.wires if len(wire) == 8]
    bars = [bar.spot for bar in layout.bars if bar.kind == BRIDGE]
    assert {(bar.x, bar.y + bar.height / 2) for bar in bars} == {spine[:2], spine[6:]}


def test_cards_of_different_numa_nodes_are_not_drawn_under_one_switch() -> None:
    cards = [seen_card(number, numa=number) for number in range(2)]
    plan = laid(node_detail(cards, joined(cards, [], switches=[range(2)])))[1]
    assert plan.levels == ()


def test_nothing_is_drawn_of_a_tree_that_nobody_reported() -> None:
    _scene, _plan, layout = laid(LAYOUTS["links-unknown"]())
    assert (layout.bars, layout.wires, layout.routes) == ((), (), ())
