"""The picture in words: who sits where, what joins whom, and the table of pairs."""

import pytest

from builders.node_details import LAYOUTS, joined, node_detail, seen_card
from tangram.reports.view_shape import LinkView
from tangram.web.language import Language
from tangram.web.sight import Sight
from tangram.web.topology.describing import description_of, kinds_of, matrix_of
from tangram.web.topology.grouping import plan_of
from tangram.web.topology.scene import scene_of
from tangram.web.topology.speech import Speech

ALL = Sight(everything=True)


def described(name: str) -> str:
    scene = scene_of(LAYOUTS[name](), ALL)
    return description_of(scene, plan_of(scene), Speech(Language.ENGLISH))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("two-groups-of-four", "MetaXLink joins every pair of cards 0, 1, 2, 3."),
        ("two-groups-of-four", "PCIe switch shared by cards 0, 1."),
        ("mixed-vendors", "MTLink x2 joins every pair of cards 4, 5."),
        ("no-links", "No two cards share a direct link."),
        ("links-unknown", "It is not known how the cards are joined."),
        ("links-unknown", "It is not known on which NUMA node cards 0, 1, 2, 3 sit."),
    ],
)
def test_what_is_drawn_is_also_said(name: str, sentence: str) -> None:
    assert sentence in described(name)


def test_a_ring_is_told_by_its_pairs() -> None:
    cards = [seen_card(number) for number in range(4)]
    links = [LinkView(a=a, b=b, kind="MX", pcie="system") for a, b in ((0, 1), (1, 2), (2, 3), (0, 3))]
    scene = scene_of(node_detail(cards, links), ALL)
    words = description_of(scene, plan_of(scene), Speech(Language.ENGLISH))
    assert "MetaXLink joins the pairs 0-1, 0-3, 1-2, 2-3." in words


def test_the_matrix_is_as_the_vendors_tools_print_it() -> None:
    cards = [seen_card(number, numa=number // 2, vendor="mthreads") for number in range(4)]
    links = joined(cards, [[0, 1]], switches=[[0, 1]], bridges=[[2, 3]], kind="MT", lanes=lambda _a, _b: 4)
    assert matrix_of(scene_of(node_detail(cards, links[:-2] + links[-1:]), ALL)) == [
        ["X", "MTx4", "SYS", "SYS"],
        ["MTx4", "X", "SYS", "NA"],
        ["SYS", "SYS", "X", "PHB"],
        ["SYS", "NA", "PHB", "X"],
    ]


def test_the_legend_has_a_line_for_each_kind_and_width() -> None:
    kinds = kinds_of(scene_of(LAYOUTS["moore-threads-lanes"](), ALL))
    assert [(kind.name, kind.count) for kind in kinds] == [("MTLink", 8), ("MTLink x4", 4)]
