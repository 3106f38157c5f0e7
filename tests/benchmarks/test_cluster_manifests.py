"""What the cluster benchmark puts into the API server is what the scheduler meets in life, and it fits."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from cluster_checks import asked_by, placement_faults
from cluster_manifests import (
    CARDS,
    SHAPES,
    SURE_PER_NODE,
    WHOLE_CARD,
    Slice,
    bound_pod,
    card_uuid,
    gpu_node,
    node_name,
    node_object,
    scheduler_configuration,
    waiting_pod,
)
from cluster_memory import preloaded
from tangram.engine.allocate import tenant_for
from tangram.engine.decide import Memo, decide
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Tenant
from tangram.model.requests import Request
from tangram.vendors.admission import admit
from tangram.wire.metax_allocated import ALLOCATED
from tangram.wire.nodes import read_node
from tangram.wire.pods import read_pod
from tangram.wire.tenants import read_tenant

Manifest = dict[str, Any]
_numbers = itertools.count()


def arrived(manifest: Manifest) -> Manifest:
    """With what the API server adds."""
    manifest["metadata"] |= {"namespace": "default", "uid": f"uid-{next(_numbers)}"}
    return manifest


def request_of(name: str, asked: Slice) -> Request:
    request = admit(read_pod(arrived(waiting_pod(name, asked)))).request
    assert request is not None
    return request


def cluster_of(nodes: int) -> Ledger:
    ledger = Ledger()
    for number in range(nodes):
        ledger.put_node(read_node(node_object(number)).node)
    return ledger


def test_a_node_is_read_as_it_was_described_and_as_one_with_our_agent() -> None:
    reading = read_node(node_object(7))
    assert not reading.problems
    assert reading.node.managed
    assert (reading.node.cards, reading.node.topology) == (gpu_node(7).cards, gpu_node(7).topology)


def test_the_pods_that_are_sure_to_fit_on_a_node_do_whatever_their_shapes() -> None:
    ledger, memo = cluster_of(1), Memo()
    largest = max(SHAPES)
    for number in range(SURE_PER_NODE):
        request = request_of(f"pod-{number}", largest)
        found = decide(ledger, request, Defaults(), memo=memo).allocation
        assert found is not None
        ledger.put_tenant(tenant_for(request, found))


def test_a_pod_made_bound_holds_for_the_ledger_what_it_asked_for() -> None:
    home = gpu_node(3)
    tenant = read_tenant(read_pod(arrived(bound_pod("held", Slice(10, 8), home, 5))), home)
    assert isinstance(tenant, Tenant)
    (share,) = tenant.allocation.containers[0].shares
    assert (share.card, share.cores, share.memory) == (card_uuid(3, 5), 10, 8 * 2**30)


@pytest.mark.parametrize(
    ("nodes", "pods"), [pytest.param(3, 30, id="ten each"), pytest.param(2, 16, id="one for each card")]
)
def test_a_preloaded_cluster_has_exactly_one_free_card_and_it_is_on_the_last_node(
    nodes: int, pods: int
) -> None:
    ledger = cluster_of(nodes)
    made = [read_pod(arrived(each)) for each in preloaded(nodes, pods)]
    for pod in made:
        assert pod.node_name is not None
        tenant = read_tenant(pod, ledger.node(pod.node_name))
        assert isinstance(tenant, Tenant)
        ledger.put_tenant(tenant)
    request = request_of("asking", WHOLE_CARD)
    found = decide(ledger, request, Defaults(), memo=Memo())
    assert found.allocation is not None
    assert found.allocation.node == node_name(nodes - 1)
    assert found.allocation.cards == (card_uuid(nodes - 1, CARDS - 1),)
    ledger.put_tenant(tenant_for(request, found.allocation))
    again = request_of("asking-too", WHOLE_CARD)
    assert decide(ledger, again, Defaults(), memo=Memo()).allocation is None


def test_kube_scheduler_goes_on_counting_what_nodes_advertise_and_ignores_the_rest() -> None:
    (extender,) = scheduler_configuration("http://127.0.0.1:1")["extenders"]
    ignored = {one["name"] for one in extender["managedResources"] if one.get("ignoredByScheduler")}
    asked = set(waiting_pod("any", SHAPES[0])["spec"]["containers"][0]["resources"]["limits"])
    advertised = set(node_object(0)["status"]["allocatable"])
    assert asked - advertised <= ignored
    assert not advertised & ignored


def placed(name: str, asked: Slice, node: int, index: int) -> Manifest:
    return bound_pod(name, asked, gpu_node(node), index)


def without_allocation(pod: Manifest) -> None:
    del pod["metadata"]["annotations"][ALLOCATED]


def on_another_node(pod: Manifest) -> None:
    pod["spec"]["nodeName"] = node_name(1)


def with_less_than_asked(pod: Manifest) -> None:
    smaller = placed("other", Slice(5, 2), 0, 0)
    pod["metadata"]["annotations"][ALLOCATED] = smaller["metadata"]["annotations"][ALLOCATED]


def unreadable(pod: Manifest) -> None:
    pod["metadata"]["annotations"][ALLOCATED] = "["


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        pytest.param(without_allocation, "without exactly one card", id="no allocation"),
        pytest.param(on_another_node, "which is not there", id="a card of another node"),
        pytest.param(with_less_than_asked, "asked for", id="less than asked for"),
        pytest.param(unreadable, "pod a:", id="not readable"),
    ],
)
def test_a_pod_that_is_not_as_it_must_be_is_found(spoil: Callable[[Manifest], None], word: str) -> None:
    pod = placed("a", Slice(10, 8), 0, 0)
    assert placement_faults([pod]) == []
    spoil(pod)
    (fault,) = placement_faults([pod])
    assert word in fault


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        pytest.param(Slice(10, 4), 11, id="of compute"),
        pytest.param(Slice(5, 8), 9, id="of memory"),
        pytest.param(Slice(1, 1), 17, id="of slices"),
    ],
)
def test_a_card_that_is_sold_beyond_what_it_has_is_found(asked: Slice, count: int) -> None:
    pods = [placed(f"pod-{number}", asked, 0, 2) for number in range(count)]
    assert placement_faults(pods[:-1]) == []
    (fault,) = placement_faults(pods)
    assert str(card_uuid(0, 2)) in fault
    assert "oversold" in fault


def test_what_a_pod_asked_is_read_from_its_limits() -> None:
    assert asked_by(waiting_pod("any", Slice(8, 6))) == Slice(8, 6)
