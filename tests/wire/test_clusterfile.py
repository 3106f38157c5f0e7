"""Short files say what they mean, and everything else about them is refused with a sentence."""

import re

import pytest

from tangram.model.cards import AppClass, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node, Taint
from tangram.model.requests import AskKind, HostAsk, Request, Vocabulary
from tangram.model.topology import LinkKind, PcieLevel
from tangram.units.memory import Bytes, from_gib
from tangram.wire.clusterfile.reading import (
    ClusterFile,
    is_short_file,
    read_cluster_file,
    read_pods_file,
)
from tangram.wire.errors import WireError

C500 = {"name": "a", "product": "C500", "cards": 4}


def cluster(*nodes: object, pods: object = ()) -> ClusterFile:
    return read_cluster_file({"tangram": "cluster/v1", "nodes": list(nodes), "pods": pods})


def only_node(**keys: object) -> Node:
    (node,) = cluster({**C500, **keys}).nodes
    return node


def stream(*pods: object, vendors: tuple[Vendor, ...] = (Vendor.METAX,)) -> tuple[Request, ...]:
    return read_pods_file({"tangram": "pods/v1", "pods": list(pods)}, vendors)


def sentence_of(document: object) -> str:
    with pytest.raises(WireError) as caught:
        read_cluster_file(document)
    return caught.value.sentence


# --- nodes ------------------------------------------------------------------------------------------------------------


def test_a_known_product_says_vendor_name_and_memory() -> None:
    card = only_node().cards[0]
    assert (card.vendor, card.product, card.memory) == (Vendor.METAX, "MXC500", from_gib(64))
    assert (card.mode, card.slots, card.cores, card.memory_tiers) == (CardMode.WHOLE, 1, 100, ())


def test_moore_threads_cards_are_sliced_in_sixteenths_and_tiers() -> None:
    card = only_node(product="MTT S4000").cards[0]
    assert (card.vendor, card.mode, card.slots, card.cores) == (Vendor.MTHREADS, CardMode.SLICED, 16, 16)
    assert card.memory_tiers == tuple(from_gib(size) for size in (1, 2, 4, 8, 16, 32, 48))


def test_cards_are_numbered_from_where_the_file_says() -> None:
    assert [card.index for card in only_node().cards] == [0, 1, 2, 3]
    assert [card.index for card in only_node(first_card=1).cards] == [1, 2, 3, 4]


def test_cards_get_the_ids_that_hami_makes_up() -> None:
    assert only_node(first_card=1).cards[0].uuid == "a-metax-1"


def test_count_makes_equal_nodes_with_names_and_card_ids_of_their_own() -> None:
    nodes = cluster({**C500, "count": 3, "labels": {"zone": "x"}}).nodes
    assert [node.name for node in nodes] == ["a-0", "a-1", "a-2"]
    assert [node.cards[0].uuid for node in nodes] == ["a-0-metax-0", "a-1-metax-0", "a-2-metax-0"]
    assert nodes[2].labels == {"kubernetes.io/hostname": "a-2", "zone": "x"}


def test_a_list_of_cards_may_differ_in_everything() -> None:
    cards = only_node(
        mode="sgpu",
        cards=[
            {"uuid": "GPU-x", "numa": 1, "qos": "fixed-share"},
            {"index": 7, "product": "C550", "mode": "native", "unhealthy": "fell off the bus"},
            {"memory": "32 GiB", "cordoned": True, "unhealthy": False},
        ],
    ).cards
    assert [card.index for card in cards] == [0, 7, 2]
    assert [card.mode for card in cards] == [CardMode.SLICED, CardMode.WHOLE, CardMode.SLICED]
    assert (cards[0].uuid, cards[0].numa, cards[0].announced_qos) == ("GPU-x", 1, QosPolicy.FIXED_SHARE)
    assert (cards[1].product, cards[1].healthy, cards[1].health_reason) == (
        "MXC550",
        False,
        "fell off the bus",
    )
    assert (cards[2].memory, cards[2].cordoned, cards[2].healthy) == (from_gib(32), True, True)


