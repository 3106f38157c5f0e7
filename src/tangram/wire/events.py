"""Event texts and extender answers, in HAMi's wording and of bounded length.

HAMi lists every node of the cluster in one event, hundreds of kilobytes at a few thousand nodes, and leaves out the
nodes that simply have too few cards. Here every failing node is counted, a few are named, and the rest is a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Final

from tangram.model.pods import PodRef
from tangram.units.ids import NodeName

FILTERING_SUCCEED: Final = "FilteringSucceed"
FILTERING_FAILED: Final = "FilteringFailed"
BINDING_SUCCEED: Final = "BindingSucceed"
BINDING_FAILED: Final = "BindingFailed"

MOST_REASONS = 8
MOST_NAMES = 10
OTHER_REASONS: Final = "other reasons"


def filtering_succeeded(chosen: NodeName, fitting: Sequence[tuple[NodeName, float]], not_fitting: int) -> str:
    """`fitting` has the score of every node that would do, the best last as HAMi sorts them."""
    # The best ones are the interesting ones, so what is left out is left out at the front.
    named = [f"{node}:{score:.2f}" for node, score in fitting[-MOST_NAMES:]]
    listed = _bounded(named, len(fitting))
    return f"find fit node({chosen}), {not_fitting} nodes not fit, {len(fitting)} nodes fit({listed})"


def filtering_failed(words: Mapping[NodeName, Iterable[str]]) -> tuple[str, ...]:
    """One text per reason word, most frequent first, and one that counts the nodes."""
    by_word: dict[str, list[NodeName]] = {}
    for node, of_node in words.items():
        for word in dict.fromkeys(of_node):
            by_word.setdefault(word, []).append(node)
    return failures_by_word(by_word, len(words))


def failures_by_word(by_word: Mapping[str, Sequence[NodeName]], nodes: int) -> tuple[str, ...]:
    """The same for nodes that are sorted by word already; `nodes` is how many failed in all."""
    ordered = sorted(by_word.items(), key=lambda each: (-len(each[1]), each[0]))
    texts = [
        f"{len(met)} nodes {word}({_bounded(nsmallest(MOST_NAMES, met), len(met))})"
        for word, met in ordered[:MOST_REASONS]
    ]
    return (*texts, f"no available node, {nodes} nodes do not meet")


def binding_succeeded(pod: PodRef, node: NodeName) -> str:
    """What HAMi says of a pod it has bound."""
    return f"Successfully binding node [{node}] to {pod}"


def node_missing(node: NodeName) -> str:
    """What HAMi says when the node of a bind is not there."""
    return f"failed to get node {node}"


def failed_nodes(texts: Mapping[NodeName, str]) -> dict[NodeName, str]:
    """A reason for every failing node with at most `MOST_REASONS` distinct ones.

    kube-scheduler joins all distinct reasons into one condition message, so the rarest are given a common one.
    """
    kept = kept_texts(Counter(texts.values()))
    return {node: text if text in kept else OTHER_REASONS for node, text in texts.items()}


def kept_texts(times: Mapping[str, int]) -> frozenset[str]:
    """Those of the reasons that are told apart, given how many nodes have each."""
    if len(times) <= MOST_REASONS:
        return frozenset(times)
    frequent = sorted(times, key=lambda text: (-times[text], text))
    return frozenset(frequent[: MOST_REASONS - 1])


def _bounded(named: Sequence[str], total: int) -> str:
    more = total - len(named)
    return ",".join(named) + (f" and {more} more" if more > 0 else "")
