"""Verdicts in the reason words that HAMi's users search for.

Dashboards and habits depend on the words, so where HAMi has one it is used, even where it has two for one thing. The
words it lacks are ours and are built the same way. `engine.wording` says the same in sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tangram.model.cards import Vendor
from tangram.model.requests import AskKind
from tangram.model.verdicts import CardRule, NodeRule, NodeVerdict

_CARD_WORDS = {
    CardRule.VENDOR: "CardTypeMismatch",
    CardRule.MODE: "CardModeMismatch",
    CardRule.HEALTH: "CardNotHealth",
    CardRule.CORDONED: "CardCordoned",
    CardRule.APP_CLASS: "CardAppClassMismatch",
    CardRule.QOS: "CardQosPolicyMismatch",
    CardRule.UUID: "CardUuidMismatch",
    CardRule.PRODUCT: "CardTypeMismatch",
    CardRule.SLOTS: "CardTimeSlicingExhausted",
    CardRule.MUTEX: "ExclusiveDeviceAllocateConflict",
    CardRule.MEMORY_TIER: "CardMemoryTierMismatch",
    CardRule.MEMORY: "CardInsufficientMemory",
    CardRule.CORES: "CardInsufficientCore",
    CardRule.EXCLUSIVE: "ExclusiveDeviceAllocateConflict",
    CardRule.COMPUTE_TAKEN: "CardComputeUnitsExhausted",
    CardRule.OTHER_CARD: "CardNotFoundCustomFilterRule",
    # Cards that pass on a node that fails: there are too few of them.
    CardRule.FITS: "AllocatedCardsInsufficientRequest",
}
_NODE_WORDS = {
    NodeRule.FITS: "NodeFitPod",
    NodeRule.UNSCHEDULABLE: "NodeUnschedulable",
    NodeRule.SELECTOR: "NodeSelectorMismatch",
    NodeRule.AFFINITY: "NodeAffinityMismatch",
    NodeRule.TAINT: "NodeTaintNotTolerated",
    NodeRule.HOST_CPU: "NodeInsufficientCpu",
    NodeRule.HOST_MEMORY: "NodeInsufficientMemory",
    NodeRule.HOST_PODS: "NodeTooManyPods",
    NodeRule.HOST_COUNTED: "NodeInsufficientKoordinatorAmount",
    NodeRule.NO_SUCH_CARDS: "NodeInsufficientDevice",
    NodeRule.CARDS: "NodeUnfitPod",
    NodeRule.SCOPE: "NodeTopologyScopeMismatch",
}
_NOT_OF_THE_NODE = (CardRule.ABSENT, CardRule.VENDOR)


def card_word(rule: CardRule, vendor: Vendor, kind: AskKind) -> str:
    """The word for a card's failed rule; empty for a card that is not there."""
    if rule is CardRule.HEALTH and vendor is Vendor.METAX and kind is AskKind.SLICE:
        return "CardUnhealthy"
    return _CARD_WORDS.get(rule, "")


def node_word(rule: NodeRule) -> str:
    """The word for a node's failed rule."""
    return _NODE_WORDS[rule]


def words_of(verdict: NodeVerdict, vendor: Vendor, kind: AskKind) -> Mapping[str, int]:
    """How many cards failed for each word; 0 for a word that is about the node itself."""
    if verdict.rule is not NodeRule.CARDS:
        return {node_word(verdict.rule): 0}
    words = Counter(
        card_word(card.rule, vendor, kind) for card in verdict.cards if card.rule not in _NOT_OF_THE_NODE
    )
    return words or {node_word(NodeRule.NO_SUCH_CARDS): 0}


def node_text(verdict: NodeVerdict, vendor: Vendor, kind: AskKind) -> str:
    """Why a node fails: `3/8 CardInsufficientMemory, 5/8 CardTimeSlicingExhausted`, out of the vendor's cards there."""
    words = words_of(verdict, vendor, kind)
    cards = sum(words.values())
    return ", ".join(sorted(f"{count}/{cards} {word}" if count else word for word, count in words.items()))
