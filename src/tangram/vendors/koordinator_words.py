"""Koordinator's five resources: what each number means, and all that one container says with them."""

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

WORDS = (KOORDINATOR_GPU, KOORDINATOR_SHARED, KOORDINATOR_CORE, KOORDINATOR_MEMORY, KOORDINATOR_RATIO)
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


def read_totals(container: Container) -> Totals | tuple[Refusal, ...]:
    """Every number, or every reason why one cannot be read."""
    gpu, shared, core = (amount(container, meaning) for meaning in (GPU, SHARED, CORE))
    ratio, memory = (amount(container, meaning) for meaning in (RATIO, MEMORY))
    if (
        isinstance(gpu, Refusal)
        or isinstance(shared, Refusal)
        or isinstance(core, Refusal)
        or isinstance(ratio, Refusal)
        or isinstance(memory, Refusal)
    ):
        found = (gpu, shared, core, ratio, memory)
        return tuple(finding for finding in found if isinstance(finding, Refusal))
    return Totals(gpu=gpu, shared=shared, core=core, ratio=ratio or None, memory=memory or None)
