"""One card of the picture: number and model, state, two bars of shares, and names for as many of them as fit.

State and owners are told by shape, pattern and word besides colour. What does not fit is in the card's title and in the
table below the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.reports.status_shape import CORDONED, FREE, UNHEALTHY, USED
from tangram.web.topology.amounts import compute_text, memory_of, memory_text, share_of
from tangram.web.topology.layout import LINE, MOST_LINES, Spot
from tangram.web.topology.marking import element, fitting, number, rect, text, title, width_of
from tangram.web.topology.owners import hue, pattern
from tangram.web.topology.scene import CardSeen, Share
from tangram.web.topology.speech import Speech

_MODES: Final = {
    "native": "whole",
    "sgpu": "sliced",
    "vgpu": "virtual",
    "shared": "shared",
    "undecided": "undecided",
}
_SQUARE: Final = "M2.5 2.5h11v11h-11z"
_SIGNS: Final = {
    FREE: f'<path d="{_SQUARE}"/>',
    USED: f'<path d="{_SQUARE}"/><path class="tp-solid" d="M2.5 7h11v6.5h-11z"/>',
    CORDONED: f'<path d="{_SQUARE}M2.5 8.5l6-6M2.5 13.5l11-11M7.5 13.5l6-6"/>',
    UNHEALTHY: f'<path d="{_SQUARE}M5 5l6 6M11 5l-6 6"/>',
}
_PAD: Final = 12
_SMALL: Final = 11.0
_BAR: Final = 10


def card_box(card: CardSeen, spot: Spot, speech: Speech, extra: Sequence[str] = ()) -> str:
    """`extra` is drawn over it: the marks of a set that it belongs to."""
    said = card.card
    left, right = spot.x + _PAD, spot.x + spot.width - _PAD
    inner = right - left
    state = said.state if said.state in (FREE, CORDONED, UNHEALTHY) else USED
    figure = str(said.index)
    beside = left + width_of(figure, 17) + 9
    parts = [
        title(described(card, speech)),
        rect(spot.x, spot.y, spot.width, spot.height, rx=9, class_="tp-card-box"),
    ]
    if state in (CORDONED, UNHEALTHY):
        shape = f"url(#tp-{state})"
        parts.append(rect(spot.x, spot.y, spot.width, spot.height, rx=9, fill=shape))
    parts += [
        text(figure, left, spot.y + 23, class_="tp-number"),
        text(
            fitting(said.product or said.vendor, right - 20 - beside, 13),
            beside,
            spot.y + 22.5,
            class_="tp-product",
        ),
        _sign(state, right - 13, spot.y + 10),
        text(
            fitting(f"{mode_word(said.mode, speech)} · {state_word(said.state, speech)}", inner, _SMALL),
            left,
            spot.y + 39,
            class_=f"tp-small tp-word-{state}",
        ),
        *_bar(card, spot.y + 58, left, inner, speech, memory=True),
        *_bar(card, spot.y + 87, left, inner, speech, memory=False),
        *_owners(card, spot.y + 118, left, inner, speech),
        *extra,
    ]
    return element("g", "".join(parts), class_=f"tp-card tp-{state}", data_card=said.index)


def described(card: CardSeen, speech: Speech) -> str:
    """Everything of a card in one line."""
    said = card.card
    lines = [
        speech.say("node.card_line", number=said.index, product=said.product or said.vendor),
        f"{mode_word(said.mode, speech)}, {state_word(said.state, speech)}",
        speech.say("node.memory_line", amount=memory_of(said.memory_used, said.memory)),
        speech.say("node.compute_line", amount=compute_text(said.cores_used, said.cores)),
    ]
    return ", ".join([*lines, *(share_line(share, said.cores, speech) for share in card.shares)])


def share_line(share: Share, cores: int, speech: Speech) -> str:
    """Who has how much."""
    return f"{owner_words(share, speech)}: {memory_text(share.memory)}, {compute_text(share.cores, cores)}"


def owner_words(share: Share, speech: Speech) -> str:
    """The pod, or how many there are that may not be named."""
    return share.pod or speech.count("node.other_pods", share.pods)


def mode_word(mode: str, speech: Speech) -> str:
    """How a card is offered; a mode from the future as it is written."""
    word = _MODES.get(mode)
    return speech.say(f"common.mark.{word}") if word else mode


def state_word(state: str, speech: Speech) -> str:
    """Likewise for its state."""
    return speech.say(f"common.mark.{state}") if state in _SIGNS else state


def swatch(share: Share, x: float, y: float, width: float, height: float) -> str:
    """A piece in an owner's colour and pattern."""
    look = f"tp-own tp-own-{hue(share.dress)}" if share.pod else "tp-own tp-own-other"
    parts = [rect(x, y, width, height, class_=look)]
    hatch = f"tp-hatch-{pattern(share.dress)}" if share.pod and pattern(share.dress) else ""
    if not share.pod:
        hatch = "tp-hatch-other"
    if hatch:
        parts.append(rect(x, y, width, height, fill=f"url(#{hatch})"))
    return "".join(parts)


def _bar(card: CardSeen, y: float, left: float, width: float, speech: Speech, *, memory: bool) -> list[str]:
    """A heading and a track with one piece per owner, in the owners' order on both bars."""
    said = card.card
    name, amount, total = (
        ("common.memory", memory_of(said.memory_used, said.memory), said.memory)
        if memory
        else ("common.compute", compute_text(said.cores_used, said.cores), said.cores)
    )
    parts = [
        text(speech.say(name), left, y, class_="tp-small"),
        text(amount, left + width, y, class_="tp-small tp-figure", text_anchor="end"),
        rect(left, y + 5, width, _BAR, rx=2, class_="tp-track"),
    ]
    x = left
    for share in card.shares:
        piece = width * share_of(share.memory if memory else share.cores, total)
        piece = min(piece, left + width - x)
        if piece <= 0:
            continue
        seen = swatch(share, x, y + 5, piece, _BAR)
        parts.append(element("g", title(share_line(share, said.cores, speech)) + seen))
        x += piece
    return parts


def _owners(card: CardSeen, y: float, left: float, width: float, speech: Speech) -> list[str]:
    """What is wrong with it, then as many names as there is room for."""
    parts: list[str] = []
    room = MOST_LINES
    if card.card.reason:
        parts.append(
            text(fitting(card.card.reason, width, _SMALL), left, y, class_="tp-small tp-word-unhealthy")
        )
        y, room = y + LINE, room - 1
    shown = card.shares if len(card.shares) <= room else card.shares[: room - 1]
    for place, share in enumerate(shown):
        line = y + LINE * place
        name = share.pod.partition("/")[2] or owner_words(share, speech)
        parts += [
            swatch(share, left, line - 8.5, 9, 9),
            text(fitting(name, width - 15, _SMALL), left + 15, line, class_="tp-small tp-owner"),
        ]
    if len(shown) < len(card.shares):
        more = speech.count("node.more_pods", sum(share.pods for share in card.shares[len(shown) :]))
        parts.append(text(more, left + 15, y + LINE * len(shown), class_="tp-small"))
    return parts


def _sign(state: str, x: float, y: float) -> str:
    """The sign that stands for that state on every page, so that no colour has to be told from another."""
    place = f"translate({number(x)} {number(y)})"
    return element("g", _SIGNS[state], class_=f"tp-sign tp-sign-{state}", transform=place)
