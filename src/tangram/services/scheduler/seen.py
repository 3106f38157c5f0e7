"""A pod as the scheduler keeps it: small, because there are fifty thousand of them.

A pod that waits is kept whole, since questions about it are to come. Of one that has a node only what it holds there
is kept; the rest can be read again from the API server in the rare case that its node turns out to be another.
"""

from __future__ import annotations

import msgspec

from tangram.model.allocations import Tenant
from tangram.model.pods import Pod, PodRef
from tangram.model.requests import Request
from tangram.units.ids import NodeName
from tangram.vendors.admission import Admission
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
    koordinators: bool = False
    """It asks for cards of ours, and koord-scheduler places it."""
