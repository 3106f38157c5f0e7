"""The nodes and cards behind an answer, with verdicts, amounts and what is left of each."""

from __future__ import annotations

from typing import NamedTuple

from tangram.engine.ledger import Ledger
from tangram.engine.view import View
from tangram.engine.wording import card_sentence, node_sentence
from tangram.model.allocations import Allocation
from tangram.model.nodes import Node
from tangram.model.requests import Request
from tangram.model.verdicts import CardVerdict, Explanation, NodeVerdict
from tangram.reports import shape
from tangram.reports.seeing import Sees, everything, named
from tangram.reports.words import card_numbers, rule_word
from tangram.units.ids import NodeName, PodUid


class _Scene(NamedTuple):
    """What is left of each card of the cluster. What the pod itself holds counts as free, as it does in the filter."""

    ledger: Ledger
    asker: PodUid
    sees: Sees
    view: View
    position: dict[int, int]


def node_reports(
    ledger: Ledger, request: Request, explanation: Explanation, sees: Sees = everything
) -> list[shape.NodeReport]:
    """Every node of an explanation, with every card, what is free of it and who holds the rest."""
    names = [verdict.node for verdict in explanation.nodes]
    view = ledger.view(names, without=(request.pod.uid,))
    position = {int(row): at for at, row in enumerate(view.rows)}
    scene = _Scene(ledger, request.pod.uid, sees, view, position)
    return [_node(scene, verdict, chosen=explanation.chosen) for verdict in explanation.nodes]


def _node(scene: _Scene, verdict: NodeVerdict, *, chosen: NodeName | None) -> shape.NodeReport:
    node, row = scene.ledger.node(verdict.node), scene.ledger.row_of(verdict.node)
    return shape.NodeReport(
        node=verdict.node,
        verdict=rule_word(verdict.rule),
        chosen=verdict.node == chosen,
        sentence=_node_words(verdict),
        score=verdict.score if verdict.fits else None,
        container=verdict.container,
        need=verdict.need,
        have=verdict.have,
        detail=verdict.detail,
        containers=container_reports(verdict.allocation),
        cards=[] if node is None or row is None else _cards(scene, scene.position[row], node, verdict),
    )


def _holders(scene: _Scene, node: NodeName) -> dict[int, list[str]]:
    """Who holds a part of each card of a node, by the card's column."""
    holders: dict[int, list[str]] = {}
    for holding in scene.ledger.holdings_on(node):
        pod = holding.tenant.pod
        if pod.uid != scene.asker:
            for charge in holding.charges:
                holders.setdefault(charge.column, []).append(named(pod, scene.sees))
    return holders


def _node_words(verdict: NodeVerdict) -> str:
    if verdict.allocation is None:
        return node_sentence(verdict)
    numbers = card_numbers(verdict.allocation)
    return f"{'card' if len(numbers) == 1 else 'cards'} {', '.join(map(str, numbers))}"


def _cards(scene: _Scene, at: int, node: Node, verdict: NodeVerdict) -> list[shape.CardReport]:
    use, holders = scene.view.use, _holders(scene, node.name)
    chosen = () if verdict.allocation is None else verdict.allocation.cards
    known = {card.card: card for card in verdict.cards}
    cards: list[shape.CardReport] = []
    for column, card in enumerate(node.cards):
        found = known.get(card.uuid)
        word = _card_word(found, taken=card.uuid in chosen)
        cards.append(
            shape.CardReport(
                index=card.index,
                uuid=card.uuid,
                verdict=word,
                sentence=word if found is None or card.uuid in chosen else card_sentence(found),
                need=0 if found is None else found.need,
                have=0 if found is None else found.have,
                detail="" if found is None else found.detail,
                memory=card.memory,
                memory_free=card.memory - int(use.memory[at, column]),
                cores=card.cores,
                cores_free=card.cores - int(use.cores[at, column]),
                pods=int(use.slots[at, column]),
                holders=sorted(holders.get(column, ())),
            )
        )
    return cards


def _card_word(found: CardVerdict | None, *, taken: bool) -> str:
    if taken:
        return "chosen"
    return "not-tried" if found is None else rule_word(found.rule)


def container_reports(allocation: Allocation | None) -> list[shape.ContainerReport]:
    """What each container that gets cards gets."""
    if allocation is None:
        return []
    return [
        shape.ContainerReport(
            container=container.name,
            role=container.role,
            cards=[
                shape.GivenCard(
                    index=share.index,
                    uuid=share.card,
                    memory=share.memory,
                    cores=share.cores,
                    kind=share.kind,
                )
                for share in sorted(container.shares, key=lambda share: share.index)
            ],
        )
        for container in allocation.containers
        if container.shares
    ]
