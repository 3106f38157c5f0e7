"""Our node's Moore Threads cards as the vendor's feature discovery labels them.

Schedulers take card numbers from these labels literally, so a number that is no longer true has to go as surely as a
new one has to come.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tangram.model.cards import Card, CardMode, Vendor
from tangram.wire.mthreads_cards import LABEL_COUNT, LABEL_SLICED, memory_label

_MEMORY_LABEL = re.compile(r"mthreads\.com/gpu[0-9]{1,9}\.memory")


def labels_of(cards: Sequence[Card], present: Iterable[str] = ()) -> dict[str, str | None]:
    """The labels of the node, given the keys it has now; None is a label that has to go."""
    own = sorted((card for card in cards if card.vendor is Vendor.MTHREADS), key=lambda card: card.index)
    sliced = [str(card.index) for card in own if card.mode is CardMode.SLICED]
    stale: dict[str, str | None] = {key: None for key in present if _MEMORY_LABEL.fullmatch(key)}
    return {
        LABEL_COUNT: str(len(own)) if own else None,
        LABEL_SLICED: "-".join(sliced) or None,
        **stale,
        **{memory_label(card.index): str(card.memory) for card in own if card.memory > 0},
    }
