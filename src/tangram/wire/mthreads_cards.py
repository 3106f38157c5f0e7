"""The Moore Threads cards of a node, from what the vendor's plugin counts and labels.

A card is in one of two pools, sliced or whole, and the plugin announces each pool as sums. Card numbers are physical:
the toolkit takes `gpu-index` literally, so when the label names cards 0, 2 and 3, there is no card 1. HAMi assumes a
hundred tenants and 48 GiB for every card; both come from the node here, and the kernel makes at most sixteen slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from tangram.model.cards import Card, CardMode, Vendor
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import SGPU_MEMORY_UNIT, Bytes, from_mib
from tangram.vendors.mthreads import names
from tangram.vendors.mthreads.products import CORES_PER_CARD, MOST_SLICES
from tangram.vendors.mthreads.tiers import memory_tiers
from tangram.wire import loose
from tangram.wire.errors import shown
from tangram.wire.node_facts import MOST_CARDS, NodeFacts, stand_in_id

LABEL_SLICED: Final = "mthreads.com/sgpu.cores"
LABEL_COUNT: Final = "mthreads.com/gpu.count"
STAND_IN: Final = "mthreads"

_LARGEST_MEMORY = 2**44


def memory_label(index: int) -> str:
    """The label that says how many bytes a card has."""
    return f"mthreads.com/gpu{index}.memory"


def mthreads_cards(facts: NodeFacts, reported: Sequence[Card]) -> tuple[Card, ...]:
    """Every Moore Threads card of the node once; `reported` are those of its `Device`, matched by number."""
    sliced = _sliced_indexes(facts)
    whole = _whole_indexes(facts, sliced)
    if not sliced and not whole:
        return tuple(_as_sliced(card) for card in reported)
    real = {card.index: card for card in reported}
    sizes = _sliced_memory(facts, sliced)
    cores, cards = facts.counted(names.SGPU_CORE), facts.counted(names.GPU)
    # A pool need not be a multiple of a card: what counts is how many cards' worth is missing.
    working = len(sliced) + (cores.usable - cores.announced) // CORES_PER_CARD
    if working < len(sliced) or cards.usable < cards.announced:
        facts.complain(
            "cards-failed", "fewer cards are allocatable than announced, and nobody says which failed"
        )
    found = [
        _as_sliced(_card(facts, index, real.get(index), sizes.get(index, Bytes(0)), works=turn < working))
        for turn, index in enumerate(sliced)
    ]
    for turn, index in enumerate(whole):
        card = _card(facts, index, real.get(index), _labelled_memory(facts, index), works=turn < cards.usable)
        found.append(replace(card, mode=CardMode.WHOLE, slots=1))
    return tuple(sorted(found, key=lambda card: card.index))


def stand_ins_of(node: NodeName, cards: Sequence[Card]) -> dict[CardUuid, CardUuid]:
    """The ids that HAMi makes up for Moore Threads cards with an id of their own. Where no `Device` or agent tells the
    real ids, people list the made-up ones, and must find the same cards when it does.
    """
    real = {card.uuid for card in cards}
    return {
        made_up: card.uuid
        for card in cards
        if card.vendor is Vendor.MTHREADS
        and (made_up := CardUuid(stand_in_id(node, STAND_IN, card.index))) not in real
    }


def _card(facts: NodeFacts, index: int, real: Card | None, memory: Bytes, *, works: bool) -> Card:
    if real is not None:
        return replace(real, memory=memory or real.memory, healthy=real.healthy and works)
    if not memory:
        facts.complain("card-memory-unknown", f"nothing says how much memory card {index} has")
    return Card(
        uuid=CardUuid(stand_in_id(facts.name, STAND_IN, index)),
        index=index,
        vendor=Vendor.MTHREADS,
        memory=memory,
        cores=CORES_PER_CARD,
        counted=True,
        healthy=works,
        health_reason="" if works else "fewer cards are allocatable than announced",
    )


def _as_sliced(card: Card) -> Card:
    return replace(card, mode=CardMode.SLICED, slots=MOST_SLICES, memory_tiers=memory_tiers(card.memory))


def _sliced_indexes(facts: NodeFacts) -> tuple[int, ...]:
    cores = facts.counted(names.SGPU_CORE).announced
    count = -(-cores // CORES_PER_CARD)
    if not count:
        return ()
    if count > MOST_CARDS:
        facts.complain(
            "node-quantity", f"{cores} of {names.SGPU_CORE} is more than {MOST_CARDS} cards; none is used"
        )
        return ()
    written = facts.labels.get(LABEL_SLICED)
    if written is None:
        return tuple(range(count))
    indexes = tuple(loose.integer(part) for part in written.split("-") if part.strip())
    known = tuple(sorted({index for index in indexes if index is not None and 0 <= index < MOST_CARDS}))
    if len(known) != len(indexes) or len(known) != count:
        # A wrong number here is a pod on somebody else's card, so no number is better.
        facts.complain(
            "cards-disagree",
            f"label {LABEL_SLICED} is {shown(written)} but {names.SGPU_CORE} {cores} means {count} cards; none is used",
        )
        return ()
    return known


def _whole_indexes(facts: NodeFacts, sliced: tuple[int, ...]) -> tuple[int, ...]:
    count = facts.counted(names.GPU).announced
    total = loose.integer(facts.labels.get(LABEL_COUNT))
    if count > MOST_CARDS:
        facts.complain(
            "node-quantity", f"{count} of {names.GPU} is more than {MOST_CARDS} cards; none is used"
        )
        return ()
    if total is not None and len(sliced) + count > total:
        facts.complain(
            "cards-announced-twice",
            f"{len(sliced)} sliced and {count} whole cards are announced but label {LABEL_COUNT} says {total}",
        )
        count = max(0, total - len(sliced))
    free = (index for index in range(2 * MOST_CARDS) if index not in sliced)
    return tuple(index for _, index in zip(range(count), free, strict=False))


def _sliced_memory(facts: NodeFacts, sliced: tuple[int, ...]) -> Mapping[int, Bytes]:
    """Memory of each sliced card: even parts of the pool, unless labels that add up to the pool know better."""
    cores = facts.counted(names.SGPU_CORE).announced
    units = facts.counted(names.SGPU_MEMORY).announced
    labelled = {index: _labelled_memory(facts, index) for index in sliced}
    in_units = sum(size // SGPU_MEMORY_UNIT for size in labelled.values())
    if all(labelled.values()) and (in_units == units or not units):
        return labelled
    # HAMi's own arithmetic, which keeps its meaning when a pool is not a multiple of sixteen cores.
    even = from_mib(units * 512 * CORES_PER_CARD // cores) if cores else Bytes(0)
    return dict.fromkeys(sliced, even)


def _labelled_memory(facts: NodeFacts, index: int) -> Bytes:
    size = loose.integer(facts.labels.get(memory_label(index)))
    return Bytes(size) if size is not None and 0 < size <= _LARGEST_MEMORY else Bytes(0)
