"""Event texts and extender answers, in HAMi's wording and of bounded length.

HAMi lists every node of the cluster in one event, hundreds of kilobytes at a few thousand nodes, and leaves out the
nodes that simply have too few cards. Here every failing node is counted, a few are named, and the rest is a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def filtering_succeeded(
    chosen: NodeName, best: Sequence[tuple[NodeName, float]], fitting: int, not_fitting: int
) -> str:
    """Nodes that fit with their scores, best last as HAMi sorts them; `best` has the best of them first."""
    named = [f"{node}:{score:.2f}" for node, score in reversed(best[:MOST_NAMES])]
    listed = _bounded(named, fitting)
    return f"find fit node({chosen}), {not_fitting} nodes not fit, {fitting} nodes fit({listed})"


def failures_by_word(by_word: Mapping[str, Sequence[NodeName]], nodes: int) -> tuple[str, ...]:
    """One text per reason word with the nodes that met it, most frequent first, and one that counts all `nodes`."""
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


def kept_texts(times: Mapping[str, int]) -> frozenset[str]:
    """The reasons that stay distinct, given how many nodes have each; the others become `OTHER_REASONS`.

    kube-scheduler joins all distinct reasons into one condition message, so there are at most `MOST_REASONS`.
    """
    if len(times) <= MOST_REASONS:
        return frozenset(times)
    frequent = sorted(times, key=lambda text: (-times[text], text))
    return frozenset(frequent[: MOST_REASONS - 1])


def _bounded(named: Sequence[str], total: int) -> str:
    more = total - len(named)
    return ",".join(named) + (f" and {more} more" if more > 0 else "")