def test_an_unknown_product_is_taken_with_vendor_and_memory() -> None:
    card = only_node(product="MXC700", vendor="metax", memory="96 GiB").cards[0]
    assert (card.product, card.memory) == ("MXC700", from_gib(96))


@pytest.mark.parametrize(
    ("mode", "slots", "expected"),
    [
        pytest.param("native", None, (CardMode.WHOLE, 1)),
        pytest.param("sgpu", None, (CardMode.SLICED, 16)),
        pytest.param("sgpu", 4, (CardMode.SLICED, 4)),
        pytest.param("vgpu", 4, (CardMode.VIRTUAL, 4)),
        pytest.param("shared", 3, (CardMode.SHARED, 3)),
    ],
)
def test_modes_and_slots(mode: str, slots: int | None, expected: tuple[CardMode, int]) -> None:
    card = only_node(mode=mode, slots=slots).cards[0]
    assert (card.mode, card.slots) == expected


def test_the_host_around_the_cards() -> None:
    node = only_node(
        cpu="127500m",
        host_memory="1 TiB",
        labels={"zone": "a", "rack": 7},
        taints=["dedicated=ai:NoSchedule", "old:NoExecute", {"key": "slow", "effect": "PreferNoSchedule"}],
        unschedulable=True,
        unhealthy=[1],
        cordoned=[2],
        numa=[0, 0, 1, 1],
    )
    assert (node.host.cpu_milli, node.host.memory) == (127_500, Bytes(2**40))
    assert node.labels == {"kubernetes.io/hostname": "a", "zone": "a", "rack": "7"}
    assert node.taints == (
        Taint("dedicated", "ai", "NoSchedule"),
        Taint("old", "", "NoExecute"),
        Taint("slow", "", "PreferNoSchedule"),
    )
    assert node.unschedulable
    assert [card.healthy for card in node.cards] == [True, False, True, True]
    assert [card.cordoned for card in node.cards] == [False, False, True, False]
    assert [card.numa for card in node.cards] == [0, 0, 1, 1]


def test_nothing_is_known_of_a_host_that_is_not_described() -> None:
    node = only_node()
    assert (node.host.cpu_milli, node.host.memory, node.topology) == (None, None, None)


# --- links ------------------------------------------------------------------------------------------------------------


def linked_pairs(node: Node) -> set[tuple[int, int]]:
    assert node.topology is not None
    return {
        (node.cards[link.a].index, node.cards[link.b].index)
        for link in node.topology.links
        if link.kind is not LinkKind.NONE
    }


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        pytest.param("none", set[tuple[int, int]]()),
        pytest.param("pairs", {(1, 2), (3, 4)}),
        pytest.param("full-mesh", {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)}),
        pytest.param([[1, 3], [2, 4]], {(1, 3), (2, 4)}),
        pytest.param([[1, 3]], {(1, 3)}, id="a card in no group"),
        pytest.param({"groups": "pairs", "joined_by": "pcie"}, set[tuple[int, int]]()),
    ],
)
def test_which_cards_are_linked(links: object, expected: set[tuple[int, int]]) -> None:
    assert linked_pairs(only_node(first_card=1, links=links)) == expected


def test_two_groups_of_four_are_the_two_halves() -> None:
    node = only_node(cards=8, first_card=1, links="two-groups-of-four")
    assert {pair for pair in linked_pairs(node) if 1 in pair} == {(1, 2), (1, 3), (1, 4)}
    assert {pair for pair in linked_pairs(node) if 8 in pair} == {(5, 8), (6, 8), (7, 8)}


def levels(**keys: object) -> dict[tuple[int, int], PcieLevel]:
    node = only_node(**keys)
    assert node.topology is not None
    return {(link.a, link.b): link.pcie for link in node.topology.links}


def test_cards_meet_at_a_switch_inside_a_group_and_across_the_system_outside() -> None:
    found = levels(links="pairs")
    assert (found[0, 1], found[1, 2]) == (PcieLevel.SINGLE_SWITCH, PcieLevel.SYSTEM)


