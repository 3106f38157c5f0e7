"""A request again from what a pod holds, for questions about pods whose wishes nobody keeps.

Of a pod that has its place only its cards are known: how much of each, and under which policy and class. It is asked
about as if it had asked for just that. What it wished beside, a policy or a scope of its own, cards it would not have,
is not known any more, so the cluster's defaults stand in for it.
"""

from __future__ import annotations

from collections import Counter

from tangram.model.allocations import ContainerShares, Tenant
from tangram.model.cards import Card
from tangram.model.nodes import Node
from tangram.model.requests import Ask, AskKind, ContainerAsk, Request, Vocabulary
from tangram.units.ids import CardUuid


def request_as_held(tenant: Tenant, node: Node) -> Request:
    """What would have to be asked on that node to get what the tenant has."""
    cards = {card.uuid: card for card in node.cards}
    containers = tenant.allocation.containers
    sharing, held = [container for container in containers if container.shares], tenant.allocation.cards
    return Request(
        pod=tenant.pod,
        containers=tuple(
            ContainerAsk(container.name, container.role, _asks(container, cards)) for container in containers
        ),
        qos=tenant.qos,
        app_class=tenant.app_class,
        one_card=cards[held[0]].vendor if len(sharing) > 1 and len(held) == 1 and held[0] in cards else None,
        priority=tenant.priority,
    )


def _asks(container: ContainerShares, cards: dict[CardUuid, Card]) -> tuple[Ask, ...]:
    """Equal shares of cards of one maker are one ask; shares of cards that are gone ask for nothing."""
    alike = Counter(
        (cards[share.card].vendor, share.kind, share.memory, share.cores)
        for share in container.shares
        if share.card in cards
    )
    return tuple(
        Ask(
            vendor=vendor,
            kind=kind,
            count=count,
            memory=memory if kind is AskKind.SLICE else None,
            cores=cores if kind is AskKind.SLICE else None,
            vocabulary=Vocabulary.PLAIN,
        )
        for (vendor, kind, memory, cores), count in alike.items()
    )
