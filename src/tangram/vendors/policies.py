"""How a pod wants its node and cards chosen, from the annotations every vendor's users share.

HAMi falls back to some default when it does not know a word, and a person who wrote `bin-pack` gets `spread` without
ever hearing of it. Here each unknown, repeated or unreadable word is refused with the list of those that exist.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from typing import TypeVar

import msgspec

from tangram.model.pods import Pod, ScopeWish
from tangram.model.refusals import Refusal
from tangram.model.requests import CardOrder, CardWeights, NodePolicy
from tangram.model.topology import TopologyScope
from tangram.units.refusal import quoted
from tangram.vendors.booleans import go_boolean
from tangram.vendors.codes import Code
from tangram.vendors.names import CARD_POLICY, CARD_WEIGHTS, NODE_POLICY, NUMA_BIND, REQUIRED_SCOPE
from tangram.vendors.wording import annotated, either, sentence

_NODE_POLICIES = (NodePolicy.BINPACK, NodePolicy.SPREAD, NodePolicy.FRAG)
"""Not every policy the engine knows: some only serve to measure the others."""
_WEIGHT_KEYS = ("slot", "core", "memory")
_WEIGHT = re.compile(r"\+?[0-9]{1,18}")
_LARGEST_WEIGHT = 2**31 - 1

_MET_WITHIN = {
    TopologyScope.LINK: frozenset({TopologyScope.LINK, TopologyScope.NODE}),
    TopologyScope.PCIE: frozenset({TopologyScope.PCIE, TopologyScope.NUMA, TopologyScope.NODE}),
    TopologyScope.NUMA: frozenset({TopologyScope.NUMA, TopologyScope.NODE}),
    TopologyScope.NODE: frozenset({TopologyScope.NODE}),
}
"""Per scope, the scopes in which cards that lie within it lie too. Links cross NUMA nodes and PCIe switches."""

_Word = TypeVar("_Word", bound=StrEnum)


class Policies(msgspec.Struct, frozen=True, kw_only=True):
    """What the annotations ask for; where they say nothing, what the cluster does by default."""

    node_policy: NodePolicy | None = None
    card_order: tuple[CardOrder, ...] = ()
    weights: CardWeights = CardWeights()
    numa_first: bool = False
    required_scope: TopologyScope | None = None
    refusals: tuple[Refusal, ...] = ()


def read_policies(pod: Pod) -> Policies:
    """Everything at once, so that a person hears of every fault in one answer."""
    node_policy = read_word(pod.annotations, NODE_POLICY, _NODE_POLICIES, Code.NODE_POLICY_UNKNOWN)
    card_order = _card_order(pod.annotations)
    weights = _weights(pod.annotations)
    numa_first = go_boolean(pod.annotations, NUMA_BIND)
    scope = _required_scope(pod)
    if (
        isinstance(node_policy, Refusal)
        or isinstance(card_order, Refusal)
        or isinstance(weights, Refusal)
        or isinstance(numa_first, Refusal)
        or isinstance(scope, Refusal)
    ):
        found = (node_policy, card_order, weights, numa_first, scope)
        return Policies(refusals=tuple(finding for finding in found if isinstance(finding, Refusal)))
    return Policies(
        node_policy=node_policy,
        card_order=card_order,
        weights=weights,
        numa_first=bool(numa_first) or pod.hints.numa_first,
        required_scope=scope,
    )


def read_word(
    annotations: Mapping[str, str], key: str, words: Iterable[_Word], code: Code, *, peer: str = ""
) -> _Word | Refusal | None:
    """The annotation as one of a closed set of words, letter for letter; `None` when it is not there."""
    text = annotations.get(key)
    if text is None:
        return None
    offered = tuple(words)
    if text not in offered:
        legal = f"it is {either(offered)}, spelled exactly so"
        return Refusal(
            code, sentence(annotated(key, text), legal, "write one of these, or remove it", peer=peer)
        )
    return offered[offered.index(text)]


def _card_order(annotations: Mapping[str, str]) -> tuple[CardOrder, ...] | Refusal:
    text = annotations.get(CARD_POLICY, "")
    if not text.strip():
        return ()
    words = [word.strip() for word in text.split(",")]
    unknown = [word for word in words if word not in tuple(CardOrder)]
    if unknown:
        return Refusal(
            Code.CARD_POLICY_UNKNOWN,
            sentence(
                f"{annotated(CARD_POLICY, text)}, with {either(quoted(word) for word in unknown)}",
                f"it is {either(CardOrder)}, or a comma list of them",
                "write only these words, or remove it",
            ),
        )
    if len(set(words)) < len(words):
        return Refusal(
            Code.CARD_POLICY_REPEATED,
            sentence(
                annotated(CARD_POLICY, text),
                "each word counts once, at its first place",
                f"write {','.join(dict.fromkeys(words))}",
            ),
        )
    return tuple(CardOrder(word) for word in words)


def _weights(annotations: Mapping[str, str]) -> CardWeights | Refusal:
    text = annotations.get(CARD_WEIGHTS)
    if text is None:
        return CardWeights()
    pairs = [tuple(part.strip() for part in pair.split("=")) for pair in text.split(",")]
    given = {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and _WEIGHT.fullmatch(pair[1])}
    numbers = {key: int(number) for key, number in given.items()}
    complete = len(pairs) == len(_WEIGHT_KEYS) and sorted(numbers) == sorted(_WEIGHT_KEYS)
    if not complete or not any(numbers.values()) or max(numbers.values()) > _LARGEST_WEIGHT:
        return Refusal(
            Code.WEIGHTS_MALFORMED,
            sentence(
                annotated(CARD_WEIGHTS, text),
                f"it names slot, core and memory once each, with whole numbers from 0 to {_LARGEST_WEIGHT},"
                " not all 0",
                "write for example slot=1,core=1,memory=2, or remove it",
            ),
        )
    return CardWeights(numbers["slot"], numbers["core"], numbers["memory"])


def _required_scope(pod: Pod) -> TopologyScope | Refusal | None:
    """The one scope within which the cards are within every scope that was asked for."""
    ours = read_word(pod.annotations, REQUIRED_SCOPE, TopologyScope, Code.SCOPE_UNKNOWN)
    if isinstance(ours, Refusal):
        return ours
    own = () if ours is None else (ScopeWish(annotated(REQUIRED_SCOPE, ours.value), ours),)
    wishes = (*own, *pod.hints.scopes)
    for wish in wishes:
        if all(other.scope in _MET_WITHIN[wish.scope] for other in wishes):
            return wish.scope
    if not wishes:
        return None
    first, second = next(
        (one, other)
        for one, other in combinations(wishes, 2)
        if other.scope not in _MET_WITHIN[one.scope] and one.scope not in _MET_WITHIN[other.scope]
    )
    return Refusal(
        Code.SCOPE_CONFLICT,
        sentence(
            f"{first.said}, which means {quoted(first.scope.value)}, while {second.said},"
            f" which means {quoted(second.scope.value)}",
            "a pod has one scope, and neither of these lies within the other",
            "remove one of the two, or make them agree",
        ),
    )
