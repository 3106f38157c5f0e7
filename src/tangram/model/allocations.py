"""Who holds what: the answer to a request, and the ledger's entry for it."""

from __future__ import annotations

import msgspec

from tangram.model.cards import AppClass, QosPolicy
from tangram.model.pods import PodRef, Role
from tangram.model.requests import AskKind, HostAsk
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import Bytes


class Share(msgspec.Struct, frozen=True):
    """A part (or all) of one card, held by one container."""

    card: CardUuid
    index: int
    memory: Bytes
    cores: int
    kind: AskKind = AskKind.SLICE


class ContainerShares(msgspec.Struct, frozen=True):
    name: str
    role: Role
    shares: tuple[Share, ...] = ()


class Allocation(msgspec.Struct, frozen=True):
    """One pod's cards on one node, container by container in encoding order."""

    node: NodeName
    containers: tuple[ContainerShares, ...]

    @property
    def cards(self) -> tuple[CardUuid, ...]:
        """Distinct cards in the order they were given."""
        return tuple(dict.fromkeys(share.card for container in self.containers for share in container.shares))


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that holds cards, with what later decisions need to know about it."""

    pod: PodRef
    allocation: Allocation
    qos: QosPolicy | None = None
    app_class: AppClass | None = None
    priority: int = 0
    host: HostAsk = HostAsk()
    init_done: bool = False
    protected_by: tuple[str, ...] = ()
    """Disruption budgets that would be violated by evicting it now."""
    guessed: bool = False
    """The pod is bound but nobody wrote down its cards; these were assumed so that they are not sold again."""
