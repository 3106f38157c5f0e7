"""The `Device` objects: who wrote each, whether that writer is still there, and whether a card is counted twice.

Exactly one program may tell of a node's cards. Where koordlet runs it is koordlet, and our agent hands it a file or
keeps silent; where none runs it is our agent, which leaves alone what koordlet wrote before it went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, skip, warn
from tangram.services.scheduler.checkup.kind_checks import koordinator_is_used
from tangram.services.scheduler.checkup.naming import (
    KOORDLET,
    OUR_AGENT,
    Object,
    counted,
    name_of,
    some_of,
)
from tangram.services.scheduler.checkup.node_checks import managed_nodes
from tangram.services.scheduler.checkup.parts import PLUGINS, Part
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.koordinator.device import read_device
from tangram.wire.managed_fields import managers_of

CHECK: Final = "devices"


def devices(scene: Scene) -> Findings:
    """Everything about them that somebody should know."""
    if scene.devices.unknown:
        yield skip(CHECK, f"Devices may not be listed ({scene.devices.unknown})", "ask with more rights")
        return
    if not scene.devices.served:
        return
    found = [*_twice(scene), *_left_behind(scene), *_two_writers(scene), *_orphans(scene), *_missing(scene)]
    yield from found
    if not found and scene.devices.items:
        writers = Counter(
            writer
            for device in scene.devices.items
            for writer in managers_of(device, "spec") or ["nobody known"]
        )
        told = ", ".join(f"{count} by {writer}" for writer, count in sorted(writers.items()))
        yield ok(CHECK, f"{counted(len(scene.devices.items), 'Device')}: {told}")


def reporters(scene: Scene) -> Findings:
    """Nodes where our agent is not the only one that tells of cards, or that announces them."""
    check = "node-peers"
    if scene.pods.unknown:
        return
    agents = managed_nodes(scene)
    silent = sorted(agents & scene.pods.nodes_with(Part.DEVICE_DAEMON))
    if silent:
        yield ok(
            check,
            f"koord-device-daemon tells koordlet of the cards of {some_of(silent)}, and Tangram's agent keeps silent",
        )
    for part in sorted(PLUGINS):
        both = sorted(agents & scene.pods.nodes_with(part))
        if both:
            yield fail(
                check,
                f"{part} and Tangram's agent both run on {some_of(both)}: a kubelet believes whoever spoke last, and "
                "each gives away cards that the other has given",
                "keep one of them on a node",
            )


def _twice(scene: Scene) -> Findings:
    doubled = _nodes_where(scene, _has_a_card_twice)
    if doubled:
        yield fail(
            CHECK,
            f"the Device of {some_of(doubled)} lists a card twice, so koord-scheduler gives it away twice: two files "
            "in koordlet's device-info folder tell of it",
            "run tangram doctor on the node, and keep one of the files",
        )


def _left_behind(scene: Scene) -> Findings:
    if scene.pods.unknown:
        return
    with_koordlet = scene.pods.nodes_with(Part.KOORDLET)
    stale = [
        name
        for name in _nodes_where(scene, lambda device: KOORDLET in managers_of(device, "spec"))
        if name not in with_koordlet
    ]
    if stale:
        yield warn(
            CHECK,
            f"koordlet wrote the Device of {some_of(stale)} and does not run there any more: what it says of cards "
            "stays as it was, and Tangram's agent leaves it alone",
            f"run koordlet there again, or kubectl delete device {' '.join(stale[:3])}; Tangram's agent then writes it",
        )


def _two_writers(scene: Scene) -> Findings:
    torn = _nodes_where(scene, lambda device: {KOORDLET, OUR_AGENT} <= managers_of(device, "spec"))
    if torn:
        yield fail(
            CHECK,
            f"koordlet and Tangram's agent have both written the Device of {some_of(torn)}",
            f"kubectl delete device {' '.join(torn[:3])}; whoever is to write it makes it again",
        )


def _orphans(scene: Scene) -> Findings:
    if scene.nodes.unknown:
        return
    nodes = {name_of(node) for node in scene.nodes.items}
    orphans = [name for name in _nodes_where(scene, lambda _: True) if name not in nodes]
    if orphans:
        yield warn(
            CHECK,
            f"there is a Device and no node of the name for {some_of(orphans)}",
            f"kubectl delete device {' '.join(orphans[:3])}",
        )


def _missing(scene: Scene) -> Findings:
    """Only where it matters: koord-scheduler passes over devices on a node that has no Device."""
    described = set(_nodes_where(scene, lambda _: True))
    missing = sorted(managed_nodes(scene) - described)
    if missing and koordinator_is_used(scene):
        yield fail(
            CHECK,
            f"{some_of(missing)}: cards and no Device, so koord-scheduler sends pods there without choosing a card",
            "look into the log of Tangram's agent there, and of koordlet where it runs (it needs Accelerators=true)",
        )


def _nodes_where(scene: Scene, true: Callable[[Object], bool]) -> list[str]:
    return sorted(name_of(device) for device in scene.devices.items if true(device))


def _has_a_card_twice(device: Object) -> bool:
    try:
        read, _ = read_device(loose.members(device))
    except WireError:
        return False
    ids = Counter((entry.kind, entry.id) for entry in read.entries)
    numbers = Counter((entry.kind, entry.minor) for entry in read.entries)
    return any(count > 1 for count in (*ids.values(), *numbers.values()))
