"""From what the driver reports to what this node has, and which cards should change how they are offered.

The kernel's state is the truth about a card; what the administrator wants is only a wish until the card is idle in the
kernel, in the kubelet and in every pod's allocation. Until then it stays what it is, and is offered as that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from tangram.drivers.inventory import cards_of, topology_of
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.devices import Device, Health, LinkReport
from tangram.services.gpu_device.records import Inventory
from tangram.units.ids import CardUuid, NodeName
from tangram.units.na import known

AWAITS_SPLIT = "it is to be split into virtual functions and is not yet"


def take_stock(
    node: NodeName,
    devices: Sequence[Device],
    health: Mapping[CardUuid, Health],
    links: LinkReport,
    *,
    wanted: Mapping[CardUuid, CardMode],
    share_count: int,
    held_as: Mapping[CardUuid, CardMode],
    cordoned: Collection[str],
) -> Inventory:
    """What the node has now. `held_as` says how the kubelet's present holders hold a card that they hold whole."""
    modes = {device.uuid: _mode(device, wanted, held_as) for device in devices}
    cards = cards_of(devices, health, modes)
    return Inventory(
        node=node,
        devices=tuple(devices),
        cards=tuple(_finished(card, wanted, share_count, cordoned, known_split(devices)) for card in cards),
        topology=topology_of(devices, links),
    )


def known_split(devices: Sequence[Device]) -> frozenset[CardUuid]:
    """The cards that are split into virtual functions now."""
    return frozenset(
        device.virtual_function_of for device in devices if device.virtual_function_of is not None
    )


def switches_due(
    inventory: Inventory, wanted: Mapping[CardUuid, CardMode], busy: Collection[CardUuid]
) -> dict[CardUuid, bool]:
    """MetaX cards whose kernel switch must move, idle ones only: True to slices, False to whole.

    Moore Threads cards follow the kernel module, which the administrator binds to cards.
    """
    due: dict[CardUuid, bool] = {}
    for card in inventory.cards:
        device = inventory.device(card.uuid)
        wish = wanted.get(card.uuid)
        if device is None or wish is None or card.vendor is not Vendor.METAX or card.mode is CardMode.VIRTUAL:
            continue
        slices = wish is CardMode.SLICED
        if device.sliced is (not slices) and card.uuid not in busy and wish is not CardMode.VIRTUAL:
            due[card.uuid] = slices
    return due


def _mode(
    device: Device, wanted: Mapping[CardUuid, CardMode], held_as: Mapping[CardUuid, CardMode]
) -> CardMode:
    if known(device.virtual_functions, 0):
        return CardMode.VIRTUAL
    if device.sliced is True:
        return CardMode.SLICED
    if device.uuid in held_as:
        return held_as[device.uuid]
    wish = wanted.get(device.uuid, CardMode.WHOLE)
    return wish if wish in (CardMode.SHARED, CardMode.VIRTUAL) else CardMode.WHOLE


def _finished(
    card: Card,
    wanted: Mapping[CardUuid, CardMode],
    share_count: int,
    cordoned: Collection[str],
    split: Collection[CardUuid],
) -> Card:
    card = replace(card, cordoned=card.uuid in cordoned)
    if card.mode is CardMode.SHARED:
        return replace(card, slots=share_count)
    if card.mode is CardMode.VIRTUAL and card.uuid not in split and wanted.get(card.uuid) is CardMode.VIRTUAL:
        return replace(card, healthy=False, health_reason=AWAITS_SPLIT)
    return card
