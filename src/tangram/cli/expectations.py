"""The demand that the `frag` policy keeps room for: given in a file, or learned from the pods there are."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.cli.clusters import Cluster
from tangram.engine.demand import Demand, Shape, demand_from, shape_of
from tangram.model.allocations import Tenant
from tangram.model.nodes import Node
from tangram.model.requests import AskKind, Request
from tangram.vendors.admission import admit


def learned_demand(cluster: Cluster, asked: Iterable[Request]) -> Demand:
    """What runs and waits in the cluster, and the pods in question themselves."""
    tenants = (holding.tenant for holding in cluster.ledger.holdings())
    running = [shape_of_tenant(tenant, cluster.ledger.node(tenant.allocation.node)) for tenant in tenants]
    admitted = (admit(pod, cluster.settings).request for pod in cluster.waiting_pods)
    waiting = [request for request in admitted if request is not None]
    # Only kinds of pods that use cards say anything about room on cards.
    shapes = [shape for shape in running if shape.count]
    shapes += [shape_of(request) for request in (*waiting, *cluster.waiting_requests, *asked)]
    return demand_from(shapes)


def shape_of_tenant(tenant: Tenant, node: Node | None) -> Shape:
    """The shape of a pod that runs, from the shares of its largest container."""
    shares = max((container.shares for container in tenant.allocation.containers), key=len, default=())
    vendors = {} if node is None else {card.uuid: card.vendor for card in node.cards}
    if not shares or shares[0].card not in vendors:
        return Shape(cpu_milli=tenant.host.cpu_milli)
    first = shares[0]
    whole = first.kind is AskKind.WHOLE
    return Shape(
        count=len(shares),
        vendor=vendors[first.card],
        kind=first.kind,
        memory=None if whole else first.memory,
        cores=None if whole else first.cores,
        cpu_milli=tenant.host.cpu_milli,
    )
