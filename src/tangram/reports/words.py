"""Decisions in words: which cards, how much of each, and in one line why nothing fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tangram.engine.failing import Failing
from tangram.model.allocations import Allocation, Share
from tangram.model.cards import Vendor
from tangram.model.nodes import Node
from tangram.model.requests import AskKind
from tangram.model.verdicts import CardRule, NodeRule
from tangram.units.ids import CardUuid
from tangram.units.memory import rough_memory_text

MOST_REASONS: Final = 8

_NODE_REASONS = {
    NodeRule.UNSCHEDULABLE: "cordoned",
    NodeRule.SELECTOR: "the node selector does not match",
    NodeRule.AFFINITY: "the required node affinity does not match",
    NodeRule.TAINT: "a taint is not tolerated",
    NodeRule.HOST_CPU: "too little CPU",
    NodeRule.HOST_MEMORY: "too little host memory",
    NodeRule.HOST_PODS: "no room for another pod",
    NodeRule.HOST_COUNTED: "too little of Koordinator's resources is stated on the node",
    NodeRule.NO_SUCH_CARDS: "too few cards of the kind asked",
    NodeRule.CARDS: "too few cards fit",
    NodeRule.SCOPE: "enough cards fit, but not near enough to each other",
    NodeRule.CARD_PER_CONTAINER: "containers need different cards, and the plugin there reads one list for the pod",
}
_CARD_REASONS = {
    CardRule.MODE: "cards are offered in another way",
    CardRule.HEALTH: "cards are unhealthy",
    CardRule.CORDONED: "cards are cordoned",
    CardRule.APP_CLASS: "cards run pods of another class",
    CardRule.QOS: "cards run another QoS policy",
    CardRule.UUID: "cards are excluded by uuid",
    CardRule.PRODUCT: "cards are excluded by product",
    CardRule.SLOTS: "cards have no slot left",
    CardRule.MUTEX: "cards are in use",
    CardRule.MEMORY_TIER: "cards cannot make a slice of that size",
    CardRule.MEMORY: "cards have too little free memory",
    CardRule.CORES: "cards have too little free compute",
    CardRule.EXCLUSIVE: "cards are in use",
    CardRule.COMPUTE_TAKEN: "cards have no compute left",
}


def rule_word(rule: NodeRule | CardRule) -> str:
    """The rule as programs read it."""
    return rule.name.lower().replace("_", "-")


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 node", "2 nodes"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(words: Sequence[object]) -> str:
    """Words in a row: "5, 6 and 7"."""
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}" if texts else "none"


def card_numbers(allocation: Allocation) -> list[int]:
    """The numbers of all cards given, ascending."""
    return sorted({share.index for container in allocation.containers for share in container.shares})


def given(allocation: Allocation, node: Node) -> str:
    """What a pod gets on a node, container by container where several get cards."""
    holders = [container for container in allocation.containers if container.shares]
    vendors = {card.uuid: card.vendor for card in node.cards}
    if len(holders) == 1:
        return _shares(holders[0].shares, vendors)
    return "; ".join(f"{container.name}: {_shares(container.shares, vendors)}" for container in holders)


def _shares(shares: Sequence[Share], vendors: Mapping[CardUuid, Vendor]) -> str:
    numbers = sorted({share.index for share in shares})
    cards = f"{'card' if len(numbers) == 1 else 'cards'} {listed(numbers)}"
    amounts = list(dict.fromkeys(_amount(share, vendors.get(share.card)) for share in shares))
    each = "each " if len(numbers) > 1 and len(amounts) == 1 else ""
    return f"{cards} ({each}{' or '.join(amounts)})"


def _amount(share: Share, vendor: Vendor | None) -> str:
    memory = rough_memory_text(share.memory)
    if share.kind is AskKind.WHOLE:
        return f"whole, {memory}"
    if share.cores == 0:
        return f"{memory}, no compute reserved"
    return (
        f"{memory}, {share.cores}/16 compute"
        if vendor is Vendor.MTHREADS
        else f"{memory}, {share.cores}% compute"
    )


def reason_words(rule: NodeRule, most: CardRule | None) -> str:
    """Why a node does not fit, without amounts: what most of its cards stumble over, or the node itself."""
    of_cards = _CARD_REASONS.get(most) if rule is NodeRule.CARDS and most is not None else None
    return of_cards or _NODE_REASONS[rule]


def reason_code(rule: NodeRule, most: CardRule | None) -> str:
    """The same as one word for programs: the card rule where cards are to blame, else the node's."""
    blamed = most if rule is NodeRule.CARDS and most in _CARD_REASONS else None
    return rule_word(rule if blamed is None else blamed)


class WhyNot(NamedTuple):
    sentence: str
    nodes: int
    code: str


def why_not(failing: Iterable[Failing]) -> list[tuple[str, int]]:
    """The reasons why nodes do not fit, each with the number of its nodes, most frequent first."""
    return [(each.sentence, each.nodes) for each in coded_reasons(failing)]


def coded_reasons(failing: Iterable[Failing]) -> list[WhyNot]:
    """The same with their words. Two rules told in the same sentence are one reason, under the word of most nodes."""
    counted: Counter[str] = Counter()
    codes: dict[str, Counter[str]] = {}
    for group in failing:
        sentence = reason_words(group.rule, group.most)
        counted[sentence] += group.at.size
        codes.setdefault(sentence, Counter())[reason_code(group.rule, group.most)] += group.at.size
    return [
        WhyNot(sentence, nodes, codes[sentence].most_common(1)[0][0])
        for sentence, nodes in counted.most_common()
    ]


def nothing_fits(reasons: Sequence[tuple[str, int]]) -> str:
    """That no node does, and why: the end of a sentence that begins with whom it concerns."""
    total = sum(nodes for _, nodes in reasons)
    if not total:
        return "there is no node to look at"
    if total == 1:
        return f"the only node does not fit: {reasons[0][0]}"
    told = [f"{plural(nodes, 'node')}: {reason}" for reason, nodes in reasons[:MOST_REASONS]]
    rest = sum(nodes for _, nodes in reasons[MOST_REASONS:])
    if rest:
        told.append(f"{plural(rest, 'node')}: other reasons")
    return f"none of {plural(total, 'node')} fits ({'; '.join(told)})"
