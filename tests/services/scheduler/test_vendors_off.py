"""A cluster that leaves one vendor's cards to another scheduler, and the policy that a cluster gives to new slices."""

from __future__ import annotations

import json

import pytest

from builders.closed_nodes import closed_node, counted_node
from builders.scheduling import World, mthreads_cards, node, pod
from tangram.model.cards import QosPolicy, Vendor
from tangram.services.scheduler.desk import Caller
from tangram.services.scheduler.explaining import Explaining
from tangram.services.scheduler.verdicts import Verdicts
from tangram.units.ids import NodeName

BOTH = (Vendor.METAX, Vendor.MTHREADS)
QOS = "metax-tech.com/sgpu-qos-policy"
PART: dict[str, str | int] = {
    "metax-tech.com/sgpu": 1,
    "metax-tech.com/vcore": 40,
    "metax-tech.com/vmemory": 4,
}
MOORE: dict[str, str | int] = {
    "mthreads.com/vgpu": 1,
    "mthreads.com/sgpu-memory": 32,
    "mthreads.com/sgpu-core": 4,
}


def vendors_of(world: World, name: str) -> set[Vendor]:
    found = world.state.ledger.node(NodeName(name))
    assert found is not None
    return {card.vendor for card in found.cards}


def test_announced_cards_of_a_vendor_that_is_off_are_not_in_the_books_until_it_is_on() -> None:
    world = World(closed_node("a"), counted_node("b", {"mthreads.com/gpu": 2}))
    assert (vendors_of(world, "a"), vendors_of(world, "b")) == ({Vendor.METAX}, {Vendor.MTHREADS})
    world.state.use_policies((Vendor.METAX,), QosPolicy.BEST_EFFORT)
    assert (vendors_of(world, "a"), vendors_of(world, "b")) == ({Vendor.METAX}, set())
    world.hear_node("b")
    assert vendors_of(world, "b") == set()
    world.state.use_policies(BOTH, QosPolicy.BEST_EFFORT)
    assert vendors_of(world, "b") == {Vendor.MTHREADS}


def test_a_pod_for_cards_of_a_vendor_that_is_off_is_none_of_ours() -> None:
    world = World(node("b", mthreads_cards("b")))
    world.state.use_policies((Vendor.METAX,), QosPolicy.BEST_EFFORT)
    world.create(pod("moore", MOORE))
    assert not world.state.waiting
    world.state.use_policies(BOTH, QosPolicy.BEST_EFFORT)
    world.hear("default", "moore")
    assert [seen.ref.name for seen in world.state.waiting.values()] == ["moore"]


async def test_a_pending_pod_is_given_up_when_its_vendor_is_switched_off() -> None:
    world = World(node("b", mthreads_cards("b")))
    world.create(pod("moore", MOORE))
    assert world.filter("moore")["NodeNames"] == ["b"]
    assert len(world.state.reservations) == 1
    world.state.use_policies((Vendor.METAX,), QosPolicy.BEST_EFFORT)
    assert not world.state.waiting
    assert len(world.state.reservations) == 0
    reply = await Explaining(world.state, Verdicts()).pod(
        "default", "moore", Caller("admin", may_see_all=True)
    )
    (report,) = json.loads(reply.body)["pods"]
    assert report["verdict"] == "no-cards"


def test_what_pods_hold_of_a_vendor_is_read_again_when_it_is_switched_on() -> None:
    world = World(node("b", mthreads_cards("b")))
    again: list[str] = []
    world.state.reread = again.append
    world.state.use_policies((Vendor.METAX,), QosPolicy.BEST_EFFORT)
    bound = pod("moore", MOORE)
    bound["spec"]["nodeName"] = "b"
    bound["status"]["phase"] = "Running"
    world.create(bound)

    def used() -> int:
        return int(world.state.ledger.view((NodeName("b"),)).use.memory.sum())

    assert used() == 0
    again.clear()
    world.state.use_policies(BOTH, QosPolicy.BEST_EFFORT)
    assert again == ["b"], "its pods are asked for again"
    world.hear("default", "moore")
    assert used() == 16 << 30


def test_only_a_new_pod_is_given_the_clusters_policy() -> None:
    """A stored pod without the annotation passed no webhook of ours, and the agent of its node assumes best-effort."""
    world = World(closed_node("a"))
    world.state.use_policies(BOTH, QosPolicy.FIXED_SHARE)
    world.create(pod("stored", PART))
    (stored,) = world.state.waiting.values()
    assert stored.waiting is not None
    assert stored.waiting.admission.request is not None
    assert stored.waiting.admission.request.qos is QosPolicy.BEST_EFFORT
    assert world.state.settings_of_new_pods.qos_policy is QosPolicy.FIXED_SHARE


@pytest.mark.parametrize("policy", list(QosPolicy))
async def test_an_explanation_of_a_manifest_is_about_the_pod_that_admission_makes_of_it(
    policy: QosPolicy,
) -> None:
    """A card that runs fixed-share takes no slice of another policy."""
    world = World(closed_node("a", 1))
    world.state.use_policies(BOTH, policy)
    world.create(pod("first", PART, annotations={QOS: "fixed-share"}))
    await world.schedule("first")
    explaining = Explaining(world.state, Verdicts())
    body = json.dumps({"apiVersion": "v1", "kind": "Pod", **pod("next", PART)}).encode()
    reply = await explaining.manifest(body, Caller("admin", may_see_all=True))
    (report,) = json.loads(reply.body)["pods"]
    assert (report["verdict"] == "fits") == (policy is QosPolicy.FIXED_SHARE), report
    cautions = [each["code"] for each in report.get("cautions", [])]
    assert cautions == ["compute-not-limited"] * (policy is QosPolicy.BEST_EFFORT)
