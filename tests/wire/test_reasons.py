import pytest

from tangram.model.cards import Vendor
from tangram.model.requests import AskKind
from tangram.model.verdicts import CardRule, CardVerdict, NodeRule, NodeVerdict
from tangram.units.ids import CardUuid, NodeName
from tangram.wire.reasons import card_word, node_text, node_word

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
    "NodeSelectorMismatch",
    "NodeTaintNotTolerated",
    "NodeTooManyPods",
    "NodeTopologyScopeMismatch",
    "NodeUnschedulable",
}


def verdict(*rules: CardRule, rule: NodeRule = NodeRule.CARDS) -> NodeVerdict:
    cards = tuple(CardVerdict(CardUuid(f"GPU-{at}"), at, each) for at, each in enumerate(rules))
    return NodeVerdict(node=NodeName("n1"), rule=rule, cards=cards)


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


def test_the_documented_text_is_reproduced() -> None:
    text = node_text(verdict(*[CardRule.SLOTS] * 5, *[CardRule.MEMORY] * 3), *METAX_SLICE)
    assert text == "3/8 CardInsufficientMemory, 5/8 CardTimeSlicingExhausted"


def test_reasons_are_sorted_as_strings() -> None:
    text = node_text(verdict(*[CardRule.MEMORY] * 10, *[CardRule.SLOTS] * 2), *METAX_SLICE)
    assert text == "10/12 CardInsufficientMemory, 2/12 CardTimeSlicingExhausted"


def test_cards_that_pass_on_a_failing_node_are_counted_as_too_few() -> None:
    text = node_text(verdict(CardRule.FITS, CardRule.MEMORY), *METAX_SLICE)
    assert text == "1/2 AllocatedCardsInsufficientRequest, 1/2 CardInsufficientMemory"


def test_two_rules_with_one_word_are_counted_together() -> None:
    text = node_text(verdict(CardRule.MUTEX, CardRule.EXCLUSIVE), *METAX_SLICE)
    assert text == "2/2 ExclusiveDeviceAllocateConflict"


def test_cards_of_other_vendors_are_not_counted() -> None:
    assert (
        node_text(verdict(CardRule.VENDOR, CardRule.ABSENT, CardRule.CORES), *METAX_SLICE)
        == "1/1 CardInsufficientCore"
    )
    assert node_text(verdict(CardRule.VENDOR), *METAX_SLICE) == "NodeInsufficientDevice"


def test_reasons_about_the_node_carry_no_counts() -> None:
    assert node_text(verdict(CardRule.FITS, rule=NodeRule.SCOPE), *METAX_SLICE) == "NodeTopologyScopeMismatch"
    assert node_text(verdict(rule=NodeRule.NO_SUCH_CARDS), *METAX_SLICE) == "NodeInsufficientDevice"
