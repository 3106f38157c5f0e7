"""Verdicts in the reason words that HAMi's users search for.

Dashboards and habits depend on the words, so where HAMi has one it is used, even where it has two for one thing. The
words it lacks are ours and are built the same way. `engine.wording` says the same in sentences.
"""

from __future__ import annotations

from tangram.model.cards import Vendor
from tangram.model.requests import AskKind
from tangram.model.verdicts import CardRule, NodeRule

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
    NodeRule.CARD_PER_CONTAINER: "NodeOneCardListPerPod",
}


def card_word(rule: CardRule, vendor: Vendor, kind: AskKind) -> str:
    """The word for a card's failed rule; empty for a card that is not there."""
    if rule is CardRule.HEALTH and vendor is Vendor.METAX and kind is AskKind.SLICE:
        return "CardUnhealthy"
    return _CARD_WORDS.get(rule, "")


def node_word(rule: NodeRule) -> str:
    """The word for a node's failed rule."""
    return _NODE_WORDS[rule]
