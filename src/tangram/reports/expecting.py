"""What the next pod is probably like: one of those that run and wait now.

Fragmentation is a share of what is idle, and means nothing before somebody says for whom. `tangram status` and the
scheduler's view say it by this one rule, so that a page and a command never contradict each other. The scheduler itself
keeps room for the pods of its recent past, which is a question of placing and not of telling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tangram.engine.demand import Shape, shape_of
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.model.nodes import Node
from tangram.model.requests import AskKind, Request


def shapes_there(ledger: Ledger, waiting: Iterable[Request]) -> Iterator[Shape]:
    """One for each pod that holds cards or waits. Only kinds of pods that use cards say anything about room on them."""
    # Whoever takes them a few at a time lets the cluster go on in between.
    for node in list(ledger.nodes()):
        if node.cards:
            for holding in ledger.holdings_on(node.name):
                shape = shape_of_tenant(holding.tenant, node)
                if shape.count:
                    yield shape
    for request in waiting:
        yield shape_of(request)


def shape_of_tenant(tenant: Tenant, node: Node) -> Shape:
    """The shape of a pod that runs, from the shares of its largest container."""
    shares = max((container.shares for container in tenant.allocation.containers), key=len, default=())
    first = next(iter(shares), None)
    vendor = next((card.vendor for card in node.cards if first is not None and card.uuid == first.card), None)
    if first is None or vendor is None:
        return Shape(cpu_milli=tenant.host.cpu_milli)
    whole = first.kind is AskKind.WHOLE
    return Shape(
        count=len(shares),
        vendor=vendor,
        kind=first.kind,
        memory=None if whole else first.memory,
        cores=None if whole else first.cores,
        cpu_milli=tenant.host.cpu_milli,
    )
