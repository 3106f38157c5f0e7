"""What nodes announce, and who announces it."""

from __future__ import annotations

from tangram.drivers.doctor.findings import Findings, ok, skip, warn
from tangram.services.scheduler.checkup.naming import annotations_of, name_of, some_of
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.vendors.renaming import usual_names
from tangram.wire import loose
from tangram.wire.inventory import INVENTORY


def announced(scene: Scene) -> dict[str, list[str]]:
    """By resource of ours, the nodes that have it."""
    found: dict[str, list[str]] = {}
    for node in scene.nodes.items:
        status = loose.members(node.get("status"))
        for resource, amount in loose.text_map(status.get("allocatable")).items():
            # A plugin that was removed leaves its resources behind with none of them.
            if resource in usual_names() and amount != "0":
                found.setdefault(resource, []).append(name_of(node))
    return found


def card_nodes(scene: Scene) -> set[str]:
    """Nodes that announce cards in the words of a vendor of ours; Koordinator's stand for anybody's."""
    return {
        name
        for resource, names in announced(scene).items()
        if resource not in KOORDINATOR_RESOURCES
        for name in names
    }


def managed_nodes(scene: Scene) -> set[str]:
    """Nodes whose cards an agent of ours tells of."""
    return {name_of(node) for node in scene.nodes.items if INVENTORY in annotations_of(node)}


def agents(scene: Scene) -> Findings:
    """Nodes with an agent of ours, and nodes with a plugin of somebody else's."""
    check = "node-agents"
    if scene.nodes.unknown:
        yield skip(check, f"nodes may not be listed ({scene.nodes.unknown})", "ask with more rights")
        return
    with_cards = sorted(card_nodes(scene))
    managed = managed_nodes(scene)
    closed = [name for name in with_cards if name not in managed]
    if closed:
        yield warn(
            check,
            f"cards are announced without Tangram's agent on {some_of(closed)}: there pods are bound one at a time "
            "under HAMi's node lock",
            "leave it if the vendor's plugin should go on; else run tangram gpu-device there",
        )
    if managed:
        count = f"{len(managed)} node runs" if len(managed) == 1 else f"{len(managed)} nodes run"
        yield ok(check, f"{count} Tangram's agent")
    elif not closed:
        yield warn(
            check,
            "no node announces cards",
            "run tangram gpu-device, or the vendor's plugin, where the cards are",
        )
