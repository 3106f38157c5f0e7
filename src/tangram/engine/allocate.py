"""From chosen cells of the arrays back to the record that is written down."""

from __future__ import annotations

from tangram.engine.place import Placement, StepChoice
from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import Request
from tangram.units.memory import Bytes


def allocation_at(node: Node, request: Request, placement: Placement, row: int) -> Allocation:
    """What the placement gives the pod on the node at that row of its view."""
    shares: dict[int, tuple[Share, ...]] = {}
    for each in placement.choices:
        position = each.step.container
        shares[position] = shares.get(position, ()) + _shares_at(node, each, row)
    return Allocation(
        node.name,
        tuple(
            ContainerShares(container.name, container.role, shares.get(position, ()))
            for position, container in enumerate(request.containers)
        ),
    )


def tenant_for(request: Request, allocation: Allocation) -> Tenant:
    """The ledger's entry for a request that got its cards."""
    return Tenant(
        pod=request.pod,
        allocation=allocation,
        qos=request.qos,
        app_class=request.app_class,
        priority=request.priority,
        host=request.host,
        # As a pod without init containers is read back: nothing of it has yet to end.
        init_done=all(container.role is not Role.INIT for container in request.containers),
    )


def _shares_at(node: Node, chosen: StepChoice, row: int) -> tuple[Share, ...]:
    turn, units = chosen.choice.turn[row], chosen.choice.units[row]
    columns = sorted(
        (column for column in range(len(node.cards)) if turn[column]), key=lambda column: turn[column]
    )
    needs = chosen.needs
    return tuple(
        Share(
            card=node.cards[column].uuid,
            index=node.cards[column].index,
            memory=Bytes(needs.memory if isinstance(needs.memory, int) else int(needs.memory[row, column])),
            cores=needs.cores if isinstance(needs.cores, int) else int(needs.cores[row, column]),
            kind=chosen.step.ask.kind,
        )
        for column in columns
        for _ in range(int(units[column]))
    )
