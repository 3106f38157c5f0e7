"""HAMi's own words on pods and nodes: the allocation string, its keys, and its times.

The allocation string is `<id>,<type word>,<MiB>,<cores>:` per card and `;` after each container, init containers first.
It is the only record of who holds what that survives a restart, so reading it is forgiving about separators and
unforgiving about numbers: a string that does not say how much is held must never be read as "nothing".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tangram.wire import loose
from tangram.wire.errors import WireError, shown

NODE: Final = "hami.io/vgpu-node"
"""On pods, as annotation and as label."""
TIME: Final = "hami.io/vgpu-time"
BIND_PHASE: Final = "hami.io/bind-phase"
BIND_TIME: Final = "hami.io/bind-time"
ALLOCATING: Final = "allocating"

METAX_WHOLE_TO_ALLOCATE: Final = "hami.io/metax-gpu-devices-to-allocate"
METAX_WHOLE_ALLOCATED: Final = "hami.io/metax-gpu-devices-allocated"
METAX_SLICE_TO_ALLOCATE: Final = "hami.io/metax-sgpu-devices-to-allocate"
METAX_SLICE_ALLOCATED: Final = "hami.io/metax-sgpu-devices-allocated"
MTHREADS_TO_ALLOCATE: Final = "hami.io/mthreads-vgpu-devices-to-allocate"
"""Registered by HAMi, which neither writes nor reads it."""
MTHREADS_ALLOCATED: Final = "hami.io/mthreads-vgpu-devices-allocated"

METAX_WHOLE: Final = "Metax-GPU"
METAX_SLICE: Final = "Metax-SGPU"
MTHREADS: Final = "Mthreads"

CORDONED_CARDS: Final = "hami.io/device-cordon"
"""On nodes: a comma list of card ids that take no new tenants."""

_SEPARATORS = frozenset(",:;")
_INT32 = 2**31
_NANOSECONDS = 10**9


class HeldCard(msgspec.Struct, frozen=True):
    """One card in an allocation string."""

    id: str
    word: str
    memory_mib: int
    cores: int


def encode_allocation(containers: Iterable[Sequence[HeldCard]]) -> str:
    """The allocation string. Raises `WireError` for ids and numbers that could not be read back."""
    return "".join("".join(_card_text(card) for card in cards) + ";" for cards in containers)


def decode_allocation(written: str) -> tuple[tuple[HeldCard, ...], ...]:
    """The cards of each container, in order; containers without cards are there as empty.

    Separators at the end may be missing or doubled. Raises `WireError` for fewer than four fields or bad numbers.
    """
    parts = written.strip().split(";")
    if not parts[-1]:
        parts.pop()
    return tuple(tuple(_read_card(piece) for piece in part.split(":") if piece.strip()) for part in parts)


def seconds_text(now_ns: int) -> str:
    """Unix time in whole seconds, as `vgpu-time` and `bind-time` are written."""
    return str(now_ns // _NANOSECONDS)


def card_ids(written: str) -> tuple[str, ...]:
    """A comma list of card ids, as operators type it: blanks and empty entries do not count."""
    return tuple(entry.strip() for entry in written.split(",") if entry.strip())


def _card_text(card: HeldCard) -> str:
    for field in (card.id, card.word):
        if not field or field != field.strip() or _SEPARATORS.intersection(field):
            raise WireError(
                "allocation-unwritable",
                f"an allocation string cannot hold {shown(field)}: ids have no blanks at the ends and none of , : ;",
            )
    for number in (card.memory_mib, card.cores):
        if not 0 <= number < _INT32:
            raise WireError(
                "allocation-unwritable",
                f"an allocation string cannot hold {shown(number)} for card {shown(card.id)}: peers read 31 bits",
            )
    return f"{card.id},{card.word},{card.memory_mib},{card.cores}:"


def _read_card(piece: str) -> HeldCard:
    fields = [field.strip() for field in piece.split(",")]
    if len(fields) < 4 or not fields[0]:
        raise WireError(
            "allocation-malformed",
            f"an allocation string holds {shown(piece)}: a card is id, type, MiB and cores joined by commas",
        )
    memory, cores = loose.integer(fields[2]), loose.integer(fields[3])
    if memory is None or cores is None or not (0 <= memory < _INT32 and 0 <= cores < _INT32):
        raise WireError(
            "allocation-malformed",
            f"an allocation string holds {shown(piece)}: MiB and cores are whole numbers from 0 to 2147483647",
        )
    return HeldCard(fields[0], fields[1], memory, cores)
