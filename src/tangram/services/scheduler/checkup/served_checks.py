"""Pods that run and hold none of the cards that they are counted with.

A scheduler that goes by a list of cards may send a slice to a node that offers no slices; the kubelet there starts the
pod without a card. The agent of the node says so in events, which end after an hour; this is what stays to be seen.
"""

from __future__ import annotations

from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok
from tangram.services.scheduler.checkup.naming import Object, annotations_of, name_of, some_of
from tangram.services.scheduler.checkup.pods_seen import CardPod
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.wire.inventory import INVENTORY
from tangram.wire.nodes import read_node

CHECK: Final = "unserved-pods"


def unserved(scene: Scene) -> Findings:
    """On nodes of our agent, which says of every card how it is offered."""
    if scene.nodes.unknown or scene.pods.unknown:
        return
    sliced = {
        name_of(node): _sliced_cards(node) for node in scene.nodes.items if INVENTORY in annotations_of(node)
    }
    here = [pod for pod in scene.pods.asking if pod.running and pod.node in sliced]
    found = sorted(pod.full_name for pod in here if _is_unserved(pod, sliced[pod.node]))
    if found:
        yield fail(
            CHECK,
            f"{some_of(found)} run without the cards that their scheduler counts: the node does not offer them in "
            "slices, or its kubelet did not ask the agent",
            f"kubectl delete pod -n {found[0].replace('/', ' ')}, and have it made and placed again; kubectl describe "
            "pod shows the event GpuNotGiven of the agent",
        )
    elif here:
        yield ok(CHECK, f"running pods ({len(here)}) hold the cards that they are counted with")


def _sliced_cards(node: Object) -> frozenset[str]:
    return frozenset(card.uuid for card in read_node(node).node.cards if card.offered_sliced)


def _is_unserved(pod: CardPod, sliced: frozenset[str]) -> bool:
    return pod.refused or not set(pod.slices) <= sliced