def test_levels_can_be_given_in_the_words_of_the_topology_tools() -> None:
    found = levels(links={"groups": "pairs", "inside": "PXB", "outside": "NODE"})
    assert (found[0, 1], found[1, 2]) == (PcieLevel.MULTIPLE_SWITCHES, PcieLevel.NUMA_NODE)


def test_numa_nodes_tell_where_ungrouped_cards_meet_and_split_a_mesh() -> None:
    found = levels(links="full-mesh", numa=[0, 0, 1, 1])
    assert (found[0, 1], found[1, 2]) == (PcieLevel.SINGLE_SWITCH, PcieLevel.SYSTEM)
    found = levels(links="none", numa=[0, 0, 1, 1])
    assert (found[0, 1], found[1, 2]) == (PcieLevel.NUMA_NODE, PcieLevel.SYSTEM)


def test_links_are_the_vendors_own() -> None:
    node = only_node(product="S4000", links={"groups": "full-mesh", "lanes": 2})
    assert node.topology is not None
    assert {(link.kind, link.lanes) for link in node.topology.links} == {(LinkKind.MTLINK, 2)}


# --- pods -------------------------------------------------------------------------------------------------------------


def test_a_running_pod_holds_whole_cards_by_number() -> None:
    found = cluster(C500, pods=[{"name": "p", "node": "a", "cards": [3, 1], "priority": 5}])
    (tenant,) = found.tenants
    shares = tenant.allocation.containers[0].shares
    assert [(share.index, share.card, share.kind) for share in shares] == [
        (3, "a-metax-3", AskKind.WHOLE),
        (1, "a-metax-1", AskKind.WHOLE),
    ]
    assert {(share.memory, share.cores) for share in shares} == {(from_gib(64), 100)}
    assert (str(tenant.pod), tenant.priority, tenant.qos) == ("default/p", 5, None)


def test_a_running_slice_has_amounts_policy_and_class() -> None:
    pod = {"name": "p", "node": "a", "cards": [0], "memory": "8 GiB", "cores": 25, "app_class": "offline"}
    (tenant,) = cluster({**C500, "mode": "sgpu"}, pods=[pod]).tenants
    (share,) = tenant.allocation.containers[0].shares
    assert (share.memory, share.cores, share.kind) == (from_gib(8), 25, AskKind.SLICE)
    assert (tenant.qos, tenant.app_class) == (QosPolicy.BEST_EFFORT, AppClass.OFFLINE)


@pytest.mark.parametrize(("product", "cores"), [("C500", 100), ("S4000", 0)])
def test_a_slice_without_cores_takes_what_a_manifest_would_take(product: str, cores: int) -> None:
    pod = {"name": "p", "node": "a", "cards": [0], "memory": "8 GiB"}
    (tenant,) = cluster({**C500, "product": product, "mode": "sgpu"}, pods=[pod]).tenants
    assert tenant.allocation.containers[0].shares[0].cores == cores


def test_a_virtual_function_may_be_held_twice_by_one_pod() -> None:
    pod = {"name": "p", "node": "a", "cards": [0, 0]}
    (tenant,) = cluster({**C500, "mode": "vgpu", "slots": 4}, pods=[pod]).tenants
    assert [share.memory for share in tenant.allocation.containers[0].shares] == [from_gib(16)] * 2


def test_a_running_pod_without_cards_uses_the_host() -> None:
    (tenant,) = cluster(C500, pods=[{"name": "p", "node": "a", "cpu": 2, "host_memory": "4 GiB"}]).tenants
    assert tenant.host == HostAsk(2000, from_gib(4))
    assert tenant.allocation.cards == ()


def test_a_running_pod_that_only_counts_its_cards_is_left_to_be_guessed() -> None:
    found = cluster(C500, pods=[{"name": "p", "node": "a", "cards": 2}])
    (unnamed,) = found.unnamed
    assert (unnamed.node, unnamed.request.containers[0].asks[0].count) == ("a", 2)


