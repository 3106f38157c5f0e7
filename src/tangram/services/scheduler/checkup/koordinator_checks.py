"""Koordinator's switches that MetaX cards need and that are off by default, and the amounts its nodes state.

A switch is a feature gate on the command line of a component, and is read from its pods. An amount of 0 is worse than
none: a kubelet does not count what its node does not state, and refuses every pod for what it states as nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tangram.drivers.doctor.findings import Findings, fail, ok, warn
from tangram.services.scheduler.checkup.naming import Object, name_of, some_of, written_by
from tangram.services.scheduler.checkup.node_checks import announced, card_nodes, managed_nodes
from tangram.services.scheduler.checkup.parts import Part, PartPod
from tangram.services.scheduler.checkup.seeing import Scene
from tangram.vendors.metax.names import RESOURCES as METAX_RESOURCES
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_RESOURCES, KOORDINATOR_SHARED
from tangram.wire import loose
from tangram.wire.errors import WireError
from tangram.wire.koordinator import names
from tangram.wire.koordinator.device import read_device

SWITCHES: Final = "koordinator-switches"
AMOUNTS: Final = "koordinator-amounts"
ADAPTION: Final = "DevicePluginAdaption"
SHARED: Final = "EnableSyncGPUSharedResource"
ACCELERATORS: Final = "Accelerators"


def switches(scene: Scene) -> Findings:
    """Those of koord-scheduler, koord-manager and koordlet, where these run."""
    found = [*_adaption(scene), *_shared(scene), *_accelerators(scene)]
    yield from found
    parts = (Part.KOORD_SCHEDULER, Part.KOORD_MANAGER, Part.KOORDLET)
    if not found and any(scene.pods.running(part) for part in parts):
        yield ok(SWITCHES, "Koordinator's components run with the switches that cards need")


def amounts(scene: Scene) -> Findings:
    """What nodes state under Koordinator's names."""
    if scene.nodes.unknown:
        return
    zero: dict[tuple[str, str], list[str]] = {}
    stating = False
    for node in scene.nodes.items:
        for name, amount in sorted(_stated(node).items()):
            stating = True
            if amount == "0":
                by = written_by(node, "status", "allocatable", name)
                zero.setdefault((name, by), []).append(name_of(node))
    for (name, by), nodes in zero.items():
        yield fail(
            AMOUNTS,
            f"{name} is 0 on {some_of(nodes)}{by}, so the kubelet there refuses every pod that asks for it",
            "start whoever reports cards there: koord-manager where koordlet runs, else Tangram's agent; both take a "
            "name away where no card is left",
        )
    bare = _described_and_bare(scene)
    if bare:
        yield warn(
            AMOUNTS,
            f"the Device of {some_of(bare)} lists healthy cards and the node states none of Koordinator's amounts, so "
            "koord-scheduler finds no room there",
            "look at koord-manager where koordlet runs (colocation must be on), else at the log of Tangram's agent",
        )
    if stating and not zero and not bare:
        yield ok(AMOUNTS, "no node states an amount of 0 under Koordinator's names")


def _adaption(scene: Scene) -> Findings:
    without = _without(scene, Part.KOORD_SCHEDULER, ADAPTION)
    metax = {
        name for resource, nodes in announced(scene).items() if resource in METAX_RESOURCES for name in nodes
    }
    if not without or not metax:
        return
    closed = sorted(metax - managed_nodes(scene))
    todo = f"add {ADAPTION}=true to its --feature-gates (scheduler.featureGates in its chart)"
    if closed:
        yield fail(
            SWITCHES,
            f"koord-scheduler ({without[0].name}) runs without {ADAPTION}: MetaX's plugin on {some_of(closed)} is "
            "never told which card a pod was given",
            todo,
        )
    else:
        yield warn(
            SWITCHES,
            f"koord-scheduler ({without[0].name}) runs without {ADAPTION}: Tangram's agent serves its pods all the "
            "same, but it takes no node lock, so two schedulers find each other's choice only at the node",
            todo,
        )


def _shared(scene: Scene) -> Findings:
    without = _without(scene, Part.KOORD_MANAGER, SHARED)
    lacking = [
        name_of(node)
        for node in scene.nodes.items
        if KOORDINATOR_CORE in _stated(node) and KOORDINATOR_SHARED not in _stated(node)
    ]
    if without and lacking:
        yield fail(
            SWITCHES,
            f"koord-manager ({without[0].name}) runs without {SHARED} and {KOORDINATOR_SHARED} is missing on "
            f"{some_of(lacking)}, so no pod fits there that asks for it, and its webhook makes every pod ask",
            f"add {SHARED}=true to its --feature-gates (featureGates in its chart)",
        )


def _accelerators(scene: Scene) -> Findings:
    without = {each.node for each in _without(scene, Part.KOORDLET, ACCELERATORS) if each.node}
    blind = sorted(without & (managed_nodes(scene) | card_nodes(scene)))
    if blind:
        yield fail(
            SWITCHES,
            f"koordlet runs on {some_of(blind)} without {ACCELERATORS}: it writes no Device, and Tangram's agent "
            "leaves that to koordlet where koordlet runs",
            f"add {ACCELERATORS}=true to its -feature-gates (koordlet.features in its chart, which replaces its list)",
        )


def _without(scene: Scene, part: Part, gate: str) -> list[PartPod]:
    return [each for each in scene.pods.running(part) if not each.has(gate)]


def _described_and_bare(scene: Scene) -> list[str]:
    stated = {name_of(node): _stated(node) for node in scene.nodes.items}
    found: list[str] = []
    for device in scene.devices.items:
        name = name_of(device)
        if name in stated and not stated[name] and _healthy(device):
            found.append(name)
    return sorted(found)


def _healthy(device: Object) -> bool:
    try:
        read, _ = read_device(device)
    except WireError:
        return False
    return any(entry.kind == names.GPU and entry.health for entry in read.entries)


def _stated(node: Object) -> Mapping[str, str]:
    allocatable = loose.text_map(loose.members(node.get("status")).get("allocatable"))
    return {name: amount for name, amount in allocatable.items() if name in KOORDINATOR_RESOURCES}
