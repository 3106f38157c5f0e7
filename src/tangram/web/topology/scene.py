"""One node as one person may see it: what the picture draws and the tables beside it list.

Narrowing happens here and once, so that nothing drawn later can know a name that its viewer may not. Pods outside the
sight are one amount per card: neither their names nor their single shares are in a scene.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from tangram.reports.charging import holds_whole
from tangram.reports.shape import CardSet
from tangram.reports.status_shape import CardStatus
from tangram.reports.view_shape import LinkView, NodeDetail
from tangram.web.sight import Sight
from tangram.web.topology.owners import dress

_VENDOR_OF_LINK: Final = {"MX": "metax", "MT": "mthreads"}


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What one pod has of a card, or all pods together that may not be named."""

    pod: str
    """`namespace/name`; empty for pods of other namespaces."""
    pods: int = 1
    memory: int
    cores: int
    whole: bool = False
    phase: str = ""
    guessed: bool = False
    dress: int = -1
    """Which colour and pattern stands for it; the same on every card of the node."""


class CardSeen(msgspec.Struct, frozen=True, kw_only=True):
    card: CardStatus
    """With no holder that may not be seen."""
    shares: tuple[Share, ...]

    @property
    def index(self) -> int:
        return self.card.index


class Joint(msgspec.Struct, frozen=True):
    """What joins the cards at two positions of the scene, the smaller first."""

    a: int
    b: int
    kind: str
    pcie: str
    lanes: int


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    cards: tuple[CardSeen, ...]
    joints: tuple[Joint, ...]
    """Each pair at most once."""
    joints_known: bool
    chosen: frozenset[int] = frozenset()
    """Positions."""
    runner_up: frozenset[int] = frozenset()

    @property
    def links(self) -> list[Joint]:
        """Those over which cards speak directly."""
        return [joint for joint in self.joints if joint.kind]


def scene_of(detail: NodeDetail, sight: Sight) -> Scene:
    """What is left of a node for that sight."""
    cards = detail.node.cards
    named = {holder.pod for card in cards for holder in card.holders if sight.of_pod(holder.pod)}
    dresses = dress(named)
    return Scene(
        node=detail.node.node,
        cards=tuple(_seen(card, sight, dresses) for card in cards),
        joints=_joints(detail.links, cards) if detail.links_known else (),
        joints_known=detail.links_known,
        chosen=_positions(cards, (each for each in detail.sets if each.chosen)),
        runner_up=_positions(cards, [each for each in detail.sets if not each.chosen][:1]),
    )


def _seen(card: CardStatus, sight: Sight, dresses: Mapping[str, int]) -> CardSeen:
    holders = [holder for holder in card.holders if sight.of_pod(holder.pod)]
    shares = [
        Share(
            pod=holder.pod,
            memory=holder.memory,
            cores=holder.cores,
            whole=holds_whole(card, holder),
            phase=holder.phase,
            guessed=holder.guessed,
            dress=dresses[holder.pod],
        )
        for holder in holders
    ]
    others = len(card.holders) - len(holders) + card.other_holders
    if others:
        # What is left rather than the sum of those: a card may also say of holders only how many there are.
        shares.append(
            Share(
                pod="",
                pods=others,
                memory=max(0, card.memory_used - sum(holder.memory for holder in holders)),
                cores=max(0, card.cores_used - sum(holder.cores for holder in holders)),
            )
        )
    return CardSeen(
        card=msgspec.structs.replace(card, holders=holders, other_holders=others), shares=tuple(shares)
    )


def _joints(links: Sequence[LinkView], cards: Sequence[CardStatus]) -> tuple[Joint, ...]:
    """By position. A link to a card that is not there, to itself or said twice is left out: it cannot be drawn."""
    found: dict[tuple[int, int], Joint] = {}
    for link in links:
        a, b = (_position(cards, number, link.kind) for number in (link.a, link.b))
        if a is None or b is None or a == b:
            continue
        low, high = min(a, b), max(a, b)
        found.setdefault((low, high), Joint(low, high, link.kind, link.pcie, max(1, link.lanes)))
    return tuple(found[pair] for pair in sorted(found))


def _position(cards: Sequence[CardStatus], number: int, kind: str) -> int | None:
    """Of a card by its number; where two vendors count by themselves, the link's kind says whose number it is."""
    able = [at for at, card in enumerate(cards) if card.index == number]
    own = [at for at in able if cards[at].vendor == _VENDOR_OF_LINK.get(kind)]
    return next(iter(own or able), None)


def _positions(cards: Sequence[CardStatus], sets: Iterable[CardSet]) -> frozenset[int]:
    numbers = {number for each in sets for number in each.cards}
    return frozenset(at for at, card in enumerate(cards) if card.index in numbers)
