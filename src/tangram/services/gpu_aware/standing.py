"""What one node has for a request of whole MetaX cards: how many at most, how well joined, at what cost to the rest.

The node speaks for itself first: its plugin publishes score and loss per request size, and those are about the cards
that are free now. Where it does not, they are worked out from the cards it lists and how they are joined, by the same
engine; which of them are free is then said by the list, or by the pods bound there if somebody follows them. Where
nobody says it, the topology counts as unknown: to take every card for free would favour the node we know least about.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from tangram.engine.card_sets import best_score, best_set, least_loss
from tangram.engine.layout import Layout, layout_of
from tangram.engine.weights import DEFAULT_WEIGHTS
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.services.gpu_aware.occupancy import NodeUse
from tangram.units.ids import CardUuid
from tangram.vendors.metax import names
from tangram.wire.agent_state import AGENT, STOPPING
from tangram.wire.errors import WireError
from tangram.wire.inventory import INVENTORY
from tangram.wire.metax_listing import NODE_DEVICES, decode_listing
from tangram.wire.metax_topology import LOSSES, SCORES, decode_figures
from tangram.wire.node_facts import NodeFacts, read_facts
from tangram.wire.nodes import read_node

_REMEMBERED: Final = 4096
_USUAL_LENGTH: Final = 1024
"""Longer texts are no figures of a real node, and are not kept."""


class Source(StrEnum):
    """Where what is known of a node's topology comes from."""

    PUBLISHED = "published"
    COMPUTED = "computed"
    UNKNOWN = "unknown"


class Worth(NamedTuple):
    score: int
    """How well the best cards for the request are joined."""
    loss: int
    """What taking cards for it costs the rest, at the least."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    total: int
    """Units the node announces as usable."""
    free: int
    """At most so many of them are free; `total` where nobody says."""
    worth: Worth | None = None
    source: Source = Source.UNKNOWN


def standing_of(manifest: Mapping[str, object], count: int, use: NodeUse | None = None) -> Standing:
    """What a Node object offers to a request of `count` cards. Never raises.

    `use` is what pods bound there hold, where somebody follows them.
    """
    facts = read_facts(manifest)
    total = facts.counted(names.GPU).usable
    if facts.annotations.get(AGENT) == STOPPING:
        return Standing(total=total, free=0)
    scores, losses = _figures(facts, SCORES), _figures(facts, LOSSES)
    if scores is not None and losses is not None:
        if count in scores and count in losses:
            worth = Worth(scores[count], losses[count])
            return Standing(total=total, free=total, worth=worth, source=Source.PUBLISHED)
        if count > max(scores, default=0):
            free = max(scores, default=0) + _beyond_figures(manifest, facts, total)
            return Standing(total=total, free=min(total, free), source=Source.PUBLISHED)
    return _computed(manifest, facts, total, count, use)


def _figures(facts: NodeFacts, key: str) -> Mapping[int, int] | None:
    """Published figures by number of cards; None where there are none that can be read."""
    written = facts.annotations.get(key, "")
    if not written.strip():
        return None
    return _decoded(written, key) if len(written) <= _USUAL_LENGTH else _decode(written, key)


def _decode(written: str, key: str) -> Mapping[int, int] | None:
    try:
        return dict(decode_figures(written, key))
    except WireError:
        return None


_decoded = lru_cache(maxsize=_REMEMBERED)(_decode)


def _beyond_figures(manifest: Mapping[str, object], facts: NodeFacts, total: int) -> int:
    """Units that the figures do not speak of: figures are about whole cards, units may be virtual functions too."""
    if INVENTORY not in facts.annotations:
        return 0
    whole = [card for card in read_node(manifest).node.cards if _is_whole(card) and _works(card)]
    return max(0, total - len(whole))


def _computed(
    manifest: Mapping[str, object], facts: NodeFacts, total: int, count: int, use: NodeUse | None
) -> Standing:
    node = read_node(manifest).node
    layout = layout_of(node, DEFAULT_WEIGHTS)
    busy = _busy_by_list(facts, node) if NODE_DEVICES in facts.annotations else None
    unnamed = 0
    if busy is None and use is not None:
        offered = frozenset(
            card.uuid for card in node.cards if card.vendor is Vendor.METAX and card.offered_whole
        )
        busy, unnamed = use.cards, use.unnamed + len(use.whole - offered)
    if busy is None or layout is None or not layout.known:
        return Standing(total=total, free=total)
    working = [at for at, card in enumerate(node.cards) if _is_whole(card) and _works(card)]
    free = sum(1 << at for at in working if node.cards[at].uuid not in busy)
    free = _without_unnamed(layout, free, unnamed)
    most = min(total, free.bit_count() + max(0, total - len(working)))
    return Standing(total=total, free=most, worth=_worth(layout, free, count), source=Source.COMPUTED)


def _busy_by_list(facts: NodeFacts, node: Node) -> frozenset[CardUuid] | None:
    """Cards of which the plugin's list says that a pod has a part; None where it lacks a whole card.

    Our agent lists sliced cards alone; some plugins list every card.
    """
    try:
        listed, _ = decode_listing(facts.annotations[NODE_DEVICES])
    except WireError:
        return None
    if not {card.uuid for card in node.cards if _is_whole(card)} <= {each.uuid for each in listed.values()}:
        return None
    return frozenset(
        CardUuid(card.uuid) for card in listed.values() if card.available_dev_count < card.total_dev_count
    )


def _without_unnamed(layout: Layout, free: int, unnamed: int) -> int:
    """Take away the cards of pods that do not say which they hold: those they would have been given."""
    given = best_set(layout, free, min(unnamed, free.bit_count()))
    return free if given is None else free & ~given.mask


@lru_cache(maxsize=_REMEMBERED)
def _worth(layout: Layout, free: int, count: int) -> Worth | None:
    """As published: the best score and the least loss, each for itself."""
    best, mildest = best_score(layout, free, count), least_loss(layout, free, count)
    return None if best is None or mildest is None else Worth(best.score, mildest.loss)


def _is_whole(card: Card) -> bool:
    return card.vendor is Vendor.METAX and card.mode in (CardMode.WHOLE, CardMode.UNDECIDED)


def _works(card: Card) -> bool:
    return card.healthy and not card.cordoned
