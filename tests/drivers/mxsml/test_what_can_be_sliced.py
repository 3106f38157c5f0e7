"""The amount that a real C500 can slice, from the vendor's library to the sentence that a person reads.

Every reader on the way gets it from the one before, as a cluster does: library, cards, annotations and `Device`, node,
ledger, explanation. One of them that took the memory of the card instead would place slices that the card refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from builders.explained import explained
from builders.mxsml_twin import Twin, c500
from tangram.drivers.inventory import cards_of
from tangram.engine.allocate import tenant_for
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.engine.wording import node_sentence
from tangram.model.cards import Card
from tangram.model.nodes import Node
from tangram.units.memory import from_mib
from tangram.vendors.admission import admit
from tangram.vendors.settings import AdmissionSettings, largest_slices
from tangram.wire.inventory import INVENTORY
from tangram.wire.koordinator.device import device_object, read_device
from tangram.wire.koordinator.node_resources import node_resources
from tangram.wire.koordinator.reporting import device_of
from tangram.wire.metax_listing import NODE_DEVICES
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.publication import publication
from wire import manifests

SLICEABLE = from_mib(64512)
NOW = "2026-11-18T12:00:00Z"
Limits = Mapping[str, str]


@pytest.fixture
def cards(twin_of: Callable[..., Twin]) -> tuple[Card, ...]:
    """One C500 of 64 GiB as its library tells: a quota of 64581 MB."""
    return cards_of(twin_of(c500(1)).driver().devices(), {})


@pytest.fixture
def node(cards: tuple[Card, ...]) -> Node:
    return published(cards, INVENTORY, NODE_DEVICES)


def published(cards: tuple[Card, ...], *keys: str) -> Node:
    """The node as a scheduler reads it from these annotations of its agent."""
    written = publication(cards, None, {}).annotations
    return read_node(manifests.node("gpu", annotations={key: written[key] for key in keys})).node


@pytest.mark.parametrize("keys", [(INVENTORY,), (NODE_DEVICES,), (INVENTORY, NODE_DEVICES)])
def test_every_annotation_of_the_node_has_what_can_be_sliced(
    cards: tuple[Card, ...], keys: tuple[str, ...]
) -> None:
    assert [card.memory for card in published(cards, *keys).cards] == [SLICEABLE]


def test_koordinators_amounts_have_what_can_be_sliced(node: Node) -> None:
    device = device_of(node, now=NOW)
    assert node_resources(device, shares=True)["koordinator.sh/gpu-memory"] == "63Gi"
    told, _ = read_device(device_object(device, node_uid="uid-gpu"))
    (card,) = read_node(manifests.node("gpu", capacity={"metax-tech.com/sgpu": "16"}), told).node.cards
    assert card.memory == SLICEABLE


def answers(node: Node, limits: Limits, pods: int) -> list[str]:
    """What becomes of so many equal pods, one after the other."""
    ledger = Ledger()
    ledger.put_node(node)
    settings = AdmissionSettings(largest_memory=largest_slices(node.cards))
    said: list[str] = []
    for number in range(pods):
        container = manifests.container(limits={"metax-tech.com/sgpu": "1", **limits})
        made = manifests.pod(container, metadata={"name": f"p{number}", "uid": f"uid-{number}"})
        admission = admit(read_pod(made), settings)
        assert admission.request is not None
        said += [caution.sentence for caution in admission.cautions if "of one card" in caution.sentence]
        found = explained(ledger, admission.request, Defaults())
        (verdict,) = found.nodes
        if found.allocation is None:
            said.append(node_sentence(verdict))
            continue
        ((share,),) = (container.shares for container in found.allocation.containers)
        ledger.put_tenant(tenant_for(admission.request, found.allocation))
        said.append(f"{share.memory >> 30} GiB of card {share.index}")
    return said


def test_of_four_slices_of_16_gib_the_last_is_told_what_can_be_sliced(node: Node) -> None:
    *placed, last = answers(node, {"metax-tech.com/vmemory": "16", "metax-tech.com/vcore": "25"}, 4)
    assert placed == ["16 GiB of card 0"] * 3
    assert last == (
        "0 of 1 needed: 15 GiB free of the 63 GiB that can be sliced, 16 GiB needed, 1 GiB short (1 card)"
    )


def test_of_two_slices_of_32_gib_the_second_is_told_what_can_be_sliced(node: Node) -> None:
    first, second = answers(node, {"metax-tech.com/vmemory": "32", "metax-tech.com/vcore": "50"}, 2)
    assert first == "32 GiB of card 0"
    assert second == (
        "0 of 1 needed: 31 GiB free of the 63 GiB that can be sliced, 32 GiB needed, 1 GiB short (1 card)"
    )


def test_a_slice_of_64_gib_is_warned_of_and_told_that_waiting_is_no_help(node: Node) -> None:
    warning, answer = answers(node, {"metax-tech.com/vmemory": "64", "metax-tech.com/vcore": "50"}, 1)
    assert warning == (
        "container main asks for metax-tech.com/vmemory '64', which is 64 GiB of one card; no sliced card here "
        "can slice more than 63 GiB, so the pod waits for a larger card; ask for at most 63 GiB of each card."
    )
    assert answer == "0 of 1 needed: 63 GiB can be sliced on this card, 64 GiB needed (1 card)"


def test_a_request_without_memory_gets_all_that_can_be_sliced(node: Node) -> None:
    assert answers(node, {}, 1) == ["63 GiB of card 0"]