def test_a_pod_without_a_node_waits() -> None:
    found = cluster(C500, pods=[{"name": "p", "namespace": "ai", "cards": 2}])
    (request,) = found.waiting
    (ask,) = request.containers[0].asks
    assert str(request.pod) == "ai/p"
    assert (ask.vendor, ask.kind, ask.count, ask.vocabulary) == (
        Vendor.METAX,
        AskKind.WHOLE,
        2,
        Vocabulary.PLAIN,
    )


def test_a_stream_has_pods_with_a_count() -> None:
    requests = stream({"name": "p", "count": 3, "cards": 1, "memory": "8 GiB", "cores": 20})
    assert [str(request.pod) for request in requests] == ["default/p-0", "default/p-1", "default/p-2"]
    (ask,) = requests[0].containers[0].asks
    assert (ask.kind, ask.memory, ask.cores) == (AskKind.SLICE, from_gib(8), 20)
    assert requests[0].qos is QosPolicy.BEST_EFFORT


def test_a_pod_of_a_stream_may_want_a_slice_of_everything() -> None:
    (ask,) = stream({"name": "p", "cards": 4, "kind": "slice"})[0].containers[0].asks
    assert (ask.kind, ask.memory, ask.cores) == (AskKind.SLICE, None, None)


def test_a_product_tells_the_vendor_where_there_are_two() -> None:
    both = (Vendor.METAX, Vendor.MTHREADS)
    (request,) = stream({"name": "p", "cards": 1, "product": "S4000"}, vendors=both)
    assert request.containers[0].asks[0].vendor is Vendor.MTHREADS
    assert request.cards.only_products == frozenset({"S4000"})


