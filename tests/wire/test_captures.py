"""What the peers really wrote, reproduced byte for byte from the same cards and the same moment, and read back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.model.requests import Request
from tangram.units.ids import CardUuid
from tangram.units.memory import from_gib
from tangram.vendors.admission import admit
from tangram.wire import hami
from tangram.wire.binding import BindingWrites, binding_writes, lock_value
from tangram.wire.koordinator.device import read_device
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant
from wire import manifests
from wire.manifests import Json

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
HAMI = cast("Json", json.loads((CAPTURES / "hami.json").read_text("utf-8")))
KOORDINATOR = cast("Json", json.loads((CAPTURES / "koordinator.json").read_text("utf-8")))

PLACEMENTS = cast("list[Json]", HAMI["placement"])
PLACED = [each for each in PLACEMENTS if each["node"]]


def name_of(capture: object) -> str:
    return str(cast("Json", capture)["pod"])


def nodes() -> dict[str, Node]:
    announced = cast("dict[str, dict[str, dict[str, str]]]", HAMI["nodes"])
    return {
        name: read_node(
            manifests.node(name, capacity=facts["status.capacity"], annotations=facts["metadata.annotations"])
        ).node
        for name, facts in announced.items()
    }


def as_hami_counts(node: Node) -> Node:
    """The node with all memory of its C500, of which Tangram counts what slices can have."""
    cards = tuple(
        replace(card, memory=from_gib(64)) if card.memory == from_gib(63) else card for card in node.cards
    )
    return replace(node, cards=cards)


def captured_pod(capture: Json, annotations: dict[str, str], node: str | None = None) -> Pod:
    limits = cast("list[dict[str, str]]", capture["limits"])
    containers = [manifests.container(f"c{position}", each) for position, each in enumerate(limits)]
    metadata: Json = {"name": capture["pod"]}
    return read_pod(manifests.pod(*containers, annotations=annotations, metadata=metadata, nodeName=node))


def asked_pod(capture: Json) -> Pod:
    return captured_pod(capture, cast("dict[str, str]", capture["asked"]))


def requested(pod: Pod) -> Request:
    request = admit(pod).request
    assert request is not None
    return request


def written(capture: Json) -> dict[str, str]:
    return cast("dict[str, str]", capture["annotations"])


def moment_of(annotations: dict[str, str]) -> int:
    """The clock at bind; MetaX whole cards carry whole seconds only."""
    exact = [value for key, value in annotations.items() if key.endswith("/predicate-time")]
    return int(exact[0]) if exact else int(annotations[hami.TIME]) * 10**9


def chosen_cards(annotations: dict[str, str]) -> Iterator[list[str]]:
    """Only which cards were chosen; how much of each is for the request to say."""
    keys = (hami.METAX_WHOLE_ALLOCATED, hami.METAX_SLICE_ALLOCATED, hami.MTHREADS_ALLOCATED)
    (text,) = [annotations[key] for key in keys if key in annotations]
    for held in hami.decode_allocation(text):
        yield [card.id for card in held]


def allocation_of(request: Request, node: Node, chosen: Iterator[list[str]]) -> Allocation:
    cards = {card.uuid: card for card in node.cards}
    containers: list[ContainerShares] = []
    for container, ids in zip(request.containers, chosen, strict=True):
        asks = [ask for ask in container.asks for _ in range(ask.count)]
        shares = tuple(
            Share(card.uuid, card.index, ask.memory_on(card), ask.cores_on(card), ask.kind)
            for ask, identity in zip(asks, ids, strict=True)
            if (card := cards[CardUuid(identity)])
        )
        containers.append(ContainerShares(container.name, container.role, shares))
    return Allocation(node.name, tuple(containers))


def bound(capture: Json) -> tuple[Request, Allocation, Node, int]:
    node = as_hami_counts(nodes()[str(capture["node"])])
    request = requested(asked_pod(capture))
    annotations = written(capture)
    return request, allocation_of(request, node, chosen_cards(annotations)), node, moment_of(annotations)


@pytest.mark.parametrize("capture", PLACED, ids=name_of)
def test_hamis_bind_is_reproduced(capture: Json) -> None:
    request, allocation, node, moment = bound(capture)
    labels = cast("dict[str, str]", capture["labels"])
    assert binding_writes(request, allocation, node, moment) == BindingWrites(written(capture), labels)


@pytest.mark.parametrize("capture", PLACED, ids=name_of)
def test_hamis_lock_is_reproduced(capture: Json) -> None:
    lock = cast("dict[str, str]", capture["lock"])
    assert lock_value(*bound(capture)) == lock.get("hami.io/mutex.lock")


@pytest.mark.parametrize("capture", PLACED, ids=name_of)
def test_a_pod_bound_by_hami_is_read_back_as_the_holder_of_its_cards(capture: Json) -> None:
    _, allocation, node, _ = bound(capture)
    asked = cast("dict[str, str]", capture["asked"])
    tenant = read_tenant(captured_pod(capture, {**asked, **written(capture)}, node.name), node)
    assert isinstance(tenant, Tenant)
    assert tenant.allocation == allocation


def test_hamis_slice_of_all_memory_is_bound_by_us_with_what_the_card_slices_and_read_as_hami_bound_it() -> (
    None
):
    capture = next(each for each in PLACED if each["pod"] == "s7-exclusive")
    node = nodes()[str(capture["node"])]
    request, theirs, _, moment = bound(capture)
    ours = allocation_of(request, node, chosen_cards(written(capture)))
    expected = {key: text.replace("65536", "64512") for key, text in written(capture).items()}
    assert expected != written(capture)
    assert binding_writes(request, ours, node, moment).annotations == expected
    asked = cast("dict[str, str]", capture["asked"])
    tenant = read_tenant(captured_pod(capture, {**asked, **written(capture)}, node.name), node)
    assert isinstance(tenant, Tenant)
    assert tenant.allocation == theirs


# --- Koordinator --------------------------------------------------------------------------------------------------


def koordinator_node() -> Node:
    entries = [manifests.device_entry(index, id=f"GPU-00759-{index}") for index in range(8)]
    device, _ = read_device(manifests.device(*entries, name="n00759"))
    return read_node(manifests.node("n00759", capacity={"metax-tech.com/sgpu": "128"}), device).node


def koordinator_pod(annotations: dict[str, str] | None = None, node: str | None = None) -> Pod:
    described = cast("dict[str, dict[str, str]]", KOORDINATOR["pod"])
    return read_pod(
        manifests.pod(
            manifests.container(limits=described["limits"]),
            annotations={**described["annotations"], **(annotations or {})},
            nodeName=node,
        )
    )


def koordinator_allocation(request: Request, node: Node) -> Allocation:
    return allocation_of(request, node, iter([["GPU-00759-0"]]))


def test_koordinators_bind_is_reproduced() -> None:
    expected = cast("dict[str, str]", KOORDINATOR["written_at_bind"])
    node, request = koordinator_node(), requested(koordinator_pod())
    moment = int(expected["scheduling.koordinator.sh/bind-timestamp"])
    writes = binding_writes(request, koordinator_allocation(request, node), node, moment)
    assert writes == BindingWrites(expected, {})


def test_a_pod_bound_by_koordinator_is_read_back_as_the_holder_of_its_card() -> None:
    expected = cast("dict[str, str]", KOORDINATOR["written_at_bind"])
    node = koordinator_node()
    tenant = read_tenant(koordinator_pod(expected, "n00759"), node)
    assert isinstance(tenant, Tenant)
    assert tenant.allocation == koordinator_allocation(requested(koordinator_pod()), node)


def test_every_capture_is_used() -> None:
    assert len(PLACED) == 8
    assert {str(each["pod"]) for each in PLACEMENTS} - {str(each["pod"]) for each in PLACED} == {
        "s8-too-big",
        "g4-nine",
    }
