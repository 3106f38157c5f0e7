"""A pod as the loop needs it: everything a rule looks at read once, and the object itself for those who are asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from tangram.kube.informer import unsigned
from tangram.kube.objects import Key, Object
from tangram.model.pods import Placing
from tangram.sandbox.placing.amounts import CPU, MEMORY, UNSAID, Amounts, requests_of
from tangram.wire import loose
from tangram.wire.label_selectors import Selector, read_selector
from tangram.wire.placing import read_placing

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - Kubernetes' word for a host port that names no address


class Port(NamedTuple):
    address: str
    protocol: str
    number: int

    def meets(self, other: Port) -> bool:
        """Whether two pods cannot have both on one node."""
        same = self[1:] == other[1:]
        return same and (self.address == other.address or ANY_ADDRESS in (self.address, other.address))


class Term(msgspec.Struct, frozen=True):
    """A required term of pod affinity or anti-affinity."""

    selector: Selector
    key: str
    namespaces: frozenset[str]
    among: Selector
    """Namespaces by their labels, beside those named."""

    def takes(self, labels: Mapping[str, str], namespace: str, of_namespace: Mapping[str, str]) -> bool:
        """Whether it speaks of a pod with these labels in a namespace with those."""
        told = namespace in self.namespaces or self.among.matches(of_namespace)
        return told and self.selector.matches(labels)


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint that forbids: `whenUnsatisfiable: DoNotSchedule`."""

    key: str
    selector: Selector
    skew: int
    domains: int
    by_affinity: bool
    by_taints: bool


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    key: Key
    uid: str
    version: str
    scheduler: str
    node: str
    nominated: str
    priority: int
    patient: bool
    """It evicts nobody: `preemptionPolicy: Never`."""
    gated: bool
    deleting: bool
    started: str
    labels: dict[str, str]
    placing: Placing
    requests: Amounts
    weighed: tuple[int, int]
    """cpu and memory as nodes are compared by, where saying nothing is not nothing."""
    resources: frozenset[str]
    """Every name in requests or limits: whose business the pod is."""
    ports: tuple[Port, ...]
    near: tuple[Term, ...]
    away: tuple[Term, ...]
    spreads: tuple[Spread, ...]
    manifest: Object

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.key.namespace}/pods/{self.key.name}"


def read_pod(thing: Object) -> Pod:
    """Never raises for what an API server accepts."""
    metadata, spec = loose.members(thing.get("metadata")), loose.members(thing.get("spec"))
    status = loose.members(thing.get("status"))
    key = Key(loose.text(metadata.get("namespace")), loose.text(metadata.get("name")))
    labels, placing = loose.text_map(metadata.get("labels")), read_placing(spec)
    affinity, counted = loose.members(spec.get("affinity")), requests_of(spec, UNSAID)
    return Pod(
        key=key,
        uid=loose.text(metadata.get("uid")),
        version=loose.text(metadata.get("resourceVersion")),
        scheduler=loose.text(spec.get("schedulerName")),
        node=loose.text(spec.get("nodeName")),
        nominated=loose.text(status.get("nominatedNodeName")),
        priority=loose.integer(spec.get("priority")) or 0,
        patient=spec.get("preemptionPolicy") == "Never",
        gated=bool(loose.elements(spec.get("schedulingGates"))),
        deleting=metadata.get("deletionTimestamp") is not None,
        started=loose.text(status.get("startTime")),
        labels=labels,
        placing=placing,
        requests=requests_of(spec),
        weighed=(counted.get(CPU, 0), counted.get(MEMORY, 0)),
        resources=_resources(spec),
        ports=_ports(spec),
        near=_terms(affinity.get("podAffinity"), key.namespace),
        away=_terms(affinity.get("podAntiAffinity"), key.namespace),
        spreads=_spreads(spec, labels),
        manifest=trimmed(thing),
    )


def trimmed(thing: Object) -> Object:
    """An object as kube-scheduler keeps and sends it: without who wrote which field, and without its type."""
    rest = {name: value for name, value in thing.items() if name not in ("kind", "apiVersion", "metadata")}
    return {"metadata": unsigned(thing)["metadata"], **rest}


def _resources(spec: Mapping[str, object]) -> frozenset[str]:
    lists = (
        loose.members(loose.members(each).get("resources")).get(part)
        for field in ("containers", "initContainers")
        for each in loose.elements(spec.get(field))
        for part in ("requests", "limits")
    )
    return frozenset(name for each in lists for name in loose.members(each))


def _ports(spec: Mapping[str, object]) -> tuple[Port, ...]:
    inits = map(loose.members, loose.elements(spec.get("initContainers")))
    lasting = [each for each in inits if each.get("restartPolicy") == "Always"]
    found: list[Port] = []
    for container in (*lasting, *map(loose.members, loose.elements(spec.get("containers")))):
        for port in map(loose.members, loose.elements(container.get("ports"))):
            number = loose.integer(port.get("hostPort")) or 0
            if number > 0:
                address, protocol = loose.text(port.get("hostIP")), loose.text(port.get("protocol"))
                found.append(Port(address or ANY_ADDRESS, protocol or "TCP", number))
    return tuple(found)


def _terms(written: object, namespace: str) -> tuple[Term, ...]:
    required = loose.members(written).get("requiredDuringSchedulingIgnoredDuringExecution")
    found: list[Term] = []
    for term in map(loose.members, loose.elements(required)):
        named = frozenset(loose.text(each) for each in loose.elements(term.get("namespaces")))
        among = term.get("namespaceSelector")
        found.append(
            Term(
                selector=read_selector(term.get("labelSelector")),
                key=loose.text(term.get("topologyKey")),
                namespaces=named if named or among is not None else frozenset({namespace}),
                among=read_selector(among),
            )
        )
    return tuple(found)


def _spreads(spec: Mapping[str, object], labels: Mapping[str, str]) -> tuple[Spread, ...]:
    found: list[Spread] = []
    for one in map(loose.members, loose.elements(spec.get("topologySpreadConstraints"))):
        if one.get("whenUnsatisfiable") != "DoNotSchedule":
            continue
        shared = (loose.text(key) for key in loose.elements(one.get("matchLabelKeys")))
        found.append(
            Spread(
                key=loose.text(one.get("topologyKey")),
                selector=read_selector(one.get("labelSelector")).narrowed(
                    {key: labels[key] for key in shared if key in labels}
                ),
                skew=loose.integer(one.get("maxSkew")) or 1,
                domains=loose.integer(one.get("minDomains")) or 1,
                by_affinity=one.get("nodeAffinityPolicy") != "Ignore",
                by_taints=one.get("nodeTaintsPolicy") == "Honor",
            )
        )
    return tuple(found)
