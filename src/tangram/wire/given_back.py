"""The cards that the kubelet really gave, written on the pod in the words in which a scheduler reads them.

For whole cards a scheduler's annotation is a prediction: the kubelet chooses by ids. What it chose is written over the
prediction, container by container, so that every reader counts the cards that are really gone: HAMi by the ids that
it makes up for them, whichever scheduler placed the pod, and koord-scheduler too, where the prediction was told to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tangram.model.allocations import Allocation, ContainerShares, Tenant
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.units.memory import Bytes, floor_mib
from tangram.wire import hami
from tangram.wire.errors import WireError
from tangram.wire.held import held_by_hami
from tangram.wire.koordinator.binding import device_allocated
from tangram.wire.koordinator.names import DEVICE_ALLOCATED
from tangram.wire.stand_ins import counted_as
from tangram.wire.tenants import Unnamed

_WORDS = {
    Vendor.METAX: (hami.METAX_WHOLE_ALLOCATED, hami.METAX_WHOLE_TO_ALLOCATE, hami.METAX_WHOLE),
    Vendor.MTHREADS: (hami.MTHREADS_ALLOCATED, hami.MTHREADS_TO_ALLOCATE, hami.MTHREADS),
}


def given_annotations(
    pod: Pod, vendor: Vendor, given: Mapping[str, Sequence[Card]], node: Node
) -> dict[str, str]:
    """What to write on a pod whose containers were given these cards of its node; nothing when it says so already.

    A card that was given in parts (virtual functions, turns) is listed once for each. Raises `WireError` for ids no
    allocation string can hold.
    """
    key, beside, word = _WORDS[vendor]
    rows = [given.get(container.name, ()) for container in pod.containers]
    counted = hami.encode_allocation(
        [_held(card, word, counted_as(node, card)) for card in row] for row in rows
    )
    named = hami.encode_allocation([_held(card, word, str(card.uuid)) for card in row] for row in rows)
    wanted = {key: counted} if counted == named else {key: counted, beside: named}
    if pod.node_name is not None and hami.NODE not in pod.annotations:
        wanted[hami.NODE] = str(pod.node_name)
    if DEVICE_ALLOCATED in pod.annotations:
        wanted |= _told(replace(pod, annotations={**pod.annotations, **wanted}), node)
    return {name: value for name, value in wanted.items() if pod.annotations.get(name) != value}


def untold_annotations(pod: Pod, holds: Tenant | Unnamed | None, node: Node) -> dict[str, str]:
    """What to write on a pod that holds cards and does not tell koord-scheduler so; nothing when it does.

    A pod whose cards nobody named, or that names cards which are not here, is left alone: half of the truth would be
    counted as the whole.
    """
    if DEVICE_ALLOCATED in pod.annotations or not isinstance(holds, Tenant) or not holds.allocation.cards:
        return {}
    cards = {card.uuid: card for card in node.cards}
    if not all(uuid in cards for uuid in holds.allocation.cards):
        return {}
    return device_allocated(holds.allocation, cards, node.minors)


def _told(pod: Pod, node: Node) -> dict[str, str]:
    """What koord-scheduler is to count: all that the pod holds, slices beside whole cards too.

    Nothing where that cannot be told for certain; what was told before is then nearer to the truth.
    """
    try:
        held = held_by_hami(pod, node).per_container
    except WireError:
        return {}
    cards = {card.uuid: card for card in node.cards}
    if not all(share.card in cards for shares in held for share in shares):
        return {}
    containers = tuple(
        ContainerShares(each.name, each.role, shares)
        for each, shares in zip(pod.containers, held, strict=True)
    )
    return device_allocated(Allocation(node.name, containers), cards, node.minors)


def _held(card: Card, word: str, identity: str) -> hami.HeldCard:
    parts = card.slots if card.mode in (CardMode.VIRTUAL, CardMode.SHARED) else 1
    return hami.HeldCard(
        identity, word, floor_mib(Bytes(card.memory // max(1, parts))), card.cores // max(1, parts)
    )