def test_a_pod_of_a_stream_may_want_no_cards() -> None:
    (request,) = stream({"name": "p", "cpu": 4}, vendors=())
    assert not request.asks_for_cards
    assert request.host.cpu_milli == 4000


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"produkt": "C500"}, "key 'produkt' is not known; .* write product", id="near miss"),
        pytest.param({"zzz": 1}, "key 'zzz' is not known; .* remove it", id="no near miss"),
        pytest.param({"product": "S400"}, "product is 'S400'; .*MTT S4000.* write S4000", id="product"),
        pytest.param({"product": None}, "neither product nor vendor; .* write for example", id="no product"),
        pytest.param(
            {"vendor": "mthreads"}, "vendor is mthreads; MXC500 is made by metax", id="other vendor"
        ),
        pytest.param(
            {"product": "MXC290"}, "MXC290 has no memory that is known here; .*64 GiB", id="memory unknown"
        ),
        pytest.param({"memory": 64}, "memory: it is 64; .*unit.*; write 64 MiB or 64 GiB", id="no unit"),
        pytest.param({"memory": "0 GiB"}, "more than 0", id="no memory"),
        pytest.param({"cards": -1}, "cards: it is -1; .*from 0 to 128", id="negative"),
        pytest.param({"cards": 129}, "from 0 to 128", id="too many cards"),
        pytest.param({"cards": [{"numa": 0}] * 129}, "at most 128 cards", id="too many listed"),
        pytest.param({"cards": "many"}, "cards: it is 'many'", id="no number"),
        pytest.param({"cards": [{"index": 1}, {"index": 1}]}, "two cards have number 1", id="number twice"),
        pytest.param({"cards": [{"uuid": "x"}, {"uuid": "x"}]}, "two cards have uuid x", id="uuid twice"),
        pytest.param({"cards": [3]}, r"cards\[0\]: it is 3; it is a map", id="card is a number"),
        pytest.param({"mode": "slice"}, "mode: it is 'slice'; it is native, sgpu, vgpu, shared", id="mode"),
        pytest.param(
            {"mode": "vgpu"}, "1, 2, 4 or 8 virtual functions; write for example slots: 4", id="no slots"
        ),
        pytest.param({"mode": "vgpu", "slots": 3}, "1, 2, 4 or 8 virtual functions", id="three functions"),
        pytest.param({"mode": "shared"}, "slots is missing", id="shared how often"),
        pytest.param({"slots": 4}, "a native card has one tenant", id="native slots"),
        pytest.param({"links": "ring"}, "links: it is 'ring'; it is two-groups-of-four", id="pattern"),
        pytest.param({"links": "full-mash"}, "write full-mesh", id="pattern near miss"),
        pytest.param({"links": "two-groups-of-four"}, "a node with 4 cards; that needs 8", id="not eight"),
        pytest.param({"links": [[0, 9]]}, "it names card 9; the cards are 0, 1, 2, 3", id="link to nowhere"),
        pytest.param({"links": [[0, 1], [1, 2]]}, "card 1 again; a card is in one group", id="two groups"),
        pytest.param({"links": 7}, "names no groups", id="links is a number"),
        pytest.param(
            {"links": {"groups": "none", "inside": "near"}}, "PIX, PXB, PHB, NODE or SYS", id="level"
        ),
        pytest.param({"numa": [0]}, "a list of 4, one for each", id="numa too short"),
        pytest.param({"numa": "x"}, "numa: it is 'x'", id="numa text"),
        pytest.param({"cpu": "lots"}, "cpu: it is 'lots'", id="cpu"),
        pytest.param({"host_memory": "1 GB"}, "host_memory: it is '1 GB'; .*write 1 GiB", id="GB"),
        pytest.param({"labels": ["a"]}, "labels: it is a list; it is a map of texts", id="labels"),
        pytest.param({"taints": ["nonsense"]}, "a taint is key=value:effect", id="taint"),
        pytest.param({"taints": ["a=b:Never"]}, "NoSchedule, PreferNoSchedule or NoExecute", id="effect"),
        pytest.param(
            {"unhealthy": [9]}, "unhealthy: it names card 9; the cards are 0, 1, 2, 3", id="unhealthy"
        ),
        pytest.param({"cordoned": 1}, "cordoned: it is 1; it is a list", id="cordoned no list"),
        pytest.param({"unschedulable": "yes"}, "it is true or false", id="no boolean"),
        pytest.param({"name": None}, "name is missing", id="unnamed"),
        pytest.param({"name": "A_b"}, "name: it is 'A_b'; .* write a-b", id="name"),
        pytest.param({"count": 0}, "count: it is 0; .*from 1", id="count"),
    ],
)
def test_a_node_is_refused_with_what_to_write(keys: dict[str, object], expected: str) -> None:
    assert re.search(expected, sentence_of({"tangram": "cluster/v1", "nodes": [{**C500, **keys}]}))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"nod": "a"}, "key 'nod' is not known; .* write node", id="near miss"),
        pytest.param({"name": None}, "name is missing", id="unnamed"),
        pytest.param({"node": "b"}, "node: it is 'b'; the nodes are a, s; ", id="no such node"),
        pytest.param({"cards": [7]}, "it names card 7; the cards of a are 0, 1, 2, 3", id="no such card"),
        pytest.param({"cards": [0, 0]}, "card 0 twice; .*held once", id="card twice"),
        pytest.param(
            {"cards": [0], "memory": "8 GiB"}, "offered as native and given whole", id="part of a whole"
        ),
        pytest.param({"node": "s", "cards": [0], "memory": "64 GiB"}, "card 0 has 63 GiB", id="too large"),
        pytest.param({"node": "s", "cards": [0], "cores": 101}, "from 0 to 100", id="cores"),
        pytest.param({"node": "s", "cards": [0], "qos": "fixed"}, "best-effort, fixed-share", id="qos"),
        pytest.param(
            {"cards": [0], "qos": "fixed-share"}, "only MetaX slices have one", id="qos of a whole card"
        ),
        pytest.param({"cards": [0], "priority": "high"}, "priority: it is 'high'", id="priority"),
        pytest.param(
            {"cards": [0], "kind": "whole", "cores": 5}, "kind: whole and an amount", id="contradiction"
        ),
        pytest.param({"node": None, "cards": [0]}, "cards: it is a list", id="cards of no node"),
        pytest.param({"namespace": "A B"}, "namespace: it is 'A B'", id="namespace"),
        pytest.param(
            {"memory": "1 GiB", "node": None}, "parts of cards and for no cards", id="parts of nothing"
        ),
    ],
)
def test_a_pod_is_refused_with_what_to_write(keys: dict[str, object], expected: str) -> None:
    nodes = [C500, {**C500, "name": "s", "mode": "sgpu"}]
    pod = {"name": "p", "node": "a", **keys}
    assert re.search(expected, sentence_of({"tangram": "cluster/v1", "nodes": nodes, "pods": [pod]}))


