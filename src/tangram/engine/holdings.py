"""What one pod takes of one node's arrays, remembered so that it can be given back to the last byte."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tangram.engine.columns import CLASS_NUMBER, QOS_NUMBER, CardUse, NodeFacts
from tangram.engine.usage import can_serve, holds_of
from tangram.model.allocations import Allocation, Share, Tenant
from tangram.model.cards import AppClass
from tangram.model.nodes import Node
from tangram.units.ids import CardUuid

NO_QOS = -1


class Charge(NamedTuple):
    """What one holding takes of one card, ready to be added to or taken off the arrays."""

    column: int
    memory: int
    cores: int
    slots: int
    qos: int
    """Number of the QoS policy the tenant pins the card to, or -1."""
    app_class: int


class Holding(msgspec.Struct, frozen=True):
    """A tenant with its charges. `expires_at` is None for a bound pod."""

    tenant: Tenant
    charges: tuple[Charge, ...]
    expires_at: float | None
    attempt: int

    @property
    def bound(self) -> bool:
        return self.expires_at is None


def charges_for(tenant: Tenant, node: Node, columns: dict[CardUuid, int]) -> tuple[Charge, ...]:
    """The tenant's charges on its node.

    A card the node does not have (any more) is passed over, and so is a slice of a card that our agent offers whole: a
    pod that a peer bound there never gets it.
    """
    app_class = CLASS_NUMBER[tenant.app_class]
    charges: list[Charge] = []
    allocation = _served(tenant.allocation, node, columns) if node.managed else tenant.allocation
    for uuid, hold in holds_of(allocation, init_done=tenant.init_done).items():
        column = columns.get(uuid)
        if column is None:
            continue
        qos = qos_pin(tenant, hold.cores, node.cards[column].cores)
        charges.append(Charge(column, hold.memory, hold.cores, hold.slots, qos, app_class))
    return tuple(charges)


def _served(allocation: Allocation, node: Node, columns: dict[CardUuid, int]) -> Allocation:
    """The allocation without the shares that their cards cannot serve; mostly it is the same one."""

    def served(share: Share) -> bool:
        column = columns.get(share.card)
        return column is None or can_serve(node.cards[column], share)

    if all(served(share) for container in allocation.containers for share in container.shares):
        return allocation
    containers = tuple(
        msgspec.structs.replace(each, shares=tuple(filter(served, each.shares)))
        for each in allocation.containers
    )
    return msgspec.structs.replace(allocation, containers=containers)


def qos_pin(tenant: Tenant, cores: int, all_cores: int) -> int:
    """The policy a tenant holds its card to. Exclusive and online tenants leave the card without one."""
    if tenant.qos is None or tenant.app_class is AppClass.ONLINE or cores >= all_cores:
        return NO_QOS
    return QOS_NUMBER[tenant.qos]


def apply(holding: Holding, use: CardUse, nodes: NodeFacts, row: int, *, sign: int) -> None:
    """Add (`sign` 1) or take off (`sign` -1) a holding at a row of the arrays."""
    for charge in holding.charges:
        at = (row, charge.column)
        use.memory[at] += sign * charge.memory
        use.cores[at] += sign * charge.cores
        use.slots[at] += sign * charge.slots
        use.classes[row, charge.column, charge.app_class] += sign
        if charge.qos != NO_QOS:
            use.qos[row, charge.column, charge.qos] += sign
    nodes.pods_free[row] -= sign
    host = holding.tenant.host
    if host.cpu_milli:
        nodes.cpu_free[row] -= sign * host.cpu_milli
    if host.memory:
        nodes.memory_free[row] -= sign * host.memory
    if host.counted:
        nodes.counted_free[row] -= sign * np.array(host.counted, np.int64)
