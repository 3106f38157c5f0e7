"""The picture of a node: the same bytes for the same node, everything in it once, and nothing that breaks out of it."""

import re
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from builders.node_details import LAYOUTS, holder, joined, node_detail, seen_card, two_groups_of_four
from tangram.reports.view_shape import LinkView, NodeDetail
from tangram.web.language import Language
from tangram.web.sight import Sight
from tangram.web.topology.drawing import drawing_of, line_width
from tangram.web.topology.scene import scene_of
from tangram.web.topology.speech import Speech

EVERYTHING = Sight(everything=True, nodes=True)
ENGLISH = Speech(Language.ENGLISH)
HOSTILE = "</title><script>alert(1)</script>&\"'\x00\ud800"
KINDS = st.sampled_from(["MX", "MT", "", "XX"])
LEVELS = st.sampled_from(
    ["internal", "single-switch", "multiple-switches", "host-bridge", "numa-node", "system", "unknown", "?"]
)


def svg(detail: NodeDetail, speech: Speech = ENGLISH, sight: Sight = EVERYTHING) -> str:
    return str(drawing_of(scene_of(detail, sight), speech))


def elements(text: str, wanted: str) -> list[ET.Element]:
    """Those of that class."""
    root = ET.fromstring(text)  # noqa: S314 - our own text
    return [each for each in root.iter() if wanted in each.get("class", "").split()]


@st.composite
def nodes(draw: st.DrawFn) -> NodeDetail:
    """Up to sixteen cards of any vendor, anywhere, joined in any way, held by anybody, in any state."""
    names = st.sampled_from(["a/one", "b/two", "c/three", f"d/{HOSTILE}"])
    holders = st.lists(st.builds(holder, names, st.integers(0, 64), st.integers(0, 100)), max_size=5)
    cards = [
        seen_card(
            index,
            *draw(holders),
            vendor=draw(st.sampled_from(["metax", "mthreads"])),
            mode=draw(st.sampled_from(["sgpu", "native", "vgpu", "shared", "undecided", "new"])),
            state=draw(st.sampled_from(["", "cordoned", "unhealthy", "asleep"])),
            reason=draw(st.sampled_from(["", HOSTILE])),
            numa=draw(st.integers(-2, 3)),
            others=draw(st.integers(0, 2)),
        )
        for index in range(draw(st.integers(0, 16)))
    ]
    links = draw(
        st.lists(
            st.builds(
                LinkView,
                a=st.integers(-1, 17),
                b=st.integers(-1, 17),
                kind=KINDS,
                pcie=LEVELS,
                lanes=st.integers(0, 99),
            ),
            max_size=40,
        )
    )
    return node_detail(cards, draw(st.sampled_from([links, None])))


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_picture_of_a_server_that_people_have(name: str, snapshot: SnapshotAssertion) -> None:
    assert svg(LAYOUTS[name]()) == snapshot


@given(nodes())
def test_every_card_and_every_direct_link_is_in_the_picture_once(detail: NodeDetail) -> None:
    scene = scene_of(detail, EVERYTHING)
    if not scene.cards:
        assert svg(detail) == ""
        return
    text = svg(detail)
    drawn = Counter(card.get("data-card") for card in elements(text, "tp-card"))
    assert drawn == Counter(str(card.index) for card in scene.cards)
    links = Counter(link.get("data-link") for link in elements(text, "tp-link"))
    assert links == Counter(
        f"{scene.cards[link.a].index}-{scene.cards[link.b].index}" for link in scene.links
    )


@given(nodes())
def test_no_colours_styles_scripts_or_foreign_elements_are_in_it(detail: NodeDetail) -> None:
    text = svg(detail)
    if not text:
        return
    for each in ET.fromstring(text).iter():  # noqa: S314 - our own text
        name = each.tag.rpartition("}")[2]
        assert name in {"svg", "title", "desc", "defs", "pattern", "g", "rect", "circle", "path", "text"}
        assert not any(key == "style" or key.startswith("on") or "href" in key for key, _ in each.items())
        assert all(value.startswith("url(#tp-") for key, value in each.items() if key == "fill")


def test_hostile_names_stay_text() -> None:
    cards = [seen_card(0, holder(f"x/{HOSTILE}"), reason=HOSTILE, state="unhealthy")]
    text = svg(node_detail(cards, name=HOSTILE))
    assert "<script" not in text
    assert "\x00" not in text
    assert "&lt;script&gt;" in text


def test_cards_are_never_told_by_colour_alone() -> None:
    words = {
        card.get("data-card"): "".join(card.itertext())
        for card in elements(svg(two_groups_of_four()), "tp-card")
    }
    assert "cordoned" in words["5"]
    assert "unhealthy" in words["6"]
    assert "free" in words["3"]
    assert "whole" in words["0"]
    signs = [
        {part.get("class") for part in card.iter() if "tp-sign" in part.get("class", "").split()}
        for card in elements(svg(two_groups_of_four()), "tp-card")
    ]
    assert all(len(each) == 1 for each in signs)


def test_a_card_with_more_owners_than_lines_says_how_many_more_and_names_all_in_its_title() -> None:
    (card,) = [
        each for each in elements(svg(two_groups_of_four()), "tp-card") if each.get("data-card") == "4"
    ]
    assert "and 4 more" in "".join(card.itertext())
    title = card[0].text or ""
    assert all(f"batch/worker-{number}" in title for number in range(6))


def test_the_set_of_a_pod_and_the_runner_up_have_outlines_and_words_of_their_own() -> None:
    text = svg(two_groups_of_four("research/train-0"))
    assert len(elements(text, "tp-chosen")) == 2
    assert len(elements(text, "tp-runner-up")) == 2
    words = [each.text for each in elements(text, "tp-pill-word")]
    assert words == ["chosen", "chosen", "runner-up", "runner-up"]
    assert [each.get("data-link") for each in elements(text, "tp-in-chosen")] == ["0-1"]


def test_pods_outside_the_sight_are_one_amount_without_names() -> None:
    text = svg(two_groups_of_four(), sight=Sight(nodes=True, namespaces=frozenset({"web"})))
    assert "embed-7c9f" in text
    assert not re.search("train|chat-1|worker|notebook", text)
    assert "6 pods of other namespaces" in text


def test_it_is_an_image_with_a_name_and_a_description_in_both_languages() -> None:
    for language, words in (
        (Language.ENGLISH, "NUMA node 0 has cards 0, 1"),
        (Language.CHINESE, "两两通过 MetaXLink 互联"),
    ):
        text = svg(two_groups_of_four(), Speech(language))
        assert 'role="img" aria-labelledby="topology-title" aria-describedby="topology-desc"' in text
        assert words in text


def test_more_lanes_make_a_broader_line_up_to_a_limit() -> None:
    assert line_width(1) < line_width(2) < line_width(4)
    assert line_width(64) == line_width(65)


def test_both_vendors_may_count_from_nought_on_one_node() -> None:
    metax = [seen_card(number, numa=0) for number in range(2)]
    mthreads = [seen_card(number, numa=1, vendor="mthreads") for number in range(2)]
    links = joined(metax, [range(2)]) + joined(mthreads, [range(2)], kind="MT")
    text = svg(node_detail([*metax, *mthreads], links))
    assert len(elements(text, "tp-link-mx")) == 1
    assert len(elements(text, "tp-link-mt")) == 1
