"""What the agents of a machine would say about it, worked out without starting them. Pure, but for the cards' clock.

A thousand machines with a kubelet, an agent and a labeller each would need a thousand times their sockets, tasks and
connections, and most of them would never see a pod. So a machine of a large cluster sleeps: its node looks from outside
as if all three were running, because it is made by the same functions that they use, and they are started when the
first pod that asks for cards is bound to it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Final

from tangram.drivers.simulated.world import World
from tangram.sandbox.nodes.described import MachineDescription
from tangram.sandbox.nodes.node_objects import Offered, Said, own_annotations, own_labels
from tangram.services.gpu_device.config_texts import read_config_texts
from tangram.services.gpu_device.described import described_node
from tangram.services.gpu_device.offer import offered_units
from tangram.services.gpu_device.records import Inventory
from tangram.services.gpu_device.stock import take_stock
from tangram.services.gpu_label.looking import Sight
from tangram.services.gpu_label.wanting import wanted_labels
from tangram.units.ids import CardUuid
from tangram.wire.agent_state import AGENT, SERVING
from tangram.wire.koordinator.device import Device
from tangram.wire.koordinator.node_resources import node_labels, node_resources
from tangram.wire.koordinator.reporting import device_of
from tangram.wire.metax_labels import Choices
from tangram.wire.publication import publication
from tangram.wire.timestamps import to_second

USUAL_LABELS: Final = Choices()


def said_by_agents(
    description: MachineDescription, now: dt.datetime, choices: Choices = USUAL_LABELS
) -> Said:
    """What node and `Device` say once the agents run and nobody holds anything."""
    if not description.cards.cards:
        return Said()
    world = World(description.cards, lambda: 0.0)
    devices = world.devices()
    config = read_config_texts(description.config, description.node)
    health = world.health()
    inventory = take_stock(
        description.node,
        devices,
        health,
        world.links(devices),
        wanted=config.modes_for(devices),
        share_count=config.share_count,
        held_as={},
        cordoned=description.cordoned,
    )
    labels = {
        **own_labels(description),
        **({} if description.unschedulable else wanted_labels(_sight(world), choices)),
    }
    told = publication(
        inventory.cards,
        inventory.topology,
        {},
        annotations=own_annotations(description),
        labels=labels,
    )
    units = offered_units(inventory, {}, in_service=not description.unschedulable)
    device = _device(inventory, {uuid: each.code for uuid, each in health.items()}, now)
    return Said(
        annotations={AGENT: SERVING}
        | {key: text for key, text in told.annotations.items() if text is not None},
        labels={
            key: text
            for key, text in {**labels, **told.labels, **node_labels(device)}.items()
            if text is not None and key not in own_labels(description)
        },
        offered=Offered(
            {resource: len(found) for resource, found in units.items()},
            {resource: sum(unit.healthy for unit in found) for resource, found in units.items()},
        ),
        reported=node_resources(device, shares=True),
        device=device,
    )


def _device(inventory: Inventory, faults: Mapping[CardUuid, str], now: dt.datetime) -> Device:
    seen = described_node(inventory, inventory.cards, faults)
    return device_of(seen.node, now=to_second(now), notes=seen.notes)


def _sight(world: World) -> Sight:
    devices = world.devices()
    return Sight(devices=devices, on_bus=frozenset(device.vendor for device in devices))
