"""A cluster at one moment: what its cards are, who sits on them, and who waits.

Everything is read from the ledger that decisions are made on, and the reasons of those who wait come from the engine,
so a page made of this agrees with what `explain` says. That a node is not ready is read from the taints the node
controller sets: they, and not the condition behind them, keep pods away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tangram.engine.columns import CLASS_NUMBER, QOS_NUMBER
from tangram.engine.demand import Demand
from tangram.engine.holdings import Charge, Holding
from tangram.engine.ledger import Ledger
from tangram.engine.room import Room, room_of
from tangram.model.cards import AppClass, Card
from tangram.model.nodes import Node
from tangram.model.pods import Pod
from tangram.model.requests import AskKind
from tangram.reports import shape
from tangram.reports.asking import Asked
from tangram.reports.status_pending import pending_pods
from tangram.reports.status_shape import (
    CORDONED,
    FREE,
    NOT_READY,
    READY,
    TERMINATING,
    UNHEALTHY,
    USED,
    CardStatus,
    Holder,
    NodeStatus,
    StatusReport,
    Totals,
)
from tangram.units.ids import CardUuid, PodUid, natural_key

_CLASSES: Final = [(str(each), CLASS_NUMBER[each]) for each in AppClass]
_NOT_READY_TAINTS: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_NO_PHASES: Final[Mapping[PodUid, str]] = {}


class Scene(NamedTuple):
    """What there is to tell of."""

    ledger: Ledger
    pending: Sequence[Asked]
    """Pods that wait for cards."""
    demand: Demand
    """Pods to expect."""
    pods: Sequence[Pod] = ()
    """Every pod, for its phase, where that is known."""
    problems: Sequence[shape.Remark] = ()
    source: str = shape.FROM_FILE


def status_of(scene: Scene, *, namespace: str | None = None) -> StatusReport:
    """The whole cluster; with a namespace, no pods but its own are named."""
    phases = {pod.ref.uid: TERMINATING if pod.terminating else str(pod.phase) for pod in scene.pods}
    everything = sorted(scene.ledger.nodes(), key=lambda node: natural_key(node.name))
    nodes = [node_status(scene.ledger, node, phases, namespace) for node in everything if node.cards]
    asked = [each for each in scene.pending if namespace in (None, each[0].namespace)]
    pending = pending_pods(scene.ledger, asked, scene.demand)
    return StatusReport(
        source=scene.source,
        namespace=namespace,
        totals=_totals(scene, nodes, len(everything)),
        nodes=nodes,
        plain_nodes=[node.name for node in everything if not node.cards],
        pending=pending,
        problems=list(scene.problems),
    )


def node_status(
    ledger: Ledger, node: Node, phases: Mapping[PodUid, str] = _NO_PHASES, namespace: str | None = None
) -> NodeStatus:
    """One node, with its cards and whoever is on them."""
    found: dict[int, list[tuple[Holding, Charge]]] = {}
    for holding in ledger.holdings_on(node.name):
        for charge in holding.charges:
            found.setdefault(charge.column, []).append((holding, charge))
    cards = [_card(card, found.get(column, ()), phases, namespace) for column, card in enumerate(node.cards)]
    return NodeStatus(
        node=node.name,
        state=_node_state(node),
        cards=sorted(cards, key=lambda card: card.index),
        cards_free=sum(card.state == FREE for card in cards),
        memory=sum(card.memory for card in cards),
        memory_used=sum(card.memory_used for card in cards),
        compute=float(len(cards)),
        compute_used=_rounded(sum(card.cores_used / card.cores for card in cards if card.cores)),
    )


def _node_state(node: Node) -> str:
    if any(taint.key in _NOT_READY_TAINTS for taint in node.taints):
        return NOT_READY
    return CORDONED if node.unschedulable else READY


def _card(
    card: Card,
    held: Iterable[tuple[Holding, Charge]],
    phases: Mapping[PodUid, str],
    namespace: str | None,
) -> CardStatus:
    held = list(held)
    named = [each for each in held if namespace in (None, each[0].tenant.pod.namespace)]
    holders = [_holder(holding, charge, card.uuid, phases) for holding, charge in named]
    return CardStatus(
        index=card.index,
        uuid=card.uuid,
        vendor=card.vendor,
        product=card.product,
        mode=card.mode,
        state=_card_state(card, used=bool(held)),
        reason="" if card.healthy else card.health_reason,
        memory=card.memory,
        memory_used=sum(charge.memory for _, charge in held),
        cores=card.cores,
        cores_used=sum(charge.cores for _, charge in held),
        slots=card.slots,
        slots_used=sum(charge.slots for _, charge in held),
        holders=sorted(holders, key=lambda holder: natural_key(holder.pod)),
        other_holders=len(held) - len(holders),
        numa=card.numa,
        qos=_qos(card, held),
        cordoned=card.cordoned,
        app_class=", ".join(
            name for name, number in _CLASSES if any(each.app_class == number for _, each in held)
        ),
    )


def _qos(card: Card, held: Iterable[tuple[Holding, Charge]]) -> str:
    """What the tenants hold the card to; nobody but the node knows it where they leave it open."""
    pins = {charge.qos for _, charge in held}
    pinned = next((policy for policy, number in QOS_NUMBER.items() if number in pins), card.announced_qos)
    return "" if pinned is None else pinned


def _card_state(card: Card, *, used: bool) -> str:
    if not card.healthy:
        return UNHEALTHY
    return CORDONED if card.cordoned else USED if used else FREE


def _holder(holding: Holding, charge: Charge, card: CardUuid, phases: Mapping[PodUid, str]) -> Holder:
    tenant = holding.tenant
    shares = [
        share
        for container in tenant.allocation.containers
        for share in container.shares
        if share.card == card
    ]
    return Holder(
        pod=str(tenant.pod),
        memory=charge.memory,
        cores=charge.cores,
        whole=any(share.kind is AskKind.WHOLE for share in shares),
        phase=phases.get(tenant.pod.uid, ""),
        guessed=tenant.guessed,
        slots=charge.slots,
    )


def _totals(scene: Scene, nodes: Sequence[NodeStatus], all_nodes: int) -> Totals:
    cards = [card for node in nodes for card in node.cards]
    room, kinds = _room(scene), len(scene.demand.shapes)
    return Totals(
        nodes=all_nodes,
        nodes_with_cards=len(nodes),
        cards=len(cards),
        cards_free=sum(node.cards_free for node in nodes if node.state == READY),
        cards_unhealthy=sum(card.state == UNHEALTHY for card in cards),
        cards_cordoned=sum(card.state == CORDONED for card in cards),
        pods=sum(bool(holding.charges) for holding in scene.ledger.holdings()),
        pending=len(scene.pending),
        memory=sum(node.memory for node in nodes),
        memory_used=sum(node.memory_used for node in nodes),
        compute=float(len(cards)),
        compute_used=_rounded(sum(node.compute_used for node in nodes)),
        fragmented=_rounded(room.fragmented / room.idle) if kinds and room.idle > 0 else None,
        idle=_rounded(room.idle),
        fragmented_cards=_rounded(room.fragmented) if kinds else 0.0,
        idle_without_demand=_rounded(room.without_demand) if kinds else 0.0,
        kinds=kinds,
    )


def _room(scene: Scene) -> Room:
    room = Room()
    for room in room_of(scene.ledger, scene.demand):  # noqa: B007 - only the last one is whole
        pass
    return room


def _rounded(figure: float) -> float:
    """Sums of fractions come out the same whatever they were added up in."""
    return round(figure, 4)
