"""The MetaX cards of a node, from the three places that may speak of them.

The sGPU plugin lists cards by uuid, the plain plugin only counts them, and Koordinator's `Device` lists them again.
HAMi keeps a separate inventory for each, and a node that publishes two of them sells every card twice. Here a card that
anyone lists is one card; a count creates cards only where nobody lists any, and otherwise says how listed ones are
offered.

The list's `model` says `native` of some cards. HAMi does not read it, and what a kubelet gives follows from the
resources of the node alone, so these decide: the word counts only where the node announces as many whole cards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.units.ids import CardUuid
from tangram.units.memory import GIB, MIB, Bytes, from_gib, from_mib
from tangram.vendors.metax import names
from tangram.vendors.metax.products import CATALOGUE
from tangram.wire.errors import WireError, shown
from tangram.wire.metax_listing import NODE_DEVICES, ListedCard, decode_listing
from tangram.wire.node_facts import MOST_CARDS, Counted, NodeFacts, stand_in_id

LABEL_MEMORY: Final = "metax-tech.com/gpu.memory"
LABEL_PRODUCT: Final = "metax-tech.com/gpu.product"
LABEL_VIRTUAL_FUNCTIONS: Final = "metax-tech.com/gpu.vfnum"
STAND_IN: Final = "metax"

_USUAL_MEMORY = from_gib(64)
"""What every MetaX card of that resource name has had so far, and what HAMi assumes."""
_MODES = {mode.value: mode for mode in CardMode if mode is not CardMode.UNDECIDED}
_POLICIES = {policy.value: policy for policy in QosPolicy}
# The vendor writes GB and means GiB: a 64GB card has 65536 MiB.
_MEMORY_LABEL = re.compile(r"([0-9]{1,6}) ?(?:(G)(?:i?B|i)?|(M)(?:i?B|i)?)")
_LARGEST_MIB = 2**24
_LARGEST_COUNT = 2**15


class MetaxCards(msgspec.Struct, frozen=True):
    cards: tuple[Card, ...] = ()
    zones: dict[CardUuid, int] = {}
    """MetaXLink zone of each card that has one."""


def metax_cards(facts: NodeFacts, reported: Sequence[Card]) -> MetaxCards:
    """Every MetaX card of the node once; `reported` are those of its `Device`."""
    listed = _listed(facts)
    whole = facts.counted(names.GPU)
    modes = _modes(listed, whole)
    cards = {
        card.uuid: card
        for card in (_card(facts, index, each, modes[index]) for index, each in listed.items())
    }
    for card in reported:
        known = cards.get(card.uuid)
        cards[card.uuid] = card if known is None else _together(known, card)
    if not cards:
        return MetaxCards(_counted_cards(facts, whole))
    only_whole = not listed and whole.usable > 0 and not facts.counted(names.SGPU).announced
    zones = {CardUuid(each.uuid): each.link_zone for each in listed.values() if each.link_zone > 0}
    if only_whole:
        return MetaxCards(
            tuple(replace(card, mode=CardMode.WHOLE, slots=1) for card in cards.values()), zones
        )
    offered = _offered(facts, tuple(cards.values()), whole)
    return MetaxCards(tuple(_with_sliceable_memory(facts, card) for card in offered), zones)


def _listed(facts: NodeFacts) -> dict[int, ListedCard]:
    written = facts.annotations.get(NODE_DEVICES, "")
    if not written.strip():
        return {}
    try:
        cards, problems = decode_listing(written)
    except WireError as error:
        facts.complain(error.code, error.sentence)
        return {}
    facts.problems.extend(problems)
    sound = {index: card for index, card in cards.items() if _plausible(card)}
    for index in cards.keys() - sound.keys():
        facts.complain("listing-entry", f"{NODE_DEVICES}[{index}] has numbers no card has, and is left out")
    if len(sound) > MOST_CARDS:
        facts.complain(
            "listing-entry", f"{NODE_DEVICES} lists {len(sound)} cards; only {MOST_CARDS} are used"
        )
    return dict(list(sound.items())[:MOST_CARDS])


def _plausible(card: ListedCard) -> bool:
    return (
        0 <= card.total_vram_mib <= _LARGEST_MIB
        and 0 <= card.total_compute <= _LARGEST_COUNT
        and 0 <= card.total_dev_count <= _LARGEST_COUNT
    )


def _modes(listed: Mapping[int, ListedCard], whole: Counted) -> dict[int, CardMode]:
    """How each listed card is offered: as `model` says, if the node announces that many cards that are not sliced."""
    said = {index: _MODES.get(each.model, CardMode.SLICED) for index, each in listed.items()}
    marked = sum(mode is not CardMode.SLICED for mode in said.values())
    return said if marked <= whole.announced else dict.fromkeys(said, CardMode.SLICED)


def _card(facts: NodeFacts, index: int, listed: ListedCard, mode: CardMode) -> Card:
    return Card(
        uuid=CardUuid(listed.uuid),
        index=index,
        vendor=Vendor.METAX,
        memory=from_mib(listed.total_vram_mib),
        product=_labelled_product(facts) if listed.model in _MODES else listed.model,
        cores=listed.total_compute,
        slots=1 if mode is CardMode.WHOLE else listed.total_dev_count,
        mode=mode,
        numa=max(listed.numa, -1),
        healthy=listed.healthy,
        health_reason="" if listed.healthy else f"{NODE_DEVICES} does not call it healthy",
        announced_qos=_POLICIES.get(listed.qos_policy),
        bdf=listed.bdf,
    )


def _together(listed: Card, reported: Card) -> Card:
    """One card in two reports: it must be healthy in both, and each fills what the other leaves open."""
    return replace(
        listed,
        memory=listed.memory or reported.memory,
        product=listed.product or reported.product,
        numa=reported.numa if listed.numa < 0 else listed.numa,
        healthy=listed.healthy and reported.healthy,
        health_reason=listed.health_reason or reported.health_reason,
        bdf=listed.bdf or reported.bdf,
    )


def _offered(facts: NodeFacts, cards: tuple[Card, ...], whole: Counted) -> tuple[Card, ...]:
    """Say of listed cards how many of them are also announced as whole ones."""
    marked = sum(1 for card in cards if card.mode is not CardMode.SLICED)
    at_most = marked or len(cards)
    if whole.usable > at_most:
        facts.complain(
            "cards-announced-twice",
            f"it announces {whole.usable} of {names.GPU} but lists {at_most} cards that could be those; "
            "only the listed ones are used",
        )
    if marked or not whole.usable:
        return cards
    undecided = tuple(replace(card, mode=CardMode.UNDECIDED) for card in cards[: whole.usable])
    return undecided + cards[whole.usable :]


def _with_sliceable_memory(facts: NodeFacts, card: Card) -> Card:
    """The card with what its slices can have in all, as far as its model says it: no announcement does.

    MetaX's plugin, HAMi and koord-device-daemon state the memory of the card. Of a C500 with 64 GiB its driver slices
    64581 MB, and refuses the slice above that when its container starts, on a node that nobody can tell so anymore.
    That is an assumption, made here alone: the figure is that of one driver (KMD 3.8.30), another may slice more or
    less, and a card of an unknown model, or with other memory, is taken at its word. Our agent asks the card instead,
    and what it publishes is not read here.

    Only what may be placed changes. What is placed is read from pods as it is written: those that a peer bound up to
    64 GiB count in full, and leave less than nothing of the card.
    """
    if not card.offered_sliced:
        return card
    # koord-device-daemon gives some models a word that names none; then the label of the node does.
    product = CATALOGUE.find(card.product) or CATALOGUE.find(facts.labels.get(LABEL_PRODUCT, ""))
    return card if product is None else replace(card, memory=product.sliceable_of(card.memory))


def _counted_cards(facts: NodeFacts, whole: Counted) -> tuple[Card, ...]:
    if whole.announced > MOST_CARDS:
        facts.complain(
            "node-quantity", f"{whole.announced} of {names.GPU} is more than {MOST_CARDS}; none is used"
        )
        return ()
    memory = Bytes(_labelled_memory(facts) // _virtual_functions(facts))
    return tuple(
        Card(
            uuid=CardUuid(stand_in_id(facts.name, STAND_IN, index)),
            index=index,
            vendor=Vendor.METAX,
            memory=memory,
            product=_labelled_product(facts),
            slots=1,
            mode=CardMode.WHOLE,
            counted=True,
            # Which card failed is not said; the ids are made up, so any will do.
            healthy=index < whole.usable,
            health_reason="" if index < whole.usable else f"only {whole.usable} cards are allocatable",
        )
        for index in range(whole.announced)
    )


def _labelled_product(facts: NodeFacts) -> str:
    """The label's product as the library spells it, so that cards of one model are of one model in a cluster whose
    labels have both spellings. One that is not known stays as it is written.
    """
    written = facts.labels.get(LABEL_PRODUCT, "")
    known = CATALOGUE.find(written)
    return written if known is None else known.name


def _labelled_memory(facts: NodeFacts) -> Bytes:
    written = facts.labels.get(LABEL_MEMORY, "")
    found = _MEMORY_LABEL.fullmatch(written.strip())
    if found is not None and int(found[1]):
        return Bytes(int(found[1]) * (GIB if found[2] else MIB))
    if written:
        facts.complain("node-label", f"label {LABEL_MEMORY} is {shown(written)}: it is a size such as 64GB")
    return _USUAL_MEMORY


def _virtual_functions(facts: NodeFacts) -> int:
    """How many units the plugin counts for each card; every unit is a card of its own here, as it is to HAMi."""
    written = facts.labels.get(LABEL_VIRTUAL_FUNCTIONS, "")
    return int(written) if written in {"1", "2", "4", "8"} else 1
