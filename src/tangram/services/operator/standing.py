"""Where each GPU node stands on its way to offering cards, and the first thing that is in the way.

A node comes to life in one order: runtime, driver, MXMACA, device plugin. What comes later cannot be ready before, so
only the first thing that is missing is told. A node that an administrator cordoned is out of service because somebody
wants it so; it is counted and is no problem. One that we hold for an upgrade is told by the upgrade.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tangram.services.operator.copies import SeenNode, is_concerned
from tangram.services.operator.part_pods import PartPod
from tangram.services.operator.parts import container_runtime, driver_manager, gpu_device
from tangram.wire.operator.names import DRIVER_READY, MACA_READY, RUNTIME_READY
from tangram.wire.operator.node_states import DriverState, MacaState, Phase, RuntimeState
from tangram.wire.operator.spec import Spec

NODE: Final = "node"


class Place(StrEnum):
    READY = "ready"
    CORDONED = "cordoned"
    """By others."""
    HELD = "held"
    """By us, for an upgrade."""
    AWAY = "away"
    """Its kubelet is silent. It is told, and nothing that others need waits for it."""
    WAITING = "waiting"
    FAILED = "failed"
    """It does not become ready by waiting."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    place: Place
    part: str = ""
    why: str = ""
    """Also of a node that is ready, when something else went wrong there: an upgrade that was taken back."""


def standings(nodes: Sequence[SeenNode], spec: Spec, pods: Sequence[PartPod]) -> tuple[Standing, ...]:
    """Of every node with cards, or that has anything of ours."""
    offering = {pod.node for pod in pods if pod.part == gpu_device.NAME and pod.ready}
    return tuple(_standing(node, spec, offering) for node in nodes if is_concerned(node))


def _standing(node: SeenNode, spec: Spec, offering: set[str]) -> Standing:
    name, view = node.view.name, node.view
    if not view.ready:
        return Standing(
            node=name, place=Place.AWAY, part=NODE, why=f"{name} is not ready: its kubelet is silent"
        )
    if view.held:
        return Standing(node=name, place=Place.HELD)
    if view.cordoned_by_others:
        return Standing(node=name, place=Place.CORDONED, part=NODE, why=f"{name} is cordoned")
    first = next(_in_the_way(node, spec), None)
    if first is not None:
        return first
    plugin = spec.device_plugin
    chosen = all(node.labels.get(key) == value for key, value in plugin.node_selector.items())
    if plugin.deploy and chosen and not (node.offers and name in offering):
        why = (
            f"gpu-device runs on {name}, and the node offers no card yet: tangram devices says there what is wrong"
            if name in offering
            else f"gpu-device does not offer cards on {name} yet"
        )
        return Standing(node=name, place=Place.WAITING, part=gpu_device.NAME, why=why)
    return Standing(node=name, place=Place.READY, part=driver_manager.NAME, why=_left_over(node))


def _in_the_way(node: SeenNode, spec: Spec) -> Iterator[Standing]:
    view, labels = node.view, node.labels
    if node.managed != "true":
        yield Standing(node=view.name, place=Place.WAITING, part=NODE, why=f"{view.name} is not managed yet")
    if spec.runtime.deploy and labels.get(RUNTIME_READY) != "true":
        yield _said(node, container_runtime.NAME, "the runtime metax", view.runtime)
    if labels.get(DRIVER_READY) != "true":
        if spec.driver.deploy:
            yield _said(node, driver_manager.NAME, "the driver", view.driver)
        else:
            why = f"no driver answers on {view.name}, and driver.deploy is false: install one there"
            yield Standing(node=view.name, place=Place.WAITING, part=NODE, why=why)
    if spec.has_maca and labels.get(MACA_READY) != "true":
        yield _said(node, driver_manager.NAME, "MXMACA", view.maca)


def _said(
    node: SeenNode, part: str, what: str, state: DriverState | MacaState | RuntimeState | None
) -> Standing:
    name = node.view.name
    if state is None:
        why = f"{what} is not ready on {name}: {part} has not said anything yet"
        return Standing(node=name, place=Place.WAITING, part=part, why=why)
    place = Place.FAILED if state.phase is Phase.FAILED else Place.WAITING
    words = state.why or f"{part} is {state.phase.value}"
    return Standing(node=name, place=place, part=part, why=f"{what} is not ready on {name}: {words}")


def _left_over(node: SeenNode) -> str:
    """What went wrong on a node that is in service all the same."""
    upgrade, driver = node.view.upgrade, node.view.driver
    if upgrade is not None:
        running = driver.running if driver else "its driver"
        return f"{node.view.name} stays with {running}: {upgrade.why or upgrade.code}"
    if driver is not None and driver.phase is Phase.FAILED:
        return f"{node.view.name}: {driver.why}"
    return ""


def labelled(nodes: Sequence[SeenNode], pods: Sequence[PartPod], label_part: str) -> bool:
    """Whether gpu-label has looked at every node that it runs on, and we have marked what it found."""
    looked_at = {pod.node for pod in pods if pod.part == label_part}
    return all(
        node.view.unschedulable
        or (bool(node.installed) and (node.installed != "true" or node.managed == "true"))
        for node in nodes
        if node.view.name in looked_at and node.view.ready
    )


def count(found: Sequence[Standing]) -> Mapping[Place, int]:
    """How many nodes stand where."""
    return {place: sum(each.place is place for each in found) for place in Place}
