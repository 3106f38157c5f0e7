"""Rules about other pods: required affinity and anti-affinity, and spreading that forbids.

What is counted is worked out once for a pod from the whole cluster, and then follows each pod that is put or taken in
thought: nominated pods, and victims of preemption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Self

from tangram.model.pods import Placing
from tangram.sandbox.placing.hosts import Host, NodeFacts
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod, Spread
from tangram.sandbox.placing.standing import matches_host, untolerated

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
OTHERS_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
SPREAD = "node(s) didn't match pod topology spread constraints"
SPREAD_LABEL = f"{SPREAD} (missing required label)"

Domain = tuple[str, str]
"""A label of nodes and its value."""


class Neighbours:
    """Who is where, as far as affinity terms of the pod or of others speak of it."""

    def __init__(self, pod: Pod, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self._pod = pod
        self._namespaces = namespaces
        self._near: Counter[Domain] = Counter()
        self._away: Counter[Domain] = Counter()
        self._unwelcome: Counter[Domain] = Counter()

    @classmethod
    def around(cls, pod: Pod, picture: Picture) -> Self | None:
        """None where no term concerns the pod."""
        made = cls(pod, picture.namespaces)
        if pod.near or pod.away:
            for host in picture.nodes:
                for other in host.pods.values():
                    made.count(other, host, 1)
        else:
            for name, uids in picture.avoiding.items():
                host = picture.hosts[name]
                for uid in uids if host.exists else ():
                    made.count(host.pods[uid], host, 1)
        return made if pod.near or pod.away or made._unwelcome else None

    def copy(self) -> Neighbours:
        made = Neighbours(self._pod, self._namespaces)
        made._near, made._away = self._near.copy(), self._away.copy()
        made._unwelcome = self._unwelcome.copy()
        return made

    def count(self, other: Pod, host: Host, by: int) -> None:
        pod, labels = self._pod, host.labels
        if pod.near and self._meets_all(other):
            for term in pod.near:
                _bump(self._near, labels, term.key, by)
        for term in pod.away:
            if term.takes(other.labels, other.key.namespace, self._of(other.key.namespace)):
                _bump(self._away, labels, term.key, by)
        for term in other.away:
            if term.takes(pod.labels, pod.key.namespace, self._of(pod.key.namespace)):
                _bump(self._unwelcome, labels, term.key, by)

    def fault(self, node: NodeFacts) -> tuple[str, bool] | None:
        """What keeps the pod off the node, and whether the end of other pods could change it."""
        if not self._near_enough(node.labels):
            return AFFINITY, False
        if any(self._away[_domain(node.labels, term.key)] > 0 for term in self._pod.away):
            return ANTI_AFFINITY, True
        if self._unwelcome and any(self._unwelcome[each] > 0 for each in node.labels.items()):
            return OTHERS_ANTI_AFFINITY, True
        return None

    def _near_enough(self, labels: Mapping[str, str]) -> bool:
        terms = self._pod.near
        if any(term.key not in labels for term in terms):
            return False
        if all(self._near[_domain(labels, term.key)] > 0 for term in terms):
            return True
        # The first of a series that wants to be near its own kind has nobody to be near to.
        return not any(count > 0 for count in self._near.values()) and self._meets_all(self._pod)

    def _meets_all(self, other: Pod) -> bool:
        namespace = other.key.namespace
        return all(term.takes(other.labels, namespace, self._of(namespace)) for term in self._pod.near)

    def _of(self, namespace: str) -> Mapping[str, str]:
        return self._namespaces.get(namespace, {})


class Spreading:
    """How many pods like it are in each domain, for every constraint of the pod."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self._counts: list[dict[str, int]] = [{} for _ in pod.spreads]

    @classmethod
    def around(cls, pod: Pod, picture: Picture) -> Self | None:
        if not pod.spreads:
            return None
        made = cls(pod)
        for host in picture.nodes:
            for number, constraint in enumerate(pod.spreads):
                if made._counts_there(constraint, host.facts):
                    value = host.labels[constraint.key]
                    alike = sum(_alike(pod, constraint, other) for other in host.pods.values())
                    made._counts[number][value] = made._counts[number].get(value, 0) + alike
        return made

    def copy(self) -> Spreading:
        made = Spreading(self._pod)
        made._counts = [dict(each) for each in self._counts]
        return made

    def count(self, other: Pod, host: Host, by: int) -> None:
        if other.key.namespace != self._pod.key.namespace:
            return
        for number, constraint in enumerate(self._pod.spreads):
            if constraint.selector.matches(other.labels) and self._counts_there(constraint, host.facts):
                value = host.labels[constraint.key]
                self._counts[number][value] = self._counts[number].get(value, 0) + by

    def fault(self, node: NodeFacts) -> tuple[str, bool] | None:
        for number, constraint in enumerate(self._pod.spreads):
            value = node.labels.get(constraint.key)
            if value is None:
                return SPREAD_LABEL, False
            counts = self._counts[number]
            least = 0 if len(counts) < constraint.domains else min(counts.values(), default=0)
            own = 1 if constraint.selector.matches(self._pod.labels) else 0
            if counts.get(value, 0) + own - least > constraint.skew:
                return SPREAD, True
        return None

    def _counts_there(self, constraint: Spread, node: NodeFacts) -> bool:
        placing: Placing = self._pod.placing
        return (
            all(each.key in node.labels for each in self._pod.spreads)
            and (not constraint.by_affinity or matches_host(node, placing))
            and (not constraint.by_taints or untolerated(node.taints, placing.tolerations) is None)
        )


def _alike(pod: Pod, constraint: Spread, other: Pod) -> bool:
    # An empty selector counts nobody here, though it would select everybody.
    return (
        not constraint.selector.everything
        and not other.deleting
        and other.key.namespace == pod.key.namespace
        and constraint.selector.matches(other.labels)
    )


def _domain(labels: Mapping[str, str], key: str) -> Domain:
    return key, labels.get(key, "\0")


def _bump(counts: Counter[Domain], labels: Mapping[str, str], key: str, by: int) -> None:
    if key in labels:
        counts[key, labels[key]] += by
