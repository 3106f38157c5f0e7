"""Ledgers with nodes and pods already in them."""

from typing import NamedTuple

import numpy as np

from builders.requests import pod
from tangram.engine.fit import card_rules
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Allocation, ContainerShares, Share, Tenant
from tangram.model.cards import AppClass, QosPolicy
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import AskKind, CardOrder, HostAsk, Request
from tangram.model.verdicts import CardRule
from tangram.units.ids import NodeName
from tangram.units.memory import Bytes, from_gib


class Part(NamedTuple):
    """A part of the card at a position of its node."""

    card: int
    memory: Bytes = from_gib(1)
    cores: int = 10
    kind: AskKind = AskKind.SLICE


def ledger_of(*nodes: Node) -> Ledger:
    ledger = Ledger()
    for node in nodes:
        ledger.put_node(node)
    return ledger


def share(node: Node, part: Part) -> Share:
    held = node.cards[part.card]
    return Share(held.uuid, held.index, part.memory, part.cores, part.kind)


def tenant(
    name: str,
    node: Node,
    *parts: Part,
    qos: QosPolicy | None = QosPolicy.BEST_EFFORT,
    app_class: AppClass | None = None,
    priority: int = 0,
    protected_by: tuple[str, ...] = (),
    host: HostAsk | None = None,
) -> Tenant:
    """A pod with one app container that holds the parts."""
    shares = tuple(share(node, part) for part in parts)
    return Tenant(
        pod=pod(name),
        allocation=Allocation(node.name, (ContainerShares("c0", Role.APP, shares),)),
        qos=qos,
        app_class=app_class,
        priority=priority,
        protected_by=protected_by,
        host=host or HostAsk(),
    )


def rules(ledger: Ledger, asked: Request, node: str = "n") -> list[CardRule]:
    """Per card of the node, the first rule that the request's first ask fails."""
    view = ledger.view((NodeName(node),))
    ask = next(ask for container in asked.containers for ask in container.asks)
    mutex = CardOrder.MUTEX in asked.card_order
    found, _ = card_rules(view, view.use, ask, asked, mutex=mutex)
    width = int(np.count_nonzero(view.facts.present[0]))
    return [CardRule(int(rule)) for rule in found[0, :width]]
