"""The demand that the `frag` policy keeps room for: given in a file, or learned from the pods there are."""

from __future__ import annotations

from collections.abc import Iterable

from tangram.cli.clusters import Cluster
from tangram.engine.demand import Demand, demand_from
from tangram.model.requests import Request
from tangram.reports.expecting import shapes_there
from tangram.vendors.admission import admit


def learned_demand(cluster: Cluster, asked: Iterable[Request]) -> Demand:
    """What runs and waits in the cluster, and the pods in question themselves."""
    admitted = (admit(pod, cluster.settings).request for pod in cluster.waiting_pods)
    waiting = [request for request in admitted if request is not None]
    return demand_from(shapes_there(cluster.ledger, (*waiting, *cluster.waiting_requests, *asked)))
