"""Cards of a node out of placement, and back: one annotation that several people and programs may edit at once.

Every write names the version it was made from; when somebody else was faster, the node is read and the change made
again. Who may do it is the API server's decision about whoever the connection belongs to, and nobody else's.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Collection, Sequence
from typing import Final, Literal

import msgspec

from tangram.kube.api import Api, Object
from tangram.kube.errors import CONFLICT, ApiError
from tangram.model.cards import Card
from tangram.units.ids import NodeName
from tangram.wire.hami import CORDONED_CARDS, card_ids
from tangram.wire.nodes import read_node

VERSION: Final = "cordon/v1"
MOST_TRIES: Final = 20
PAUSE_S: Final = 0.05
MANAGER: Final = "tangram-cordon"

Action = Literal["cordon", "uncordon"]

_NUMBER = re.compile(r"(?:GPU-?)?([0-9]{1,5})", re.IGNORECASE)
_MOST_LISTED = 16


class CordonReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done."""

    tangram: str = VERSION
    node: str
    action: Action
    changed: tuple[str, ...]
    """Ids whose state is another now."""
    unchanged: tuple[str, ...]
    """Named ids that were as wished before."""
    cordoned: tuple[str, ...]
    """Every id that takes no new pods now."""


class NothingKnown(Exception):  # noqa: N818 - says what is the case
    """The node is there and has no card that could be named."""


class NoSuchCard(Exception):  # noqa: N818 - the same
    """A word that names no card of the node, or two of them."""


async def change_cordons(api: Api, node: NodeName, words: Sequence[str], action: Action) -> CordonReport:
    """Make the change, against whatever others write meanwhile.

    Raises `NothingKnown`, `NoSuchCard`, `ApiError` and `ApiUnreachable`.
    """
    path = f"/api/v1/nodes/{node}"
    for _ in range(MOST_TRIES - 1):
        try:
            return await _once(api, path, node, words, action)
        except ApiError as error:
            if error.status != CONFLICT:
                raise
            await asyncio.sleep(PAUSE_S * random.uniform(0.5, 1.5))  # noqa: S311 - spreads load, guards nothing
    return await _once(api, path, node, words, action)


async def _once(api: Api, path: str, node: NodeName, words: Sequence[str], action: Action) -> CordonReport:
    thing = await api.get(path)
    metadata: Object = thing.get("metadata") or {}
    annotations: Object = metadata.get("annotations") or {}
    before = list(dict.fromkeys(card_ids(str(annotations.get(CORDONED_CARDS, "")))))
    known = read_node(thing).node.cards
    if not known and not before:
        raise NothingKnown(
            f"node {node} announces no card: see that gpu-device runs there ('kubectl describe node {node}')"
        )
    # An id that is on the list may be taken off it even when its card is gone.
    named = named_cards(words, known, node, also=before if action == "uncordon" else ())
    wished = [*before, *(card for card in named if card not in before)]
    after = wished if action == "cordon" else [card for card in before if card not in named]
    if after != before:
        change = {
            "metadata": {
                "resourceVersion": metadata.get("resourceVersion"),
                "annotations": {CORDONED_CARDS: ",".join(after) or None},
            }
        }
        await api.merge(path, change, fieldManager=MANAGER)
    changed = tuple(card for card in named if (card in before) != (card in after))
    unchanged = tuple(card for card in named if card not in changed)
    return CordonReport(node=node, action=action, changed=changed, unchanged=unchanged, cordoned=tuple(after))


def named_cards(
    words: Sequence[str], cards: Sequence[Card], node: str, also: Collection[str] = ()
) -> list[str]:
    """The ids of the cards that people mean: by uuid, by number, or by number as in GPU-3.

    Each once, in the order they were named; ids in `also` are legal without a card. Raises `NoSuchCard`.
    """
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
        raise NoSuchCard(
            f"card {word!r:.80} of node {node} may be {' or '.join(found)}: both have that number; write the uuid."
        )
    raise NoSuchCard(f"node {node} has no card {word!r:.80}: {_legal(cards, also)}; name one of these.")


def _legal(cards: Sequence[Card], also: Collection[str]) -> str:
    known = sorted(cards, key=lambda card: card.index)
    shown = [f"{card.index} ({card.uuid})" for card in known[:_MOST_LISTED]]
    shown += [word for word in also if word not in {card.uuid for card in cards}]
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    return f"it has {', '.join(shown)}{more}"
