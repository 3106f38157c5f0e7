"""Everything that is written on a pod when it is bound, in the words in which it asked.

The Binding carries it, so pod and cards are committed in one call. What each closed plugin reads is reproduced byte for
byte: HAMi writes the keys of every kind of card the node has, with bare separators for kinds the pod did not ask
for, and counts whole cards and Moore Threads' by ids that it makes up, beside which the real ones are written here;
Koordinator writes its own keys once per pod, and MetaX's in a form of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from tangram.model.allocations import Allocation, Share
from tangram.model.cards import Card, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import PodRef
from tangram.model.requests import AskKind, Request, Vocabulary
from tangram.units.ids import CardUuid, NodeName, is_label_value
from tangram.units.memory import floor_mib
from tangram.wire import hami, metax_allocated, mthreads
from tangram.wire.card_numbers import encode_numbers
from tangram.wire.errors import WireError, shown
from tangram.wire.koordinator.binding import device_allocated, koordinator_annotations
from tangram.wire.limits import check_annotations, check_labels
from tangram.wire.metax_allocated import GivenCard
from tangram.wire.nodelock import LockHolder, NodeLock, format_lock
from tangram.wire.stand_ins import counted_as

_NOTHING: Mapping[str, str] = MappingProxyType({})
_NANOSECONDS = 10**9

_Cards = Mapping[CardUuid, Card]


class BindingWrites(msgspec.Struct, frozen=True):
    annotations: dict[str, str]
    labels: dict[str, str]


def binding_writes(
    request: Request,
    allocation: Allocation,
    node: Node,
    now_ns: int,
    *,
    present: Mapping[str, str] = _NOTHING,
) -> BindingWrites:
    """The annotations and labels to merge into the pod; `present` are the annotations it has already.

    Raises `WireError` when the allocation names cards the node does not have, when the pod mixes Koordinator's words
    with others, or when the result is more than Kubernetes can hold.
    """
    cards = _cards_of(allocation, node)
    if _asked_in_koordinators_words(request):
        annotations = koordinator_annotations(request, allocation, cards, now_ns, minors=node.minors)
        if any(cards[uuid].vendor is Vendor.MTHREADS for uuid in allocation.cards):
            annotations |= _mthreads_annotations(allocation, node, cards, now_ns)
        writes = BindingWrites(annotations, {})
    else:
        writes = _hami_writes(allocation, node, cards, now_ns)
        if node.described and allocation.cards:
            # koord-scheduler counts a bound pod by this and by nothing else.
            told = device_allocated(allocation, cards, node.minors)
            writes = BindingWrites({**writes.annotations, **told}, writes.labels)
    check_annotations({**present, **writes.annotations})
    check_labels(writes.labels)
    return writes


def binding_body(pod: PodRef, node: NodeName, writes: BindingWrites) -> dict[str, object]:
    """The order to the API server; it is refused for another pod of the same name."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
            "annotations": writes.annotations,
            "labels": writes.labels,
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def lock_value(
    request: Request, allocation: Allocation, node: Node, now_ns: int, *, beside_koordinator: bool = False
) -> str | None:
    """The node lock this bind must take first, or None.

    Only MetaX's closed plugin finds its pod by the lock: HAMi takes it for slices, Koordinator for every MetaX pod. A
    slice in an init container counts too, which HAMi forgets. Our own agent needs no lock; but where koord-scheduler
    places pods on the same node (`beside_koordinator`) it is what keeps the two apart, whoever serves the cards. Raises
    `WireError` for names and times a lock cannot carry, and for cards the node does not have.
    """
    cards = _cards_of(allocation, node)
    shares = [share for container in allocation.containers for share in container.shares]
    always = _asked_in_koordinators_words(request) or beside_koordinator
    read_by_lock = any(
        cards[share.card].vendor is Vendor.METAX and (always or share.kind is AskKind.SLICE)
        for share in shares
    )
    if not read_by_lock or (node.managed and not beside_koordinator):
        return None
    return format_lock(NodeLock(now_ns // _NANOSECONDS, LockHolder(request.pod.namespace, request.pod.name)))


def _cards_of(allocation: Allocation, node: Node) -> _Cards:
    cards = {card.uuid: card for card in node.cards}
    for uuid in allocation.cards:
        if uuid not in cards or cards[uuid].vendor is Vendor.GENERIC:
            raise WireError(
                "card-foreign", f"node {node.name} has no card {shown(uuid)} that a plugin could hand out"
            )
    return cards


def _asked_in_koordinators_words(request: Request) -> bool:
    words = {ask.vocabulary for container in request.containers for ask in container.asks}
    if Vocabulary.KOORDINATOR in words and len(words) > 1:
        raise WireError("words-mixed", f"pod {request.pod} asks in Koordinator's words and in others at once")
    return Vocabulary.KOORDINATOR in words


def _hami_writes(allocation: Allocation, node: Node, cards: _Cards, now_ns: int) -> BindingWrites:
    seconds = hami.seconds_text(now_ns)
    annotations = {
        hami.NODE: str(node.name),
        hami.TIME: seconds,
        hami.BIND_PHASE: hami.ALLOCATING,
        hami.BIND_TIME: seconds,
    }
    metax = [card for card in node.cards if card.vendor is Vendor.METAX]
    if any(card.offered_whole for card in metax):
        named, counted = _allocation_strings(allocation, node, Vendor.METAX, AskKind.WHOLE, hami.METAX_WHOLE)
        annotations |= {hami.METAX_WHOLE_TO_ALLOCATE: named, hami.METAX_WHOLE_ALLOCATED: counted}
    if any(card.offered_sliced for card in metax):
        # HAMi reads the ids of cards with slices from the node, and counts by them.
        held, _ = _allocation_strings(allocation, node, Vendor.METAX, AskKind.SLICE, hami.METAX_SLICE)
        annotations |= {hami.METAX_SLICE_TO_ALLOCATE: held, hami.METAX_SLICE_ALLOCATED: held}
        annotations |= _metax_slices(allocation, cards, now_ns)
    if any(card.vendor is Vendor.MTHREADS for card in node.cards):
        named, counted = _allocation_strings(allocation, node, Vendor.MTHREADS, None, hami.MTHREADS)
        annotations[hami.MTHREADS_ALLOCATED] = counted
        if counted != named:
            annotations[hami.MTHREADS_TO_ALLOCATE] = named
        annotations |= _mthreads_annotations(allocation, node, cards, now_ns)
    # A node name may have 253 characters and a label value 63; the label is for finding pods, the annotation counts.
    labels = {hami.NODE: str(node.name)} if is_label_value(node.name) else {}
    return BindingWrites(annotations, labels)


def _mthreads_annotations(allocation: Allocation, node: Node, cards: _Cards, now_ns: int) -> dict[str, str]:
    """What Moore Threads' toolkit reads, whoever placed the pod."""
    written = {mthreads.PREDICATE_NODE: str(node.name), mthreads.PREDICATE_TIME: str(now_ns)}
    # There is one list per pod, so it has the cards of all containers; only Tangram's agent tells them apart.
    indexes = [
        cards[share.card].index
        for container in allocation.containers
        for share in container.shares
        if cards[share.card].vendor is Vendor.MTHREADS
    ]
    if indexes:
        written[mthreads.GPU_INDEX] = encode_numbers(dict.fromkeys(indexes), mthreads.GPU_INDEX)
    return written


def _metax_slices(allocation: Allocation, cards: _Cards, now_ns: int) -> dict[str, str]:
    given = [
        [
            GivenCard(share.card, share.cores, floor_mib(share.memory))
            for share in container.shares
            if _belongs(share, cards, Vendor.METAX, AskKind.SLICE)
        ]
        for container in allocation.containers
    ]
    return {
        metax_allocated.ALLOCATED: metax_allocated.encode_given_per_container(given),
        metax_allocated.PREDICATE_TIME: str(now_ns),
    }


def _allocation_strings(
    allocation: Allocation, node: Node, vendor: Vendor, kind: AskKind | None, word: str
) -> tuple[str, str]:
    """The same shares by the cards' own ids, and by those by which HAMi counts them."""
    cards = {card.uuid: card for card in node.cards}
    rows = [
        [share for share in container.shares if _belongs(share, cards, vendor, kind)]
        for container in allocation.containers
    ]
    counted = {share.card: counted_as(node, cards[share.card]) for row in rows for share in row}

    def text(ids: Mapping[CardUuid, str]) -> str:
        return hami.encode_allocation(
            [hami.HeldCard(ids[share.card], word, floor_mib(share.memory), share.cores) for share in row]
            for row in rows
        )

    return text({uuid: str(uuid) for uuid in counted}), text(counted)


def _belongs(share: Share, cards: _Cards, vendor: Vendor, kind: AskKind | None) -> bool:
    return cards[share.card].vendor is vendor and kind in (None, share.kind)
