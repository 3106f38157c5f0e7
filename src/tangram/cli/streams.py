"""Pods on their way into a replay, each with what it adds to the demand.

How full a cluster is asked to be is counted in thousandths of a card. The public trace says that number itself; for
pods in other words it is the larger of their share of a card's memory and of its compute, measured against the largest
card of that vendor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tangram.cli.failures import InputError
from tangram.cli.files import read_source
from tangram.engine.simulate import Arrival
from tangram.model.cards import Card, Vendor
from tangram.model.nodes import Node
from tangram.model.requests import Ask, AskKind, Request
from tangram.wire.errors import WireError
from tangram.wire.openb import WHOLE_CARD, read_trace_nodes, read_trace_pods


def trace_nodes(path: str) -> tuple[Node, ...]:
    """The nodes of a node list of the public trace."""
    source = read_source(path, "--nodes")
    try:
        return read_trace_nodes(source.text.splitlines(), source.name)
    except WireError as error:
        raise InputError(f"{error.sentence}.") from error


def trace_pods(path: str) -> tuple[Arrival, ...]:
    """The pods of a pod list of the public trace."""
    source = read_source(path, "--pods")
    try:
        return read_trace_pods(source.text.splitlines(), source.name)
    except WireError as error:
        raise InputError(f"{error.sentence}.") from error


def arrivals_of(requests: Sequence[Request], nodes: Sequence[Node]) -> tuple[Arrival, ...]:
    """The requests as arrivals at those nodes."""
    largest: dict[Vendor, Card] = {}
    for card in (card for node in nodes for card in node.cards):
        if card.vendor not in largest or card.memory > largest[card.vendor].memory:
            largest[card.vendor] = card
    return tuple(Arrival(str(request.pod), request, _weight(request, largest)) for request in requests)


def _weight(request: Request, largest: Mapping[Vendor, Card]) -> int:
    return sum(
        _ask_weight(ask, largest.get(ask.vendor))
        for container in request.containers
        for ask in container.asks
    )


def _ask_weight(ask: Ask, card: Card | None) -> int:
    if card is None or ask.kind is AskKind.WHOLE:
        return ask.count * WHOLE_CARD
    memory = WHOLE_CARD * ask.memory_on(card) // card.memory
    cores = WHOLE_CARD * ask.cores_on(card) // card.cores
    return ask.count * min(WHOLE_CARD, max(memory, cores, 1))
