"""The sets of cards that were weighed on a node, as they are reported: by the numbers people see on the cards."""

from __future__ import annotations

from tangram.engine.alternatives import alternatives
from tangram.engine.as_held import request_as_held
from tangram.engine.frag import FragScores
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.model.allocations import Tenant
from tangram.model.nodes import Node
from tangram.model.requests import Request
from tangram.reports.shape import CardSet
from tangram.units.ids import NodeName


def card_sets(
    ledger: Ledger, request: Request, node: NodeName, defaults: Defaults, frag: FragScores | None
) -> list[CardSet]:
    """What the pod holds or would get there, then those it was compared with; empty where there was no choice."""
    known = ledger.node(node)
    numbers = {} if known is None else {card.uuid: card.index for card in known.cards}
    return [
        CardSet(
            cards=sorted(numbers[uuid] for uuid in each.cards if uuid in numbers),
            chosen=each.chosen,
            score=round(each.score, 4),
            loss=round(each.loss, 4),
            least_loss=each.least_loss,
        )
        for each in alternatives(ledger, request, node, defaults, frag=frag)
    ]


def held_sets(
    ledger: Ledger, tenant: Tenant, node: Node, defaults: Defaults, frag: FragScores | None
) -> list[CardSet]:
    """The same for a pod that has its place, by what it holds: nothing else is kept of it."""
    return card_sets(ledger, request_as_held(tenant, node), node.name, defaults, frag)
