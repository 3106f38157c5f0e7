"""Which node a pod gets: fullness, topology, published figures, and never chance."""

from itertools import permutations

import msgspec
import pytest

from builders.clusters import TWO_GROUPS_OF_FOUR, grouped, metax_node
from builders.requests import DEFAULTS, request, slice_ask, whole_ask
from builders.tenants import Part, ledger_of, tenant
from tangram.engine.filter import Candidates, filter_nodes
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.cards import CardMode
from tangram.model.nodes import Node, Taint
from tangram.model.pods import LabelRule, NodePreference, Placing
from tangram.model.requests import AskKind, HostAsk, NodePolicy, Request
from tangram.model.topology import PublishedTopology, Topology
from tangram.units.ids import NodeName
from tangram.units.memory import from_gib

SMALL = slice_ask(memory=from_gib(4), cores=10)
changed = msgspec.structs.replace


def scores(ledger: Ledger, asked: Request) -> dict[str, float]:
    outcome = filter_nodes(ledger, asked, DEFAULTS)
    names = [ledger.node_at(int(row)).name for row in outcome.view.rows]
    return {name: float(score) for name, score in zip(names, outcome.score, strict=True)}


def whole_node(
    name: str, cards: int = 8, *, topology: Topology | None = None, published: PublishedTopology | None = None
) -> Node:
    node = metax_node(name, cards, mode=CardMode.WHOLE)
    return changed(node, topology=topology, published=published)


def busy(node: Node, *cards: int) -> list[Part]:
    return [Part(each, node.cards[each].memory, 100, AskKind.WHOLE) for each in cards]


def test_the_base_score_is_how_full_slots_compute_and_memory_are() -> None:
    node = metax_node("n", 4)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, Part(0, from_gib(4), 10), Part(1, from_gib(4), 30)))
    expected = 10 * (2 / 64 + 40 / 400 + 8 / 256)
    assert scores(ledger, request("p", SMALL)) == {"n": pytest.approx(expected)}
    spread = request("p", SMALL, node_policy=NodePolicy.SPREAD)
    assert scores(ledger, spread) == {"n": pytest.approx(-expected)}


@pytest.mark.parametrize(
    ("policy", "default", "chosen"),
    [
        pytest.param(NodePolicy.BINPACK, NodePolicy.SPREAD, "full", id="binpack"),
        pytest.param(NodePolicy.SPREAD, NodePolicy.BINPACK, "empty", id="spread"),
        pytest.param(NodePolicy.BESTFIT, NodePolicy.SPREAD, "full", id="bestfit"),
        pytest.param(None, NodePolicy.SPREAD, "empty", id="the cluster's default"),
    ],
)
def test_the_same_cluster_under(policy: NodePolicy | None, default: NodePolicy, chosen: str) -> None:
    full = metax_node("full", 2)
    ledger = ledger_of(metax_node("empty", 2), full)
    ledger.put_tenant(tenant("t", full, Part(0)))
    asked = request("p", SMALL, node_policy=policy)
    assert filter_nodes(ledger, asked, Defaults(node_policy=default)).node == chosen


def test_whole_cards_are_scored_by_the_damage_done_or_by_the_links_gained() -> None:
    node = whole_node("n", topology=TWO_GROUPS_OF_FOUR)
    ledger = ledger_of(node)
    ledger.put_tenant(tenant("t", node, *busy(node, 0, 1)))
    base = 10 * 3 * 2 / 8
    for count, loss, score in ((1, 150, 0), (2, 80, 110), (4, 80, 660), (6, 0, 850)):
        packed = request("p", whole_ask(count), node_policy=NodePolicy.BINPACK)
        assert scores(ledger, packed) == {"n": pytest.approx(base + 2000 - loss)}
        spread = request("p", whole_ask(count), node_policy=NodePolicy.SPREAD)
        assert scores(ledger, spread) == {"n": pytest.approx(-base - 2000 + score)}


FIGURES = PublishedTopology(scores=((1, 0), (2, 110), (4, 660)), losses=((1, 150), (2, 80), (4, 80)))


@pytest.mark.parametrize("policy", [NodePolicy.BINPACK, NodePolicy.SPREAD])
@pytest.mark.parametrize(
    "known",
    [
        pytest.param(whole_node("z-known", topology=TWO_GROUPS_OF_FOUR), id="links known"),
        pytest.param(whole_node("z-known", published=FIGURES), id="figures published"),
        pytest.param(
            whole_node("z-known", 16, topology=grouped(16, [range(8), range(8, 16)])),
            id="so many links that the loss exceeds the base",
        ),
    ],
)
def test_a_node_that_says_nothing_of_its_links_never_beats_one_that_does(
    known: Node, policy: NodePolicy
) -> None:
    silent = whole_node("a-silent", len(known.cards))
    # Packing and names speak for the silent node.
    ledger = ledger_of(silent, known)
    ledger.put_tenant(tenant("t", silent, *busy(silent, 0)))
    for count in (2, 4):
        assert (
            filter_nodes(ledger, request("p", whole_ask(count), node_policy=policy), DEFAULTS).node
            == "z-known"
        )


def test_figures_that_lack_the_size_asked_count_as_silence() -> None:
    one = whole_node("a-short", published=PublishedTopology(losses=((1, 0),), scores=((1, 0),)))
    ledger = ledger_of(one, whole_node("b-full", published=FIGURES))
    for policy in (NodePolicy.BINPACK, NodePolicy.SPREAD):
        assert filter_nodes(ledger, request("p", whole_ask(4), node_policy=policy), DEFAULTS).node == "b-full"


