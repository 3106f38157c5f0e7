"""The process that replays: a question on standard input, an answer on standard output, and the engine in between.

It is another process than the dashboard because the engine and numpy weigh more than all pages together, and because a
replay may take a whole core for seconds, which nobody who looks at a page should feel. It is run at low priority. Links
between cards and the hosts' processors and memory are not looked at, because the records of the dashboard lack them.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Final, NamedTuple

import msgspec
import numpy as np

from tangram.engine.allocate import tenant_for
from tangram.engine.decide import Memo, decide
from tangram.engine.demand import Demand, Shape, demand_from, shape_of
from tangram.engine.frag import FragScores
from tangram.engine.fragmentation import Fragmentation
from tangram.engine.ledger import Ledger
from tangram.engine.place import Defaults
from tangram.engine.room import Room, room_of
from tangram.model.allocations import Allocation, ContainerShares, Share
from tangram.model.cards import Card, CardMode, Vendor
from tangram.model.nodes import Node
from tangram.model.pods import PodRef, Role
from tangram.model.requests import Ask, AskKind, CardOrder, ContainerAsk, NodePolicy, Request, Vocabulary
from tangram.units.ids import CardUuid, Namespace, NodeName, PodName, PodUid
from tangram.units.memory import Bytes
from tangram.web.replay.shape import (
    Answer,
    CardAsked,
    Model,
    Outcome,
    PodAsked,
    Question,
    ShareAsked,
    Typical,
    WaitingAsked,
)

NICENESS: Final = 15
SEEDS: Final = (42, 43, 44)
MOST_MORE: Final = 3000
"""Further pods that are tried. Where one order of arrival has so many, there is no second one."""


class _Pod(NamedTuple):
    request: Request
    allocation: Allocation


def main() -> int:
    """Answer one question."""
    os.nice(NICENESS)
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    sys.stdout.buffer.write(msgspec.json.encode(answer(question)))
    return 0


def answer(question: Question) -> Answer:
    """Place the pods of a question under both of its policies."""
    begin = time.perf_counter()
    nodes = [_node(number, cards) for number, cards in enumerate(question.nodes)]
    pods = [_pod(number, asked, nodes[asked.node]) for number, asked in enumerate(question.pods)]
    demand = demand_from(
        [shape_of(pod.request) for pod in pods] + [_waiting_shape(pod) for pod in question.waiting]
    )
    orders = tuple(CardOrder(word) for word in question.card_policy) or (CardOrder.SPREAD,)
    outcomes = [
        _outcome(nodes, pods, demand, Defaults(node_policy=NodePolicy(policy), card_order=orders))
        for policy in (question.policy, question.rival)
    ]
    return Answer(
        outcomes=outcomes,
        typical=[_typical(shape, share) for shape, share in demand.shapes],
        models=_models(nodes, pods, demand),
        seconds=round(time.perf_counter() - begin, 3),
    )


def _outcome(nodes: Sequence[Node], pods: Sequence[_Pod], demand: Demand, defaults: Defaults) -> Outcome:
    ledger, memo, frag = _ledger(nodes), Memo(), FragScores(demand)
    placed = sum(_placed(ledger, pod.request, defaults, memo, frag) for pod in pods)
    room = _room(ledger, demand)
    found: list[tuple[int, int, float]] = []
    for seed in SEEDS:
        tried = list(_further(nodes, demand, seed, room.idle))
        new = [request.pod.uid for request in tried if _placed(ledger, request, defaults, memo, frag)]
        found.append((len(tried), len(new), room.idle - _room(ledger, demand).idle))
        for uid in new:
            ledger.remove(uid)
        if sum(count for count, _, _ in found) >= MOST_MORE / 2:
            break
    return Outcome(
        policy=defaults.node_policy,
        placed=placed,
        idle=round(room.idle, 4),
        fragmented=round(room.fragmented, 4),
        tried=round(fmean(tried for tried, _, _ in found), 2),
        more=round(fmean(count for _, count, _ in found), 2),
        more_cards=round(fmean(cards for _, _, cards in found), 4),
    )


def _room(ledger: Ledger, demand: Demand) -> Room:
    *_, room = room_of(ledger, demand)
    return room


def _ledger(nodes: Iterable[Node]) -> Ledger:
    ledger = Ledger()
    for node in nodes:
        ledger.put_node(node)
    return ledger


def _placed(ledger: Ledger, request: Request, defaults: Defaults, memo: Memo, frag: FragScores) -> bool:
    decision = decide(ledger, request, defaults, memo=memo, frag=frag)
    if decision.allocation is None:
        return False
    ledger.put_tenant(tenant_for(request, decision.allocation))
    return True


def _further(nodes: Sequence[Node], demand: Demand, seed: int, idle: float) -> Iterator[Request]:
    """Typical pods, as likely as they are typical, the same for every policy."""
    shapes = [(shape, weight) for shape, weight in demand.shapes if shape.count and shape.vendor is not None]
    if not shapes:
        return
    order = random.Random(seed)  # noqa: S311 - a repeatable order of arrival; nothing here guards a secret
    drawn = order.choices([shape for shape, _ in shapes], [weight for _, weight in shapes], k=MOST_MORE)
    cards = [card for node in nodes for card in node.cards]
    asked = 0.0
    for number, shape in enumerate(drawn):
        asked += _worth(shape, cards)
        if asked > idle:
            return
        yield _request(f"more-{seed}-{number}", [(_ask(shape), "main")])


def _worth(shape: Shape, cards: Sequence[Card]) -> float:
    """Cards' worth, on the first card of that vendor: only how long the stream is hangs on it."""
    card = next((each for each in cards if each.vendor is shape.vendor), None)
    if card is None or shape.kind is AskKind.WHOLE:
        return float(shape.count)
    part = max((shape.memory or 0) / max(card.memory, 1), (shape.cores or 0) / max(card.cores, 1))
    return shape.count * max(part, 0.01)


