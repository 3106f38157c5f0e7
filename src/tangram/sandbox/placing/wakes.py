"""Which news could help a pod that was found to fit nowhere, by the rule that said so.

A pod that waits for memory has nothing to hope from a new label, and trying it again would only cost the others time.
An extender says nothing about what could help, so after its refusal everything might, even news of the pod itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Final, NamedTuple

from tangram.sandbox.placing.hosts import Host, NodeFacts
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.rules import (
    EXTENDER,
    FIT,
    NODE_AFFINITY,
    POD_AFFINITY,
    PORTS,
    SPREADING,
    TAINTS,
    UNSCHEDULABLE,
    Judge,
)
from tangram.wire.label_selectors import Selector


class What(Enum):
    NODE = auto()
    """A node came or changed, in something other than its heartbeat."""
    NODE_GONE = auto()
    POD_BOUND = auto()
    POD_CHANGED = auto()
    """One that is bound."""
    POD_GONE = auto()
    """One that was bound, assumed or nominated."""
    ITSELF = auto()
    """The waiting pod changed."""


class News(NamedTuple):
    what: What
    node: tuple[NodeFacts | None, NodeFacts] | None = None
    """As it was, and as it is."""
    pod: tuple[Pod | None, Pod] | None = None
    most: int | None = None
    """For pods of this priority or less only."""


_ALONE: Final = (UNSCHEDULABLE, TAINTS, NODE_AFFINITY)
"""Rules between a pod and a node: they help if they object no longer."""


def could_help(news: News, pod: Pod, rejected: frozenset[str], ignored: frozenset[str]) -> bool:
    """Whether it is worth trying the pod again; `rejected` are the rules that were in its way."""
    if news.most is not None and pod.priority > news.most:
        return False
    if not rejected or EXTENDER in rejected:
        return True
    match news.what:
        case What.NODE if news.node is not None:
            return _node_helps(*news.node, pod, rejected, ignored)
        case What.NODE_GONE:
            return SPREADING in rejected
        case What.ITSELF if news.pod is not None:
            return _change_helps(*news.pod, rejected)
        case _:
            return news.pod is not None and _other_helps(news.what, news.pod, pod, rejected)


def changed(old: NodeFacts, new: NodeFacts) -> bool:
    """Whether anything but the heartbeat of a node is new."""
    return (
        old.allocatable != new.allocatable
        or old.labels != new.labels
        or old.taints != new.taints
        or old.conditions != new.conditions
        or old.annotations != new.annotations
        or (old.unschedulable and not new.unschedulable)
    )


def _node_helps(
    old: NodeFacts | None, new: NodeFacts, pod: Pod, rejected: frozenset[str], ignored: frozenset[str]
) -> bool:
    judge = Judge(pod, Picture(), ignored, None, None)

    def objects(rule: str, facts: NodeFacts) -> bool:
        return judge.rule(rule)(Host(facts.name, facts)) is not None

    for rule in rejected.intersection(_ALONE):
        if not objects(rule, new) and (old is None or objects(rule, old)):
            return True
    if FIT in rejected and not objects(FIT, new) and (old is None or _more(pod, old, new)):
        return True
    if rejected.intersection((SPREADING, POD_AFFINITY)) and (old is None or old.labels != new.labels):
        return True
    return PORTS in rejected and old is None


def _more(pod: Pod, old: NodeFacts, new: NodeFacts) -> bool:
    return new.room > old.room or any(
        new.allocatable.get(name, 0) > old.allocatable.get(name, 0)
        for name, amount in pod.requests.items()
        if amount
    )


def _change_helps(old: Pod | None, new: Pod, rejected: frozenset[str]) -> bool:
    if old is None:
        return False
    return (
        (
            not rejected.isdisjoint((TAINTS, UNSCHEDULABLE))
            and old.placing.tolerations != new.placing.tolerations
        )
        or (FIT in rejected and _less(old, new))
        or (not rejected.isdisjoint((SPREADING, POD_AFFINITY)) and old.labels != new.labels)
    )


def _other_helps(what: What, other: tuple[Pod | None, Pod], pod: Pod, rejected: frozenset[str]) -> bool:
    before, now = other
    moved = what is not What.POD_CHANGED or (before is not None and before.labels != now.labels)
    if FIT in rejected and (
        what is What.POD_GONE or (what is What.POD_CHANGED and before is not None and _less(before, now))
    ):
        return True
    if PORTS in rejected and what is What.POD_GONE:
        return any(own.meets(port) for own in pod.ports for port in now.ports)
    if SPREADING in rejected and moved and now.key.namespace == pod.key.namespace:
        return _any_matches((constraint.selector for constraint in pod.spreads), before, now)
    # Terms may name namespaces by their labels, which are not at hand here: in doubt it helps.
    return POD_AFFINITY in rejected and moved


def _any_matches(selectors: Iterable[Selector], before: Pod | None, now: Pod) -> bool:
    states = [each.labels for each in (before, now) if each is not None]
    return any(selector.matches(labels) for selector in selectors for labels in states)


def _less(old: Pod, new: Pod) -> bool:
    return any(new.requests.get(name, 0) < amount for name, amount in old.requests.items())
