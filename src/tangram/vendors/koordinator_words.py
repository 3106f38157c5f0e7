"""Koordinator's five resources: what each number means, and all that one container says with them."""

from typing import Final

import msgspec

from tangram.model.pods import Container
from tangram.model.refusals import Refusal
from tangram.vendors.amounts import LARGEST_MEMORY, LARGEST_MEMORY_TEXT, Meaning, amount
from tangram.vendors.names import (
    KOORDINATOR_CORE,
    KOORDINATOR_GPU,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)

WORDS: Final[tuple[str, ...]] = (
    KOORDINATOR_GPU,
    KOORDINATOR_SHARED,
    KOORDINATOR_CORE,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
)
_PERCENT = "it is a whole percentage, up to 100 for a part of one card or 100 for each of several whole cards"
NOT_POSITIVE = "the requested GPU must be greater than zero"
NO_CORE = "gpu core resource is required"

GPU = Meaning(
    resource=KOORDINATOR_GPU,
    legal=_PERCENT,
    instead="write 50 for half a card or 200 for two cards",
    peer_text=NOT_POSITIVE,
)
SHARED = Meaning(
    resource=KOORDINATOR_SHARED,
    legal="it is the number of cards, a whole number from 1",
    instead="write 1",
    peer_text=NOT_POSITIVE,
)
CORE = Meaning(
    resource=KOORDINATOR_CORE,
    legal=_PERCENT,
    instead="write for example 10 for a tenth of a card's compute",
    peer_text=NO_CORE,
)
RATIO = Meaning(
    resource=KOORDINATOR_RATIO,
    legal=_PERCENT,
    instead="write for example 25 for a quarter of a card's memory",
    zero=True,
)
MEMORY = Meaning(
    resource=KOORDINATOR_MEMORY,
    legal="it is a whole number of bytes, at least 1 MiB for each card",
    instead="write for example 4Gi",
    zero=True,
    largest=LARGEST_MEMORY,
    largest_text=LARGEST_MEMORY_TEXT,
)


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What one container states, over all its cards. Memory and ratio of 0 say nothing, as in Koordinator."""

    gpu: int | None
    shared: int | None
    core: int | None
    ratio: int | None
    memory: int | None
    refusals: tuple[Refusal, ...] = ()
    """Why a number cannot be read; it is None then."""
    unread: frozenset[str] = frozenset()
    """Resources with such a number: they are stated, and how much is not known."""

    def states(self, resource: str) -> bool:
        """Whether the container says something with the resource, be it legible or not."""
        amounts = (self.gpu, self.shared, self.core, self.memory, self.ratio)
        return resource in self.unread or amounts[WORDS.index(resource)] is not None


def read_totals(container: Container) -> Totals:
    """Every number, and every reason why one cannot be read."""
    found = {meaning.resource: amount(container, meaning) for meaning in (GPU, SHARED, CORE, RATIO, MEMORY)}
    refused = {name: each for name, each in found.items() if isinstance(each, Refusal)}
    read = {name: None if isinstance(each, Refusal) else each for name, each in found.items()}
    return Totals(
        gpu=read[KOORDINATOR_GPU],
        shared=read[KOORDINATOR_SHARED],
        core=read[KOORDINATOR_CORE],
        ratio=read[KOORDINATOR_RATIO] or None,
        memory=read[KOORDINATOR_MEMORY] or None,
        refusals=tuple(refused.values()),
        unread=frozenset(refused),
    )
