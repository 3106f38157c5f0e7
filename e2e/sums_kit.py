"""Who holds what, added up from annotations alone, with nothing of the code that wrote them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from e2e.scheduler_kit import GIVEN_ON, annotations_of, slices_in
from testbed.api import Object
from testbed.manifests import is_bound, is_over

INVENTORY = "tangram.dev/node-inventory"


@dataclass
class Room:
    """What is left of a card."""

    node: str
    mib: int
    percent: int = 100
    slots: int = 16


def rooms_of(nodes: Iterable[Object]) -> dict[str, Room]:
    """Every card that agents announce, empty."""
    return {
        card["uuid"]: Room(node["metadata"]["name"], card["memory"] >> 20)
        for node in nodes
        for card in json.loads(annotations_of(node).get(INVENTORY, '{"cards":[]}'))["cards"]
    }


def summed(nodes: Iterable[Object], pods: Iterable[Object]) -> dict[str, Room]:
    """What is left of every card. Fails if a bound pod lacks what it asked for, or a card was given out twice.

    It knows pods with one container, which asks for one slice.
    """
    left = rooms_of(nodes)
    for one in pods:
        if not is_bound(one) or is_over(one):
            continue
        name, node = one["metadata"]["name"], one["spec"]["nodeName"]
        limits = one["spec"]["containers"][0]["resources"]["limits"]
        asked = int(limits["metax-tech.com/vmemory"]) << 10, int(limits["metax-tech.com/vcore"])
        ((given,),) = slices_in(one)
        card, mib, percent = given
        assert (mib, percent) == asked, f"{name} asked for {asked} and has {given}"
        assert left[card].node == node == annotations_of(one)[GIVEN_ON], f"{name} has a card of another node"
        left[card].mib -= mib
        left[card].percent -= percent
        left[card].slots -= 1
    over = {card: room for card, room in left.items() if min(room.mib, room.percent, room.slots) < 0}
    assert not over, f"given out twice: {over}"
    return left