def test_known_links_are_believed_rather_than_published_figures() -> None:
    liar = PublishedTopology(losses=((4, 0),))
    ledger = ledger_of(
        whole_node("a", topology=grouped(8, []), published=liar), whole_node("b", topology=TWO_GROUPS_OF_FOUR)
    )
    told = scores(ledger, request("p", whole_ask(4), node_policy=NodePolicy.BINPACK))
    assert told == {"a": 2000 - 16 * 10, "b": 2000 - 16 * 10}


@pytest.mark.parametrize(
    ("busy_cards", "count", "raw"),
    [
        pytest.param((), 1, -30, id="one of four"),
        pytest.param((), 2, 60, id="two of four"),
        pytest.param((), 4, 600, id="all four"),
        pytest.param((), 8, 1200, id="eight over two full zones"),
        pytest.param((0, 1, 2, 3, 4, 5, 6), 1, 0, id="the last free card"),
    ],
)
def test_exclusive_slices_weigh_whole_zones_when_asked_to(
    busy_cards: tuple[int, ...], count: int, raw: int
) -> None:
    zones = Topology(8, tuple(link for link in TWO_GROUPS_OF_FOUR.links if link.kind))
    node = changed(metax_node("n", 8), topology=zones)
    ledger = ledger_of(node)
    for each in busy_cards:
        ledger.put_tenant(tenant(f"t{each}", node, Part(each)))
    asked = request("p", slice_ask(count), zone_aware=True)
    base = scores(ledger, changed(asked, zone_aware=False))["n"]
    assert scores(ledger, asked)["n"] == pytest.approx(base + 10_000 * raw)


def test_zones_do_not_count_unless_asked_for_and_only_for_exclusive_slices() -> None:
    ledger = ledger_of(metax_node("n", 8))
    assert scores(ledger, request("p", slice_ask(2), zone_aware=False)) == {"n": 0}
    assert scores(ledger, request("p", slice_ask(2, memory=from_gib(4), cores=99), zone_aware=True)) == {
        "n": 0
    }
    aware = Defaults(zone_aware=True)
    assert filter_nodes(ledger, request("p", slice_ask(2)), aware).score.tolist() == [600_000]


def test_equal_nodes_are_taken_by_room_left_and_then_by_name_in_whatever_order_they_came() -> None:
    for names in permutations("abc"):
        ledger = ledger_of(*(metax_node(name, 2) for name in names))
        assert filter_nodes(ledger, request("p", SMALL), DEFAULTS).node == "a"
        candidates = Candidates(names=[NodeName(name) for name in names if name != "a"])
        assert filter_nodes(ledger, request("p", SMALL), DEFAULTS, candidates).node == "b"
        # Less room, same fullness: cards count the same, processors differ.
        ledger.put_node(metax_node("c", 2, cpu_milli=4_000))
        ledger.put_node(metax_node("a", 2, cpu_milli=8_000))
        ledger.put_node(metax_node("b", 2, cpu_milli=8_000))
        assert filter_nodes(ledger, request("p", SMALL), DEFAULTS).node == "c"


def liking(weight: int, node: str) -> NodePreference:
    return NodePreference(weight, (LabelRule("metadata.name", "In", (node,), is_field=True),))


@pytest.mark.parametrize(
    ("placing", "demoted", "chosen"),
    [
        pytest.param(Placing(), (), "full", id="nothing said"),
        pytest.param(Placing(preferred=(liking(1, "plain"),)), (), "plain", id="a preferred node"),
        pytest.param(
            Placing(preferred=(liking(1, "plain"), liking(2, "full"))), (), "full", id="the more preferred"
        ),
        pytest.param(Placing(preferred=(liking(100, "shunned"),)), (), "full", id="liked but tainted"),
        pytest.param(Placing(), ("full",), "plain", id="a node where this pod failed a moment ago"),
        pytest.param(
            Placing(preferred=(liking(100, "full"),)), ("full",), "plain", id="demoted although preferred"
        ),
        pytest.param(Placing(), ("full", "plain"), "shunned", id="demoted beats a soft taint"),
        pytest.param(Placing(), ("full", "plain", "shunned"), "full", id="all demoted"),
    ],
)
def test_what_the_pod_prefers_comes_before_any_score(
    placing: Placing, demoted: tuple[str, ...], chosen: str
) -> None:
    full = metax_node("full", 2)
    soft = Taint("spot", effect="PreferNoSchedule")
    ledger = ledger_of(full, metax_node("plain", 2), changed(metax_node("shunned", 2), taints=(soft,)))
    ledger.put_tenant(tenant("t", full, Part(0)))
    asked = changed(request("p", SMALL), placing=placing)
    candidates = Candidates(demoted=tuple(map(NodeName, demoted)))
    assert filter_nodes(ledger, asked, DEFAULTS, candidates).node == chosen


def test_a_pod_that_wants_no_card_is_placed_by_its_host_wishes() -> None:
    ledger = ledger_of(metax_node("a", 1, cpu_milli=1_000), metax_node("b", 1, cpu_milli=9_000))
    outcome = filter_nodes(ledger, changed(request("p"), host=HostAsk(cpu_milli=2_000)), DEFAULTS)
    assert outcome.node == "b"
    assert outcome.allocation is not None
    assert outcome.allocation.cards == ()
