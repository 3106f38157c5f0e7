"""The cluster as the loop decides from it: nodes, the pods on them, pods about to be bound, and nominations.

A pod is *assumed* from the decision until the API server shows it bound, so that the next decision does not give its
place away. A bind that was told to be done and never happens leaves it assumed, as in kube-scheduler: only its end
frees the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tangram.sandbox.placing.hosts import UNKNOWN, Host, NodeFacts
from tangram.sandbox.placing.pods import Pod


class Picture:
    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self.nodes: list[Host] = []
        """Hosts whose node exists, in the order they came."""
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.avoiding: dict[str, set[str]] = {}
        """By host: pods with anti-affinity, which everybody else has to mind."""
        self._where: dict[str, str] = {}
        self._assumed: set[str] = set()
        self._nominated: dict[str, tuple[str, Pod]] = {}
        self._nominees: dict[str, dict[str, Pod]] = {}

    # --- nodes -----------------------------------------------------------------------------------------------------

    def put_node(self, facts: NodeFacts) -> None:
        host = self.hosts.setdefault(facts.name, Host(facts.name))
        if not host.exists:
            self.nodes.append(host)
        host.facts = facts

    def drop_node(self, name: str) -> None:
        host = self.hosts.get(name)
        if host is not None and host.exists:
            host.facts = UNKNOWN
            self.nodes.remove(host)
            self._tidy(host)

    def node(self, name: str) -> Host | None:
        """The host of that name, if its node exists."""
        host = self.hosts.get(name)
        return host if host is not None and host.exists else None

    # --- pods on them ----------------------------------------------------------------------------------------------

    def put_pod(self, pod: Pod) -> None:
        """A pod that the API server shows bound, whether it was assumed, there or elsewhere, or is news."""
        self._assumed.discard(pod.uid)
        self._place(pod, pod.node)

    def drop_pod(self, uid: str) -> None:
        """A pod that is gone, or whose assumption came to nothing."""
        self._assumed.discard(uid)
        name = self._where.pop(uid, None)
        if name is not None:
            host = self.hosts[name]
            host.drop(uid)
            self.avoiding.get(name, set[str]()).discard(uid)
            self._tidy(host)

    def assume(self, pod: Pod, node: str) -> None:
        self._assumed.add(pod.uid)
        self._place(pod, node)

    def assumed(self, uid: str) -> bool:
        return uid in self._assumed

    def _place(self, pod: Pod, name: str) -> None:
        if self._where.get(pod.uid, name) != name:
            was_assumed = pod.uid in self._assumed
            self.drop_pod(pod.uid)
            if was_assumed:
                self._assumed.add(pod.uid)
        self._where[pod.uid] = name
        self.hosts.setdefault(name, Host(name)).put(pod)
        if pod.away:
            self.avoiding.setdefault(name, set()).add(pod.uid)

    def _tidy(self, host: Host) -> None:
        if not self.avoiding.get(host.name, True):
            del self.avoiding[host.name]
        if not host.exists and not host.pods:
            self.hosts.pop(host.name, None)

    # --- nominations -----------------------------------------------------------------------------------------------

    def nominate(self, pod: Pod, node: str) -> None:
        """Hold the pod's place on a node against others of its priority or less; an empty name ends it."""
        self.forget_nomination(pod.uid)
        if node:
            self._nominated[pod.uid] = node, pod
            self._nominees.setdefault(node, {})[pod.uid] = pod

    def renominate(self, old: Pod, new: Pod) -> None:
        """A new state of a waiting pod; a nomination that only this process knows of yet outlives it."""
        held = self._nominated.get(old.uid)
        own = held[0] if held is not None and not old.nominated and not new.nominated else new.nominated
        self.nominate(new, own)

    def forget_nomination(self, uid: str) -> None:
        held = self._nominated.pop(uid, None)
        if held is not None:
            there = self._nominees[held[0]]
            del there[uid]
            if not there:
                del self._nominees[held[0]]

    def nominees(self, node: str) -> Iterable[Pod]:
        return self._nominees.get(node, {}).values()

    @property
    def has_nominees(self) -> bool:
        return bool(self._nominees)
