"""What a node offers to a request, from whoever speaks of its cards."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders.clusters import metax_node
from builders.gpu_aware import GPU, announced_node, listed_by_a_plugin, offering_node
from tangram.model.cards import CardMode
from tangram.services.gpu_aware.occupancy import NodeUse
from tangram.services.gpu_aware.standing import Source, Standing, Worth, standing_of
from tangram.units.ids import CardUuid
from tangram.wire.inventory import INVENTORY
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.metax_topology import LOSSES, SCORES

NODE = metax_node("gpu-1", mode=CardMode.WHOLE)
"""Two groups of four: 110 for a pair of one group, 10 for any other."""
FIGURES = (SCORES, LOSSES)


def test_published_figures_are_taken_as_they_are() -> None:
    node = offering_node("n", scores={1: 0, 2: 110}, losses={1: 300, 2: 40})
    assert standing_of(node, 2) == Standing(total=8, free=8, worth=Worth(110, 40), source=Source.PUBLISHED)


def test_a_request_larger_than_any_published_size_finds_too_few_free_cards() -> None:
    node = offering_node("n", scores={1: 0, 2: 110}, losses={1: 300, 2: 40})
    assert standing_of(node, 3) == Standing(total=8, free=2, source=Source.PUBLISHED)
    assert standing_of(offering_node("n", scores={}, losses={}), 1).free == 0


def test_units_that_figures_do_not_speak_of_are_not_called_taken() -> None:
    """Virtual functions of other cards on the node are handed out under the same name."""
    node = announced_node(NODE, busy=range(6))
    node["status"]["allocatable"] = {GPU: "12"}
    assert standing_of(node, 5).free == 2 + 4
    assert standing_of(node, 7).free == 2 + 4


@pytest.mark.parametrize(
    ("scores", "losses"),
    [('{"1":0}', None), (None, '{"1":0}'), ('{"1":0}', "x"), ('["a"]', '{"1":0}'), ('{"1":0.5}', '{"1":0}')],
)
def test_figures_that_are_missing_or_broken_are_no_figures(scores: str | None, losses: str | None) -> None:
    written = {key: text for key, text in ((SCORES, scores), (LOSSES, losses)) if text is not None}
    assert standing_of(offering_node("n", annotations=written), 1) == Standing(total=8, free=8)


def test_a_node_that_only_counts_its_cards_is_known_by_number_alone() -> None:
    assert standing_of(offering_node("n", 4), 2) == Standing(total=4, free=4)
    assert standing_of({"metadata": {"name": "n"}}, 2) == Standing(total=0, free=0)


@pytest.mark.parametrize("busy", [(), (0, 1), (0, 4, 5), (1, 2, 3, 4, 5, 6, 7)])
@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_what_is_worked_out_from_the_list_is_what_the_agent_would_publish(
    busy: tuple[int, ...], count: int
) -> None:
    published = standing_of(announced_node(NODE, busy), count)
    listed = announced_node(NODE, busy, without=FIGURES)
    listed["metadata"]["annotations"][NODE_DEVICES] = listed_by_a_plugin(NODE, busy)
    computed = standing_of(listed, count)
    assert computed.worth == published.worth
    assert computed.source is Source.COMPUTED
    assert computed.free == 8 - len(busy)


def test_a_list_without_the_whole_cards_does_not_call_them_free() -> None:
    """Our agent lists sliced cards alone, so of a mixed node's whole cards the list says nothing."""
    cards = [*NODE.cards[:7], replace(NODE.cards[7], mode=CardMode.SLICED, slots=16)]
    node = announced_node(replace(NODE, cards=tuple(cards)), without=FIGURES)
    assert NODE_DEVICES in node["metadata"]["annotations"]
    assert standing_of(node, 4).source is Source.UNKNOWN
    assert standing_of(node, 4, NodeUse(frozenset({NODE.cards[0].uuid}))).source is Source.COMPUTED


def test_without_a_list_bound_pods_say_which_cards_are_taken() -> None:
    silent = announced_node(NODE, without=(*FIGURES, NODE_DEVICES))
    assert standing_of(silent, 4).source is Source.UNKNOWN
    taken = frozenset({NODE.cards[0].uuid, NODE.cards[4].uuid})
    expected = standing_of(announced_node(NODE, (0, 4)), 4).worth
    found = standing_of(silent, 4, NodeUse(taken))
    assert (found.worth, found.free, found.source) == (expected, 6, Source.COMPUTED)


def test_cards_of_pods_that_name_none_are_those_they_would_have_been_given() -> None:
    silent = announced_node(NODE, without=(*FIGURES, NODE_DEVICES))
    found = standing_of(silent, 4, NodeUse(frozenset({NODE.cards[0].uuid}), unnamed=4))
    assert (found.worth, found.free) == (None, 3)
    # The other group of four is still whole.
    assert standing_of(silent, 4, NodeUse(unnamed=4)).worth == Worth(6 * 110, 0)


def test_a_whole_card_that_is_named_and_not_there_stands_for_one_that_is() -> None:
    silent = announced_node(NODE, without=(*FIGURES, NODE_DEVICES))
    gone = frozenset({CardUuid("GPU-gone")})
    assert standing_of(silent, 4, NodeUse(gone, whole=gone)).free == 7
    assert standing_of(silent, 4, NodeUse(gone)).free == 8, "a slice of it takes no whole card"


@pytest.mark.parametrize("broken", ["{", "[]", '{"v":2,"cards":[]}'])
def test_a_broken_inventory_leaves_the_count(broken: str) -> None:
    node = offering_node("n", annotations={INVENTORY: broken})
    assert standing_of(node, 2, NodeUse()) == Standing(total=8, free=8)


def test_cards_that_are_cordoned_or_broken_are_not_free() -> None:
    node = announced_node(NODE, without=FIGURES)
    node["metadata"]["annotations"][NODE_DEVICES] = listed_by_a_plugin(NODE, ())
    node["metadata"]["annotations"]["hami.io/device-cordon"] = ",".join(card.uuid for card in NODE.cards[:5])
    found = standing_of(node, 4)
    assert found.worth is None
    assert standing_of(node, 3).worth is not None


def test_a_node_whose_agent_is_about_to_stop_takes_nobody_new() -> None:
    node = announced_node(NODE)
    node["metadata"]["annotations"]["tangram.dev/agent"] = "stopping"
    assert standing_of(node, 1) == Standing(total=8, free=0)


@given(
    st.dictionaries(st.sampled_from([SCORES, LOSSES, INVENTORY, NODE_DEVICES, "x"]), st.text(max_size=40)),
    st.integers(1, 20),
    st.none()
    | st.builds(NodeUse, st.frozensets(st.builds(CardUuid, st.text(max_size=3))), st.integers(0, 40)),
)
def test_any_annotation_gives_a_standing_within_its_bounds(
    annotations: dict[str, str], count: int, use: NodeUse | None
) -> None:
    found = standing_of(offering_node("n", annotations=annotations), count, use)
    assert 0 <= found.free <= found.total == 8


def test_figures_of_endless_length_are_not_remembered() -> None:
    long = json.dumps({str(size): size for size in range(1, 3000)})
    node = offering_node("n", annotations={SCORES: long, LOSSES: long})
    assert standing_of(node, 2).worth == Worth(2, 2)
