"""A cluster to ask about, from either kind of file, as the ledger that the engine decides on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tangram.cli.documents import read_documents
from tangram.cli.failures import InputError
from tangram.cli.files import read_source
from tangram.cli.kubernetes import Dump, read_dump
from tangram.cli.patience import Patience
from tangram.engine.adopt import adopt
from tangram.engine.ledger import Ledger
from tangram.model.cards import Vendor
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.model.requests import Request
from tangram.vendors.mthreads.tiers import sizes_of
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings, largest_slices, unlimited_compute
from tangram.wire.assumed import assumed
from tangram.wire.clusterfile.reading import ClusterFile, is_short_file, read_cluster_file
from tangram.wire.errors import Problem, WireError
from tangram.wire.tenants import Unnamed, on_the_host_alone, read_tenant


class Cluster(NamedTuple):
    ledger: Ledger
    settings: AdmissionSettings
    waiting_pods: tuple[Pod, ...]
    """Pods of a dump that no node has yet."""
    waiting_requests: tuple[Request, ...]
    """The same from a file of our own, which asks without the words of a vendor."""
    problems: tuple[Problem, ...]
    pods: tuple[Pod, ...] = ()
    """Every pod of a dump, whatever has become of it."""

    @property
    def waiting(self) -> tuple[str, ...]:
        pods = (pod.ref for pod in self.waiting_pods)
        return tuple(map(str, (*pods, *(request.pod for request in self.waiting_requests))))

    @property
    def vendors(self) -> frozenset[Vendor]:
        return frozenset(card.vendor for node in self.ledger.nodes() for card in node.cards)


def read_cluster(path: str, patience: Patience) -> Cluster:
    """The cluster in a dump of `kubectl get`, or in a file of our own."""
    source = read_source(path, "--cluster")
    documents = read_documents(source, patience.watching(f"reading {source.name}"))
    if not any(is_short_file(document) for document in documents):
        on_progress = patience.watching("reading objects")
        return cluster_of_dump(read_dump(documents, source.name, on_progress), patience)
    if len(documents) > 1:
        raise InputError(f"{source.name} holds {len(documents)} documents: a file of Tangram's own has one.")
    try:
        return _from_short(read_cluster_file(documents[0]))
    except WireError as error:
        raise InputError(f"{source.name}: {error.sentence}.") from error


def _from_short(file: ClusterFile) -> Cluster:
    ledger = _ledger(file.nodes)
    for tenant in file.tenants:
        ledger.put_tenant(tenant)
    for unnamed in file.unnamed:
        ledger.put_tenant(adopt(ledger, unnamed.request, unnamed.node))
    return Cluster(ledger, _settings(file.nodes), (), file.waiting, ())


def cluster_of_dump(dump: Dump, patience: Patience) -> Cluster:
    """The cluster that some objects of an API server describe."""
    nodes = [reading.node for reading in dump.nodes]
    problems = [*dump.problems, *(problem for reading in dump.nodes for problem in reading.problems)]
    ledger, settings = _ledger(nodes), _settings(nodes)
    by_name = {node.name: node for node in nodes}
    on_progress = patience.watching("counting pods")
    guesses: list[Unnamed] = []
    for number, pod in enumerate(dump.pods):
        on_progress(number, len(dump.pods))
        if pod.node_name is None or pod.ended:
            continue
        tenant = read_tenant(pod, by_name.get(pod.node_name), settings)
        if isinstance(tenant, Unnamed):
            guesses.append(tenant)
        else:
            ledger.put_tenant(tenant or on_the_host_alone(pod, pod.node_name))
    # Guesses come last: they go where the pods that did say leave room.
    problems.extend(_adopted(ledger, unnamed) for unnamed in guesses)
    waiting = tuple(pod for pod in dump.pods if pod.node_name is None and not pod.ended)
    return Cluster(ledger, settings, waiting, (), tuple(problems), dump.pods)


def _adopted(ledger: Ledger, unnamed: Unnamed) -> Problem:
    pod, reason = unnamed.pod, unnamed.reason
    tenant = assumed(ledger, unnamed)
    ledger.put_tenant(tenant)
    if not unnamed.request.asks_for_cards:
        return Problem(
            "cards-uncounted",
            f"pod {pod.ref} runs on {unnamed.node} and states no number of cards that can be read:"
            " it counts as holding none",
        )
    numbers = sorted(share.index for container in tenant.allocation.containers for share in container.shares)
    return Problem(
        "cards-guessed",
        f"pod {pod.ref} runs on {unnamed.node} and {reason}: assumed on"
        f" {'card' if len(numbers) == 1 else 'cards'} {', '.join(map(str, numbers)) or 'none'}",
    )


def _ledger(nodes: Iterable[Node]) -> Ledger:
    ledger = Ledger()
    for node in nodes:
        ledger.put_node(node)
    return ledger


def _settings(nodes: Iterable[Node]) -> AdmissionSettings:
    """Which sizes of slice exist, and which is the largest, depends on the cards there are."""
    nodes = list(nodes)
    cards = [card for node in nodes for card in node.cards]
    sizes = tuple(sorted(sizes_of(cards))) or DEFAULT_SETTINGS.mthreads_memory_per_card
    largest = largest_slices(cards)
    return AdmissionSettings(
        mthreads_memory_per_card=sizes,
        mthreads_served=all(node.managed for node in nodes if sizes_of(node.cards)),
        largest_memory=largest,
        compute_limited=frozenset(largest) - unlimited_compute(cards),
    )