def test_moore_threads_slices_have_sizes_that_exist() -> None:
    nodes = [{**C500, "product": "S4000"}]
    pod = {"name": "p", "node": "a", "cards": [0], "memory": "10 GiB"}
    assert "have 1 GiB, 2 GiB, 4 GiB, 8 GiB, 16 GiB, 32 GiB or 48 GiB" in sentence_of(
        {"tangram": "cluster/v1", "nodes": nodes, "pods": [pod]}
    )


def test_a_card_is_not_sold_twice_by_a_file() -> None:
    pods = [{"name": "p", "count": 2, "node": "a", "cards": [0]}]
    sentence = sentence_of({"tangram": "cluster/v1", "nodes": [C500], "pods": pods})
    assert "card 0 of a is held by default/p-0, default/p-1, 128 GiB in all; it has 64 GiB" in sentence


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param({"tangram": "cluster/v2", "nodes": []}, "must be of version cluster/v1", id="version"),
        pytest.param(
            {"tangram": "pods/v1", "pods": []}, "key|must be of version cluster/v1", id="other file"
        ),
        pytest.param({"tangram": "cluster/v1"}, "nodes: there is none", id="no nodes"),
        pytest.param(
            {"tangram": "cluster/v1", "nodes": {"a": 1}}, "nodes: it is an object; it is a list", id="map"
        ),
        pytest.param({"tangram": "cluster/v1", "nodes": [C500, C500]}, "two nodes a", id="node twice"),
        pytest.param(
            {"tangram": "cluster/v1", "nodes": [{"name": "a-0"}, {"name": "a", "count": 1}]},
            "two nodes a-0",
            id="count",
        ),
        pytest.param(
            {"tangram": "cluster/v1", "nodes": [{**C500, "count": 2, "cards": [{"uuid": "x"}]}]},
            "card x is on a-0 too",
            id="one card on two nodes",
        ),
        pytest.param(
            {"tangram": "cluster/v1", "nodes": [{**C500, "count": 20_000, "cards": 128}]},
            "at most 20000 nodes with 500000 cards in all",
            id="a slip in a count",
        ),
        pytest.param({"tangram": "cluster/v1", 3: 4}, "key 3 is not known", id="a key that is no text"),
    ],
)
def test_a_file_is_refused_with_what_to_write(document: object, expected: str) -> None:
    assert re.search(expected, sentence_of(document))


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([], "a stream has at least one pod", id="empty"),
        pytest.param([{"name": "p", "node": "a"}], "not placed yet", id="placed"),
        pytest.param(
            [{"name": "p", "cards": 1}, {"name": "p", "cards": 1}], "two pods default/p", id="twice"
        ),
        pytest.param(
            [{"name": "p", "cards": 1, "vendor": "nvidia"}], "metax, mthreads or generic", id="vendor"
        ),
        pytest.param(["p"], "it is 'p'; it is a map", id="no map"),
    ],
)
def test_a_stream_is_refused_with_what_to_write(pods: list[object], expected: str) -> None:
    with pytest.raises(WireError, match=expected):
        stream(*pods)


def test_a_pod_must_name_a_vendor_where_there_are_two() -> None:
    with pytest.raises(WireError, match=r"vendor is missing; .* write vendor: metax or mthreads"):
        stream({"name": "p", "cards": 1}, vendors=(Vendor.METAX, Vendor.MTHREADS))


def test_a_short_file_is_known_by_its_first_key() -> None:
    assert is_short_file({"tangram": None})
    assert not is_short_file({"kind": "Node"})
    assert not is_short_file(["tangram"])
