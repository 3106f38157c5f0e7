"""A pod as the scheduler keeps it: small, because there are fifty thousand of them.

A pod that waits is kept whole, since questions about it are to come. Of one that has a node only what it holds there
is kept; the rest can be read again from the API server in the rare case that its node turns out to be another.
"""

from __future__ import annotations

import msgspec

from tangram.model.allocations import Allocation, ContainerShares, Tenant
from tangram.model.pods import Pod, PodRef
from tangram.model.requests import HostAsk, Request
from tangram.units.ids import NodeName
from tangram.vendors.admission import Admission
from tangram.vendors.host import read_host
from tangram.wire.queueing import Gang, Queueing
from tangram.wire.tenants import Unnamed


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A pod without a node that asks for cards."""

    pod: Pod
    admission: Admission
    queueing: Queueing

    @property
    def request(self) -> Request | None:
        return self.admission.request


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server last said about one pod."""

    ref: PodRef
    node: NodeName | None = None
    ended: bool = False
    terminating: bool = False
    waiting: Waiting | None = None
    held: Tenant | Unnamed | None = None
    """What it holds, or that it holds something nobody named. None while it waits, and when it has ended."""
    gang: Gang | None = None


def on_the_host_alone(pod: Pod, node: NodeName) -> Tenant:
    """A pod without cards still uses processors and memory of its node."""
    host = read_host(pod)
    containers = tuple(ContainerShares(each.name, each.role) for each in pod.containers)
    return Tenant(
        pod=pod.ref,
        allocation=Allocation(node, containers),
        priority=pod.priority,
        host=host if isinstance(host, HostAsk) else HostAsk(),
        init_done=pod.init_done,
    )
