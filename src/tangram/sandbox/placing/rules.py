"""kube-scheduler's own filters, in its order and its words: the first that objects speaks for the node.

A `Judge` is made for one pod and one moment, with everything prepared that holds for all nodes; a rule that cannot
concern the pod is left out of it. Claims and volumes are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tangram.engine.hostrules import CORDONED
from tangram.sandbox.placing.amounts import CPU, MEMORY, PODS, STORAGE
from tangram.sandbox.placing.crowd import Neighbours, Spreading
from tangram.sandbox.placing.hosts import Host
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.standing import matches_host, tolerates, untolerated

UNSCHEDULABLE: Final = "NodeUnschedulable"
TAINTS: Final = "TaintToleration"
NODE_AFFINITY: Final = "NodeAffinity"
PORTS: Final = "NodePorts"
FIT: Final = "NodeResourcesFit"
SPREADING: Final = "PodTopologySpread"
POD_AFFINITY: Final = "InterPodAffinity"
EXTENDER: Final = "Extender"


class No(NamedTuple):
    """Why a node will not do."""

    reasons: tuple[str, ...]
    resolvable: bool
    """Whether the end of other pods could change it."""
    rule: str = ""


Rule = Callable[[Host], No | None]


class Judge:
    """`verdict` is None for a node that will do, nominated pods considered."""

    def __init__(
        self,
        pod: Pod,
        picture: Picture,
        ignored: frozenset[str],
        neighbours: Neighbours | None,
        spreading: Spreading | None,
    ) -> None:
        self.pod: Final = pod
        self._picture: Final = picture
        self._ignored: Final = ignored
        self._neighbours: Final = neighbours
        self._spreading: Final = spreading
        self._rules: Final = self._prepared()

    @classmethod
    def of(cls, pod: Pod, picture: Picture, ignored: frozenset[str]) -> Judge:
        """`ignored` are extended resources that are somebody else's to count."""
        return cls(pod, picture, ignored, Neighbours.around(pod, picture), Spreading.around(pod, picture))

    def verdict(self, host: Host) -> No | None:
        """With the nominated pods it must yield to in place, and then without, as both may come true."""
        nominees = self._nominees(host) if self._picture.has_nominees else ()
        if nominees:
            here, thought = self.imagine(host)
            for other in nominees:
                thought.put(here, other)
            no = thought.alone(here)
            if no is not None:
                return no
        return self.alone(host)

    def alone(self, host: Host) -> No | None:
        """Without regard to nominations."""
        for rule in self._rules:
            no = rule(host)
            if no is not None:
                return no
        return None

    def imagine(self, host: Host) -> tuple[Host, Judge]:
        """A copy of the host, and a judge for it, for pods to be put and taken in thought."""
        neighbours = None if self._neighbours is None else self._neighbours.copy()
        spreading = None if self._spreading is None else self._spreading.copy()
        return host.copy(), Judge(self.pod, self._picture, self._ignored, neighbours, spreading)

    def put(self, host: Host, other: Pod) -> None:
        host.put(other)
        self._count(host, other, 1)

    def take(self, host: Host, other: Pod) -> None:
        host.drop(other.uid)
        self._count(host, other, -1)

    def rule(self, name: str) -> Rule:
        """One of the rules that a pod and a node decide between themselves."""
        return {
            UNSCHEDULABLE: self._cordon,
            TAINTS: self._taints,
            NODE_AFFINITY: self._affinity,
            FIT: self._fit,
        }[name]

    # --- the rules -------------------------------------------------------------------------------------------------

    def _prepared(self) -> tuple[Rule, ...]:
        pod, placing = self.pod, self.pod.placing
        rules: list[Rule] = [self._cordon, self._taints]
        if placing.node_selector or placing.required:
            rules.append(self._affinity)
        if pod.ports:
            rules.append(self._ports)
        rules.append(self._fit)
        if self._spreading is not None:
            rules.append(self._spread)
        if self._neighbours is not None:
            rules.append(self._company)
        return tuple(rules)

    def _cordon(self, host: Host) -> No | None:
        if not host.facts.unschedulable or tolerates(self.pod.placing.tolerations, CORDONED):
            return None
        return No(("node(s) were unschedulable",), resolvable=False, rule=UNSCHEDULABLE)

    def _taints(self, host: Host) -> No | None:
        taints = host.facts.taints
        if not taints or untolerated(taints, self.pod.placing.tolerations) is None:
            return None
        return No(("node(s) had untolerated taint(s)",), resolvable=False, rule=TAINTS)

    def _affinity(self, host: Host) -> No | None:
        if matches_host(host.facts, self.pod.placing):
            return None
        return No(
            ("node(s) didn't match Pod's node affinity/selector",), resolvable=False, rule=NODE_AFFINITY
        )

    def _ports(self, host: Host) -> No | None:
        taken = (port for other in host.pods.values() for port in other.ports)
        if not any(own.meets(port) for port in taken for own in self.pod.ports):
            return None
        reason = "node(s) didn't have free ports for the requested pod ports"
        return No((reason,), resolvable=True, rule=PORTS)

    def _fit(self, host: Host) -> No | None:
        allocatable, used = host.facts.allocatable, host.used
        reasons = ["Too many pods"] if len(host.pods) + 1 > host.facts.room else []
        resolvable = True
        for name, amount in self.pod.requests.items():
            has = allocatable.get(name, 0)
            if amount > has - used.get(name, 0) and amount and self._counted(name):
                reasons.append(f"Insufficient {name}")
                resolvable = resolvable and amount <= has
        return No(tuple(reasons), resolvable, FIT) if reasons else None

    def _counted(self, name: str) -> bool:
        return name in (CPU, MEMORY, STORAGE) or (name != PODS and name not in self._ignored)

    def _spread(self, host: Host) -> No | None:
        fault = self._spreading.fault(host.facts) if self._spreading is not None else None
        return None if fault is None else No((fault[0],), fault[1], SPREADING)

    def _company(self, host: Host) -> No | None:
        fault = self._neighbours.fault(host.facts) if self._neighbours is not None else None
        return None if fault is None else No((fault[0],), fault[1], POD_AFFINITY)

    # --- in thought ------------------------------------------------------------------------------------------------

    def _nominees(self, host: Host) -> list[Pod]:
        pod = self.pod
        return [
            each
            for each in self._picture.nominees(host.name)
            if each.priority >= pod.priority and each.uid != pod.uid
        ]

    def _count(self, host: Host, other: Pod, by: int) -> None:
        if self._neighbours is not None:
            self._neighbours.count(other, host, by)
        if self._spreading is not None:
            self._spreading.count(other, host, by)