def _models(nodes: Sequence[Node], pods: Sequence[_Pod], demand: Demand) -> list[Model]:
    """The cluster as it is now, by model of card."""
    ledger = _ledger(nodes)
    for pod in pods:
        ledger.put_tenant(tenant_for(pod.request, pod.allocation))
    view = ledger.view()
    room = Fragmentation(demand).measure(view)
    found: dict[tuple[str, str], list[int]] = {}
    for number, model in enumerate(view.models.values):
        found.setdefault((model.vendor, model.product), []).append(number)
    models: list[Model] = []
    for (vendor, product), numbers in sorted(found.items()):
        own = view.facts.present & np.isin(view.facts.model, numbers)
        models.append(
            Model(
                vendor=vendor,
                product=product,
                cards=int(own.sum()),
                idle=round(float(room.idle[own].sum()), 4),
                fragmented=round(float(room.fragmented[own].sum()), 4),
                without_demand=round(float(room.without_demand[own].sum()), 4),
            )
        )
    return models


def _node(number: int, cards: Sequence[CardAsked]) -> Node:
    return Node(
        name=NodeName(f"n{number:05}"),
        cards=tuple(
            Card(
                uuid=CardUuid(f"c{number}-{position}"),
                index=position,
                vendor=Vendor(card.vendor),
                memory=Bytes(card.memory),
                product=card.product,
                cores=card.cores,
                slots=card.slots,
                mode=CardMode(card.mode),
            )
            for position, card in enumerate(cards)
        ),
    )


def _pod(number: int, asked: PodAsked, node: Node) -> _Pod:
    """A pod as it would have asked for what it holds: like shares are one container's."""
    groups: dict[tuple[bool, int, int], list[ShareAsked]] = {}
    for share in asked.shares:
        kind_of = (True, 0, 0) if share.whole else (False, share.memory, share.cores)
        groups.setdefault(kind_of, []).append(share)
    asks: list[tuple[Ask, str]] = []
    containers: list[ContainerShares] = []
    for (whole, memory, cores), shares in groups.items():
        name = f"c{len(asks)}"
        kind = AskKind.WHOLE if whole else AskKind.SLICE
        units = [share for share in shares for _ in range(max(share.slots, 1) if whole else 1)]
        ask = Ask(
            vendor=node.cards[shares[0].card].vendor,
            kind=kind,
            count=len(units),
            memory=None if whole else Bytes(memory),
            cores=None if whole else cores,
            vocabulary=Vocabulary.PLAIN,
        )
        asks.append((ask, name))
        given = [
            Share(
                card=node.cards[share.card].uuid,
                index=share.card,
                memory=Bytes(share.memory // (max(share.slots, 1) if whole else 1)),
                cores=share.cores // (max(share.slots, 1) if whole else 1),
                kind=kind,
            )
            for share in units
        ]
        containers.append(ContainerShares(name, Role.APP, tuple(given)))
    return _Pod(_request(f"p{number}", asks), Allocation(node.name, tuple(containers)))


def _request(name: str, asks: Sequence[tuple[Ask, str]]) -> Request:
    return Request(
        pod=PodRef(Namespace("replay"), PodName(name), PodUid(name)),
        containers=tuple(ContainerAsk(container, Role.APP, (ask,)) for ask, container in asks),
    )


def _ask(shape: Shape) -> Ask:
    return Ask(
        vendor=shape.vendor or Vendor.GENERIC,
        kind=shape.kind,
        count=shape.count,
        memory=shape.memory,
        memory_percent=shape.memory_percent,
        cores=shape.cores,
        vocabulary=Vocabulary.PLAIN,
    )


def _waiting_shape(pod: WaitingAsked) -> Shape:
    whole = pod.memory == 0
    return Shape(
        count=pod.cards,
        vendor=Vendor(pod.vendor),
        kind=AskKind.WHOLE if whole else AskKind.SLICE,
        memory=None if whole else Bytes(pod.memory),
        cores=None if whole else pod.cores,
    )


def _typical(shape: Shape, share: float) -> Typical:
    return Typical(
        share=round(share, 6),
        vendor=shape.vendor or "",
        whole=shape.kind is AskKind.WHOLE,
        cards=shape.count,
        memory=shape.memory or 0,
        cores=shape.cores or 0,
    )


if __name__ == "__main__":
    sys.exit(main())
