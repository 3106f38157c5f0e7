"""Whether a written allocation can be what a running pod holds: what its kubelet counted, on cards of its node.

An annotation may be spoilt: by a hand, by a program that mistook one node for another, by a card that is not there any
more. Believing it would leave the cards that the pod really has for others to buy. So an allocation that does not agree
with the request is no allocation, and the pod counts as one without an allocation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from tangram.model.allocations import Share
from tangram.model.cards import Card, CardMode, Vendor, whole_unit
from tangram.model.nodes import Node
from tangram.model.pods import Role
from tangram.model.requests import AskKind, ContainerAsk, Request
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes
from tangram.wire.errors import shown
from tangram.wire.held import Held

_Cards = dict[CardUuid, Card]


def as_counted(held: Held, request: Request, node: Node | None) -> Held:
    """The same shares, of which those are whole that were asked for whole: all of the card, whatever is written."""
    cards = _cards(node)
    if held.per_pod:
        whole = _only_whole(request.containers)
        return Held(per_pod=_made_whole(held.per_pod, cards)) if whole else held
    return Held(
        per_container=tuple(
            _made_whole(shares, cards) if _only_whole((asking,)) else shares
            for shares, asking in zip(held.per_container, request.containers, strict=True)
        )
    )


def disagreement(held: Held, request: Request, node: Node | None) -> str | None:
    """The first reason why the shares cannot be what the pod holds, as a clause of a sentence about it; None if none.

    Of a node of which no card is known only numbers are compared.
    """
    cards = _cards(node)
    every = (*held.per_pod, *(share for shares in held.per_container for share in shares))
    gone = next((share for share in every if cards and share.card not in cards), None)
    if gone is not None:
        return f"its allocation names {shown(gone.card)}, which its node does not have"
    return _wrong_number(held, request.containers) or _wrong_card(held, request.containers, cards)


def _cards(node: Node | None) -> _Cards:
    return {} if node is None else {card.uuid: card for card in node.cards}


def _only_whole(containers: Iterable[ContainerAsk]) -> bool:
    kinds = {ask.kind for each in containers for ask in each.asks}
    return kinds == {AskKind.WHOLE}


def _made_whole(shares: tuple[Share, ...], cards: _Cards) -> tuple[Share, ...]:
    def whole(share: Share) -> Share:
        card = cards.get(share.card)
        memory, cores = (Bytes(0), 0) if card is None else whole_unit(card)
        return replace(
            share, kind=AskKind.WHOLE, memory=max(share.memory, memory), cores=max(share.cores, cores)
        )

    return tuple(whole(share) for share in shares)


def _wrong_number(held: Held, containers: tuple[ContainerAsk, ...]) -> str | None:
    asked = [_count(each) for each in containers]
    if held.per_pod:
        # One list for the pod: slices that containers share are one entry. Of whole cards the kubelet gives each
        # container its own, but those that an init container had are had again.
        whole = _only_whole(containers)
        got, most = len(held.per_pod), _at_once(containers) if whole else sum(asked)
        least = most if whole else max(asked)
        fewer, more = got < least, got > most
    else:
        pairs = list(zip(map(len, held.per_container), asked, strict=True))
        fewer, more = any(got < wanted for got, wanted in pairs), any(got > wanted for got, wanted in pairs)
    if fewer:
        return "its annotation names fewer cards than it asks for"
    return "its annotation names more cards than it asks for" if more else None


def _count(container: ContainerAsk) -> int:
    return sum(ask.count for ask in container.asks)


def whole_at_once(request: Request, vendor: Vendor) -> int:
    """The most whole cards of the vendor that the pod has at one time."""
    return _most(
        (each.role, sum(ask.count for ask in each.asks if ask.kind is AskKind.WHOLE and ask.vendor is vendor))
        for each in request.containers
    )


def _at_once(containers: tuple[ContainerAsk, ...]) -> int:
    return _most((each.role, _count(each)) for each in containers)


def _most(counts: Iterable[tuple[Role, int]]) -> int:
    """The largest sum at one time, as a kubelet counts: init containers run one by one before the containers."""
    staying = peak = 0
    for role, count in counts:
        if role is Role.INIT:
            peak = max(peak, staying + count)
        else:
            staying += count
    return max(peak, staying)


def _wrong_card(held: Held, containers: tuple[ContainerAsk, ...], cards: _Cards) -> str | None:
    if held.per_pod:
        asks = [ask for each in containers for ask in each.asks]
        rows = [(held.per_pod, {ask.vendor for ask in asks})]
        together = held.per_pod
    else:
        rows = [
            (shares, {ask.vendor for ask in each.asks})
            for shares, each in zip(held.per_container, containers, strict=True)
        ]
        together = tuple(
            share
            for shares, each in zip(held.per_container, containers, strict=True)
            if each.role is not Role.INIT
            for share in shares
        )
    for shares, vendors in rows:
        for share in shares:
            card = cards.get(share.card)
            if card is not None and card.vendor not in vendors:
                return f"its allocation names {shown(share.card)}, a card of another vendor than it asks for"
    for shares in (together, *(shares for shares, _ in rows)):
        twice = _twice(shares, cards)
        if twice is not None:
            return f"its allocation names {shown(twice)} twice, which is one card"
    return None


def _twice(shares: tuple[Share, ...], cards: _Cards) -> CardUuid | None:
    """A card that is handed out once and is named again."""
    once = Counter(
        share.card
        for share in shares
        if share.kind is AskKind.WHOLE
        and (card := cards.get(share.card)) is not None
        and card.mode not in (CardMode.VIRTUAL, CardMode.SHARED)
    )
    return next((card for card, times in once.items() if times > 1), None)
