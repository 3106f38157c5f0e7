"""A cluster file becomes machines, or one sentence about what no machine can be."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from tangram.drivers.simulated.state import card_uuid
from tangram.drivers.simulated.world import World
from tangram.model.cards import CardMode, Vendor
from tangram.model.topology import LinkKind
from tangram.sandbox.nodes.described import default_machines, default_text, read_machines
from tangram.sandbox.nodes.sleeping import said_by_agents
from tangram.wire.errors import WireError
from tangram.wire.inventory import INVENTORY, decode_inventory

NOW = dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC)


def cluster(*nodes: Mapping[str, object], **more: object) -> dict[str, object]:
    return {"tangram": "cluster/v1", "nodes": [dict(node) for node in nodes], **more}


def test_the_usual_cluster_has_two_vendors_a_half_sliced_node_and_one_without_cards() -> None:
    machines = {str(each.node): each for each in default_machines()}
    assert list(machines) == ["metax-a", "metax-b", "metax-c", "moore-a", "moore-b", "cpu-a"]
    sliced = {name: [spec.sliced for spec in each.cards.cards] for name, each in machines.items()}
    assert sliced["metax-a"] == [False] * 8
    assert sliced["metax-b"] == [False] * 4 + [True] * 4
    assert sliced["metax-c"] == [True] * 8
    assert sliced["cpu-a"] == []
    products = {name: {spec.product for spec in each.cards.cards} for name, each in machines.items()}
    assert products["metax-a"] == products["metax-b"] == {"MXC500"}
    assert products["metax-c"] == {"MXC550"}
    assert products["moore-a"] == products["moore-b"] == {"MTT S4000"}
    assert "tangram: cluster/v1" in default_text()


def test_the_agents_of_the_usual_cluster_offer_what_its_file_says() -> None:
    offered = {str(each.node): said_by_agents(each, NOW).offered.allocatable for each in default_machines()}
    assert offered == {
        "metax-a": {"metax-tech.com/gpu": 8},
        "metax-b": {"metax-tech.com/gpu": 4, "metax-tech.com/sgpu": 64},
        "metax-c": {"metax-tech.com/sgpu": 128},
        "moore-a": {"mthreads.com/sgpu-core": 128, "mthreads.com/sgpu-memory": 768},
        "moore-b": {"mthreads.com/gpu": 8},
        "cpu-a": {},
    }


def test_links_and_numa_nodes_of_the_file_are_those_of_the_cards() -> None:
    (machine,) = read_machines(
        cluster(
            {
                "name": "gpu",
                "product": "C500",
                "cards": 4,
                "numa": [0, 0, 1, 1],
                "links": {"groups": [[0, 1], [2, 3]], "inside": "PXB", "outside": "SYS", "lanes": 2},
            }
        )
    )
    world = World(machine.cards, lambda: 0.0)
    devices = world.devices()
    links = {(link.a, link.b): link for link in world.links(devices).links}
    assert [device.numa for device in devices] == [0, 0, 1, 1]
    assert links[0, 1].kind is links[2, 3].kind is LinkKind.METAXLINK
    assert links[0, 1].lanes == 2
    assert links[0, 2].kind is LinkKind.NONE


def test_equal_nodes_have_different_cards_and_share_their_shape() -> None:
    one, other = read_machines(cluster({"name": "gpu", "count": 2, "product": "C500", "cards": 2}))
    assert one.cards.cards is other.cards.cards
    uuids = {card_uuid(each.cards, spec) for each in (one, other) for spec in each.cards.cards}
    assert len(uuids) == 4


def test_broken_and_cordoned_cards_are_broken_and_cordoned_from_the_start() -> None:
    (machine,) = read_machines(
        cluster({"name": "gpu", "product": "C500", "cards": 4, "unhealthy": [1], "cordoned": [2]})
    )
    said = said_by_agents(machine, NOW)
    cards = decode_inventory(said.annotations[INVENTORY]).cards
    assert [card.healthy for card in cards] == [True, False, True, True]
    assert [card.cordoned for card in cards] == [False, False, True, False]
    assert said.offered.capacity == {"metax-tech.com/gpu": 4}
    assert said.offered.allocatable == {"metax-tech.com/gpu": 2}


@pytest.mark.parametrize(
    ("node", "mode", "offered"),
    [
        pytest.param({"mode": "shared", "slots": 3}, CardMode.SHARED, {"metax-tech.com/gpu": 6}, id="shared"),
        pytest.param({"mode": "vgpu", "slots": 4}, CardMode.VIRTUAL, {"metax-tech.com/gpu": 8}, id="split"),
        pytest.param({"mode": "sgpu"}, CardMode.SLICED, {"metax-tech.com/sgpu": 32}, id="sliced"),
        pytest.param({}, CardMode.WHOLE, {"metax-tech.com/gpu": 2}, id="whole"),
    ],
)
def test_every_way_to_offer_metax_cards_is_carried_to_the_agent(
    node: dict[str, Any], mode: CardMode, offered: dict[str, int]
) -> None:
    (machine,) = read_machines(cluster({"name": "gpu", "product": "C500", "cards": 2, **node}))
    said = said_by_agents(machine, NOW)
    assert said.offered.allocatable == offered
    cards = decode_inventory(said.annotations[INVENTORY]).cards
    assert {card.mode for card in cards} == {mode}
    assert {card.vendor for card in cards} == {Vendor.METAX}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param(
            cluster({"name": "gpu", "product": "C500", "cards": 1}, pods=[{"name": "p", "cards": 1}]),
            "submit the pods with kubectl",
            id="pods",
        ),
        pytest.param(
            cluster({"name": "gpu", "product": "C500", "cards": 2, "first_card": 1}),
            "number cards from 0",
            id="numbered from 1",
        ),
        pytest.param(
            cluster({"name": "gpu", "product": "C500", "cards": [{"uuid": "GPU-1"}]}),
            "given uuids by their driver",
            id="a uuid of one's own",
        ),
        pytest.param(
            cluster({"name": "gpu", "vendor": "generic", "memory": "16 GiB", "cards": 1}),
            "MetaX's or Moore Threads'",
            id="no vendor",
        ),
        pytest.param(
            cluster({"name": "gpu", "product": "C500", "cards": 1, "mode": "undecided"}),
            "write native or sgpu",
            id="undecided",
        ),
        pytest.param(
            cluster({"name": "moore", "product": "S4000", "cards": 1, "mode": "shared", "slots": 2}),
            "Moore Threads cards are native or sgpu",
            id="Moore Threads shared",
        ),
        pytest.param(
            cluster({"name": "gpu", "product": "C500", "cards": 1, "mode": "sgpu", "slots": 4}),
            "remove slots",
            id="other slots",
        ),
        pytest.param(
            cluster(
                {
                    "name": "gpu",
                    "product": "C500",
                    "cards": [{"mode": "shared", "slots": 2}, {"mode": "sgpu"}],
                }
            ),
            "use several nodes",
            id="shared beside sliced",
        ),
        pytest.param(
            cluster(
                {
                    "name": "gpu",
                    "product": "C500",
                    "mode": "shared",
                    "cards": [{"slots": 2}, {"slots": 3}],
                }
            ),
            "write slots once",
            id="shared unequally",
        ),
        pytest.param(
            cluster({"name": "gpu", "vendor": "metax", "product": "X1", "memory": "1 GiB", "cards": 1}),
            "node gpu: ",
            id="an unknown product",
        ),
    ],
)
def test_what_no_machine_can_be_is_refused_with_a_sentence(document: object, words: str) -> None:
    with pytest.raises(WireError) as refused:
        read_machines(document)
    assert words in refused.value.sentence
