"""How kube-scheduler tells why a pod waits, word for word: people and programs look for these texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tangram.sandbox.placing.rules import NODE_AFFINITY, No

NO_NODES = "no nodes available to schedule pods"
CONFLICT = "pod affinity terms conflict"
AFTER_CONFLICT = "not found"
"""Where the original stumbles: it looks for claims that it did not count, as the conflict ended the look too early."""
NOT_NAMED = No((f"node(s) didn't satisfy plugin(s) [{NODE_AFFINITY}]",), resolvable=False, rule=NODE_AFFINITY)
"""Of nodes that were not looked at, because the pod's affinity names others."""
NOT_HELPFUL = No(("Preemption is not helpful for scheduling",), resolvable=False)
SILENT = No((), resolvable=False)
"""Of nodes that nobody gave a reason for."""


def no_fit(
    nodes: int, noes: Mapping[str, No], others: No = SILENT, *, before: str = "", after: str = ""
) -> str:
    """Every reason with the number of nodes it keeps the pod from.

    `others` is said of nodes that `noes` does not name, `before` of all of them at once, instead of their reasons;
    `after` is what came of preemption.
    """
    sentence = f"0/{nodes} nodes are available:"
    if before:
        sentence += f" {before}."
    else:
        counted = Counter(reason for no in noes.values() for reason in no.reasons)
        for reason in others.reasons if len(noes) < nodes else ():
            counted[reason] += nodes - len(noes)
        told = ", ".join(sorted(f"{count} {reason}" for reason, count in counted.items()))
        sentence += f" {told}." if told else ""
    return f"{sentence} {after}" if after else sentence


def no_preemption(why: str, *, failed: bool = False) -> str:
    """Nobody is evicted, because it would not help or, `failed`, because something went wrong on the way.

    The claims are those of dynamic resources, which the original looks at first and which nobody has here.
    """
    return f"preemption: {why}" if failed else f"no new claims to deallocate, preemption: {why}"


def no_victims_on(nodes: Iterable[str]) -> str:
    """Of nodes where the pod would fit as they are, so that somebody else has refused them."""
    told = [f'expected at least one victim pod on node "{node}"' for node in dict.fromkeys(nodes)]
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]"


def assigned(namespace: str, name: str, node: str) -> str:
    """Of a pod that is bound."""
    return f"Successfully assigned {namespace}/{name} to {node}"


def deleting(namespace: str, name: str) -> str:
    """Of a pod that ended before it was placed."""
    return f"skip schedule deleting pod: {namespace}/{name}"


def preempted(by: str, node: str) -> str:
    """Of a victim, in its event; `by` is a uid."""
    return f"Preempted by pod {by} on node {node}"


def making_room(scheduler: str) -> str:
    """Of a victim, in its condition."""
    return f"{scheduler}: preempting to accommodate a higher priority pod"
