"""Which card a person means: by uuid, by number, or by number as in GPU-3."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tangram.cli.failures import InputError
from tangram.model.cards import Card

_NUMBER = re.compile(r"(?:GPU-?)?([0-9]{1,5})", re.IGNORECASE)
_MOST_LISTED = 16


def named_cards(
    words: Sequence[str], cards: Sequence[Card], node: str, also: Collection[str] = ()
) -> list[str]:
    """The ids of the named cards, each once, in the order they were named; ids in `also` are legal without a card."""
    return list(dict.fromkeys(_named(word.strip(), cards, node, also) for word in words))


def _named(word: str, cards: Sequence[Card], node: str, also: Collection[str]) -> str:
    exact = next((card.uuid for card in cards if card.uuid == word), None)
    if exact is not None or word in also:
        return exact or word
    same = [card.uuid for card in cards if card.uuid.casefold() == word.casefold()]
    number = _NUMBER.fullmatch(word)
    found = same or [card.uuid for card in cards if number is not None and card.index == int(number[1])]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"card {word!r:.80} of node {node} may be {' or '.join(found)}: both have that number; write the uuid."
        )
    raise InputError(f"node {node} has no card {word!r:.80}: {_legal(cards, also)}; name one of these.")


def _legal(cards: Sequence[Card], also: Collection[str]) -> str:
    known = sorted(cards, key=lambda card: card.index)
    shown = [f"{card.index} ({card.uuid})" for card in known[:_MOST_LISTED]]
    shown += [word for word in also if word not in {card.uuid for card in cards}]
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    return f"it has {', '.join(shown)}{more}"
