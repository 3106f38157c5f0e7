"""What kube-scheduler, the pod's events and its condition are told when no node fits.

kube-scheduler joins every distinct reason into one message on the pod, and tries a pod again whose message keeps
changing. So the reasons here are few, and have neither amounts nor names in them: the same trouble is told in the same
words until the trouble is another. Amounts and cards are `answering`'s part, for whoever asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from tangram.engine.failing import Failing, failing_nodes
from tangram.engine.filter import EVERY_NODE, Candidates
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.requests import Request
from tangram.model.verdicts import CardRule, NodeRule
from tangram.reports.words import nothing_fits, reason_words, why_not
from tangram.units.ids import NodeName
from tangram.wire.events import OTHER_REASONS, failures_by_word, kept_texts
from tangram.wire.reasons import card_word, node_word

UNREGISTERED: Final = "node unregistered"
"""HAMi's words for a node that nobody has described."""
_UNREGISTERED_TEXT: Final = f"{UNREGISTERED} (it announces no cards; see that gpu-device runs there)"
_UNREGISTERED_REASON: Final = "the node announces no cards"


class Failure(NamedTuple):
    """Why a pod fits nowhere, in every form in which somebody is told."""

    reasons: dict[NodeName, str]
    """Where pods are in the way, and evicting some could help."""
    unresolvable: dict[NodeName, str]
    """Where not even an idle node would do. Of both together at most eight texts are distinct."""
    words: dict[str, int]
    """HAMi's reason words, each with the number of nodes where it was met, most frequent first."""
    texts: tuple[str, ...]
    """Of HAMi's `FilteringFailed` events."""
    sentence: str
    """All of it in one; it begins with a small letter and has no full stop."""

    @property
    def word(self) -> str:
        """The word met on most nodes, for counting why pods wait."""
        return next(iter(self.words), node_word(NodeRule.NO_SUCH_CARDS))


class _Kind(NamedTuple):
    """Nodes that are told the same."""

    text: str
    words: tuple[str, ...]
    hopeless: bool
    nodes: Sequence[NodeName]


def failure_of(
    ledger: Ledger, request: Request, defaults: Defaults, candidates: Candidates = EVERY_NODE
) -> Failure:
    """Why the pod fits on none of the candidates. Looks at all of them again, but at no card by itself."""
    view, failing = failing_nodes(ledger, request, defaults, candidates)
    kinds = [
        _Kind(
            f"{main_word(group)} ({reason_words(group.rule, group.most)})",
            words_of_group(group),
            group.hopeless,
            [ledger.node_at(row).name for row in view.rows[group.at].tolist()],
        )
        for group in failing
    ]
    reasons = why_not(failing)
    unknown = [name for name in candidates.names or () if ledger.row_of(name) is None]
    if unknown:
        kinds.append(_Kind(_UNREGISTERED_TEXT, (UNREGISTERED,), hopeless=True, nodes=unknown))
        reasons = sorted(
            [*reasons, (_UNREGISTERED_REASON, len(unknown))], key=lambda each: (-each[1], each[0])
        )
    times: Counter[str] = Counter()
    met: dict[str, list[NodeName]] = {}
    for kind in kinds:
        times[kind.text] += len(kind.nodes)
        for word in kind.words:
            met.setdefault(word, []).extend(kind.nodes)
    kept = kept_texts(times)
    told: tuple[dict[NodeName, str], dict[NodeName, str]] = ({}, {})
    for kind in kinds:
        told[kind.hopeless].update(
            dict.fromkeys(kind.nodes, kind.text if kind.text in kept else OTHER_REASONS)
        )
    return Failure(
        reasons=told[False],
        unresolvable=told[True],
        words={word: len(met[word]) for word in sorted(met, key=lambda word: (-len(met[word]), word))},
        texts=failures_by_word(met, len(told[False]) + len(told[True])),
        sentence=nothing_fits(reasons),
    )


def words_of_group(group: Failing) -> tuple[str, ...]:
    """HAMi's words for all that was met on such a node."""
    if group.rule is not NodeRule.CARDS or group.ask is None:
        return (node_word(group.rule),)
    vendor, kind = group.ask.vendor, group.ask.kind
    words = [card_word(rule, vendor, kind) for rule in group.cards if rule is not CardRule.VENDOR]
    return tuple(dict.fromkeys(words)) or (node_word(NodeRule.NO_SUCH_CARDS),)


def main_word(group: Failing) -> str:
    """The one word that says most about such a node."""
    if group.rule is NodeRule.CARDS and group.ask is not None and group.most is not None:
        return card_word(group.most, group.ask.vendor, group.ask.kind)
    return words_of_group(group)[0]
