"""Which card a container was given, as MetaX's closed plugin reads it from `gpu-devices-allocated`.

Two schedulers write the key, and the plugin reads both: HAMi gives one inner list per container and leaves zeros
out, Koordinator gives exactly one inner list and writes every field. There is a writer for each, and one reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tangram.wire import jsontext, loose
from tangram.wire.errors import WireError, shown

ALLOCATED: Final = "metax-tech.com/gpu-devices-allocated"
PREDICATE_TIME: Final = "metax-tech.com/predicate-time"
"""Unix nanoseconds."""

_INT32 = 2**31


class GivenCard(msgspec.Struct, frozen=True):
    """One card given to a container: percent of compute and MiB of memory."""

    uuid: str
    compute: int = 0
    vram_mib: int = msgspec.field(default=0, name="vRam")


class _WithoutZeros(GivenCard, frozen=True, omit_defaults=True):
    pass


def encode_given_per_container(containers: Iterable[Sequence[GivenCard]]) -> str:
    """HAMi's form. Raises `WireError` for what the plugin could not read."""
    rows = [[_WithoutZeros(card.uuid, card.compute, card.vram_mib) for card in cards] for cards in containers]
    _check_given(card for row in rows for card in row)
    return jsontext.compact(rows, ALLOCATED)


def encode_given_per_pod(cards: Sequence[GivenCard]) -> str:
    """Koordinator's form. Raises `WireError` for what the plugin could not read."""
    _check_given(cards)
    return jsontext.compact([cards], ALLOCATED)


def decode_given(written: str) -> tuple[tuple[GivenCard, ...], ...]:
    """The cards of each inner list. Raises `WireError` for anything that does not say which and how much."""
    outer = jsontext.parse(written, ALLOCATED)
    if outer is not None and not loose.is_list(outer):
        raise _malformed_given(outer)
    rows = loose.elements(outer)
    if rows and all(loose.is_object(row) for row in rows):
        rows = [rows]
    return tuple(tuple(_read_given(card) for card in _given_row(row)) for row in rows)


def _check_given(cards: Iterable[GivenCard]) -> None:
    for card in cards:
        if not card.uuid or not (0 <= card.compute < _INT32 and 0 <= card.vram_mib < _INT32):
            raise WireError(
                "given-unwritable",
                f"{ALLOCATED} cannot hold card {shown(card.uuid)} with compute {shown(card.compute)} and "
                f"{shown(card.vram_mib)} MiB: the plugin reads a uuid and 31 bits of each",
            )


def _given_row(row: object) -> list[object]:
    if row is not None and not loose.is_list(row):
        raise _malformed_given(row)
    return loose.elements(row)


def _read_given(entry: object) -> GivenCard:
    card = loose.members(entry)
    uuid = loose.text(card.get("uuid"))
    compute, memory = (loose.integer(card.get(name, 0)) for name in ("compute", "vRam"))
    if not uuid or compute is None or memory is None or not (0 <= compute < _INT32 and 0 <= memory < _INT32):
        raise _malformed_given(entry)
    return GivenCard(uuid, compute, memory)


def _malformed_given(found: object) -> WireError:
    return WireError(
        "given-malformed",
        f"{ALLOCATED} holds {shown(found)}: it is a list per container of objects with uuid, compute and vRam",
    )
