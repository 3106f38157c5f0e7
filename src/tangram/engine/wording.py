"""Verdicts in words a person can act on: what was needed, what was there, and the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tangram.model.verdicts import CardRule, CardVerdict, NodeRule, NodeVerdict
from tangram.units.memory import Bytes, rough_memory_text


def card_sentence(verdict: CardVerdict) -> str:
    """Why this card cannot serve, in a few words."""
    return _CARD_SENTENCES[verdict.rule](verdict)


def node_sentence(verdict: NodeVerdict) -> str:
    """Why this node cannot serve; the cards' reasons are counted, most frequent first."""
    match verdict.rule:
        case NodeRule.FITS:
            return "fits"
        case NodeRule.UNSCHEDULABLE | NodeRule.SELECTOR | NodeRule.AFFINITY | NodeRule.TAINT:
            return verdict.detail
        case NodeRule.HOST_COUNTED:
            return verdict.detail
        case NodeRule.HOST_CPU:
            return f"{verdict.have / 1000:g} CPU free of {verdict.need / 1000:g} needed"
        case NodeRule.HOST_MEMORY:
            return f"{_memory(verdict.have)} host memory free of {_memory(verdict.need)} needed"
        case NodeRule.HOST_PODS:
            return "its kubelet takes no more pods"
        case NodeRule.NO_SUCH_CARDS:
            return f"has {_cards(verdict.have)} of the kind asked, {verdict.need} needed"
        case NodeRule.CARD_PER_CONTAINER:
            return (
                "containers of the pod need different cards, and the plugin of this node reads one list of cards for "
                "the whole pod; Tangram's agent serves each container"
            )
        case NodeRule.SCOPE:
            return f"{_cards(verdict.have)} fit, but no {verdict.need} within one {verdict.detail}"
        case NodeRule.CARDS:
            reasons = Counter(card_sentence(card) for card in verdict.cards if card.rule is not CardRule.FITS)
            worst = "; ".join(f"{reason} ({_cards(times)})" for reason, times in reasons.most_common(3))
            return f"{verdict.have} of {verdict.need} needed" + (f": {worst}" if worst else "")


def _memory(amount: int) -> str:
    return rough_memory_text(Bytes(amount))


def _cards(count: int) -> str:
    return f"{count} card" if count == 1 else f"{count} cards"


def _pods(count: int) -> str:
    return f"{count} pod" if count == 1 else f"{count} pods"


def _short_of_memory(verdict: CardVerdict) -> str:
    """What is short, and of a sliced card what it can slice: less than its memory, so that the sum of two requests that
    should fill it may not fit. Where the request exceeds even an idle card, what is free does not matter.
    """
    need, sliceable = _memory(verdict.need), _memory(verdict.sliceable)
    if verdict.need > verdict.sliceable > 0:
        return f"{sliceable} can be sliced on this card, {need} needed"
    free, short = _memory(max(verdict.have, 0)), _memory(verdict.need - verdict.have)
    if verdict.sliceable:
        return f"{free} free of the {sliceable} that can be sliced, {need} needed, {short} short"
    return f"{free} free of {need} needed, {short} short"


_CARD_SENTENCES: dict[CardRule, Callable[[CardVerdict], str]] = {
    CardRule.FITS: lambda _: "fits",
    CardRule.ABSENT: lambda _: "not there",
    CardRule.VENDOR: lambda verdict: f"made by {verdict.detail}",
    CardRule.MODE: lambda verdict: f"offered as {verdict.detail}",
    CardRule.HEALTH: lambda verdict: f"unhealthy: {verdict.detail}" if verdict.detail else "unhealthy",
    CardRule.CORDONED: lambda _: "cordoned",
    CardRule.APP_CLASS: lambda verdict: f"runs {verdict.detail} pods",
    CardRule.QOS: lambda verdict: f"runs policy {verdict.detail}",
    CardRule.UUID: lambda _: "excluded by the uuid lists",
    CardRule.PRODUCT: lambda verdict: f"excluded by the type lists ({verdict.detail or 'unknown product'})",
    CardRule.SLOTS: lambda _: "no slot left",
    CardRule.MUTEX: lambda verdict: f"in use by {_pods(verdict.have)}, the pod asks for an unused card",
    CardRule.MEMORY_TIER: lambda verdict: (
        f"cannot make a slice of {_memory(verdict.need)} (nearest below: {_memory(verdict.have)})"
    ),
    CardRule.MEMORY: _short_of_memory,
    CardRule.CORES: lambda verdict: (
        f"{max(verdict.have, 0)} compute free of {verdict.need} needed, {verdict.need - verdict.have} short"
    ),
    CardRule.EXCLUSIVE: lambda verdict: f"in use by {_pods(verdict.have)}, the whole card is asked",
    CardRule.COMPUTE_TAKEN: lambda _: "all compute is taken",
    CardRule.OTHER_CARD: lambda _: "out of reach of the pod's other cards",
}
