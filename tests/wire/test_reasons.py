import pytest

from tangram.model.cards import Vendor
from tangram.model.requests import AskKind
from tangram.model.verdicts import CardRule, NodeRule
from tangram.wire.reasons import card_word, node_word

METAX_SLICE = (Vendor.METAX, AskKind.SLICE)

HAMI_WORDS = {
    "CardTypeMismatch",
    "CardUuidMismatch",
    "CardTimeSlicingExhausted",
    "CardComputeUnitsExhausted",
    "CardInsufficientMemory",
    "CardInsufficientCore",
    "CardNotHealth",
    "CardCordoned",
    "NumaNotFit",
    "ExclusiveDeviceAllocateConflict",
    "CardNotFoundCustomFilterRule",
    "CardMigTopologyInfeasible",
    "NodeInsufficientDevice",
    "AllocatedCardsInsufficientRequest",
    "NodeUnfitPod",
    "NodeFitPod",
    "ResourceQuotaNotFit",
    "ModeNotFit",
    "CardUnhealthy",
    "CardQosPolicyMismatch",
    "CardAppClassMismatch",
}
OUR_WORDS = {
    "CardMemoryTierMismatch",
    "CardModeMismatch",
    "NodeAffinityMismatch",
    "NodeInsufficientCpu",
    "NodeInsufficientKoordinatorAmount",
    "NodeInsufficientMemory",
    "NodeOneCardListPerPod",
    "NodeSelectorMismatch",
    "NodeTaintNotTolerated",
    "NodeTooManyPods",
    "NodeTopologyScopeMismatch",
    "NodeUnschedulable",
}


def test_every_rule_has_a_word_of_hami_or_one_of_ours() -> None:
    words = {card_word(rule, *METAX_SLICE) for rule in CardRule if rule is not CardRule.ABSENT}
    words |= {node_word(rule) for rule in NodeRule}
    assert words - HAMI_WORDS == OUR_WORDS


@pytest.mark.parametrize(
    ("vendor", "kind", "word"),
    [
        (Vendor.METAX, AskKind.SLICE, "CardUnhealthy"),
        (Vendor.METAX, AskKind.WHOLE, "CardNotHealth"),
        (Vendor.MTHREADS, AskKind.SLICE, "CardNotHealth"),
    ],
)
def test_hami_has_two_words_for_a_sick_card(vendor: Vendor, kind: AskKind, word: str) -> None:
    assert card_word(CardRule.HEALTH, vendor, kind) == word
