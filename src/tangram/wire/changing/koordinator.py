"""The same in Koordinator's words, which are totals over the cards, with the vendor's own resource beside them.

What admission added for the vendor's plugin is taken out again where admission adds it anew, and kept in step where the
pod brought it itself.
"""

from __future__ import annotations

from typing import NamedTuple

from tangram.units.memory import SGPU_MEMORY_UNIT
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.mthreads.products import CORES_PER_CARD
from tangram.vendors.names import (
    KOORDINATOR_CORE,
    KOORDINATOR_GPU,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)
from tangram.wire.changing.refusing import NoSuchWords
from tangram.wire.changing.words import Words, memory_quantity

_PLUGIN = (mthreads.SGPU_CORE, mthreads.SGPU_MEMORY)


class _Said(NamedTuple):
    cards: int
    core: int
    memory: int | None
    ratio: int | None


def less_memory(words: Words, amount: int) -> None:
    """As a fixed amount, where a share of the card stood too. Raises `NoSuchWords`."""
    said = _read(words)
    _share_of_one(said)
    if said.memory is not None and said.memory <= amount:
        return
    if _of_mthreads(words) and amount % SGPU_MEMORY_UNIT:
        raise NoSuchWords("a slice of a Moore Threads card has a size in units of 512 MiB")
    _apart(words, said)
    words.remove(KOORDINATOR_RATIO)
    words.put(KOORDINATOR_MEMORY, memory_quantity(amount))
    _in_step(words)


def less_compute(words: Words, amount: int) -> None:
    """In the vendor's units, of which Moore Threads cards have sixteen. Raises `NoSuchWords`."""
    said = _read(words)
    _share_of_one(said)
    percent = amount * 100 // CORES_PER_CARD if _of_mthreads(words) else amount
    if said.core <= percent:
        return
    _apart(words, said)
    words.put(KOORDINATOR_CORE, percent)
    _in_step(words)


def fewer_cards(words: Words, count: int) -> None:
    """Every total in proportion, and the number of cards beside them."""
    said = _read(words)
    if said.cards <= count:
        return
    for name in (KOORDINATOR_GPU, KOORDINATOR_CORE, KOORDINATOR_RATIO, KOORDINATOR_SHARED):
        total = words.number(name)
        if total is not None:
            words.put(name, total // said.cards * count)
    if said.memory is not None:
        words.put(KOORDINATOR_MEMORY, memory_quantity(said.memory // said.cards * count))
    for name in (metax.SGPU, mthreads.VGPU):
        if words.has(name):
            words.put(name, count)
    if words.has(mthreads.VGPU):
        words.remove(*_PLUGIN)
        return
    for name in _PLUGIN:
        total = words.number(name)
        if total is not None:
            words.put(name, total // said.cards * count)


def _read(words: Words) -> _Said:
    gpu = words.number(KOORDINATOR_GPU)
    core = words.number(KOORDINATOR_CORE) if gpu is None else gpu
    memory = words.number(KOORDINATOR_MEMORY) or None
    ratio = (words.number(KOORDINATOR_RATIO) or None) if gpu is None else gpu
    by = core if ratio is None else ratio
    implied = by // 100 if by is not None and by > 100 and by % 100 == 0 else 1
    return _Said(words.number(KOORDINATOR_SHARED) or implied, core or 0, memory, ratio)


def _share_of_one(said: _Said) -> None:
    if said.cards > 1:
        raise NoSuchWords("several cards are only given whole in Koordinator's words")


def _of_mthreads(words: Words) -> bool:
    return words.has(mthreads.VGPU, *_PLUGIN)


def _apart(words: Words, said: _Said) -> None:
    """Compute and memory by themselves, where one number says both."""
    if words.has(KOORDINATOR_GPU):
        words.remove(KOORDINATOR_GPU)
        words.put(KOORDINATOR_CORE, said.core)
        words.put(KOORDINATOR_RATIO, said.core)


def _in_step(words: Words) -> None:
    if not _of_mthreads(words):
        return
    if words.has(mthreads.VGPU):
        words.remove(*_PLUGIN)
        return
    said = _read(words)
    words.put(mthreads.SGPU_CORE, -(-said.core * CORES_PER_CARD // 100))
    if said.memory is not None:
        words.put(mthreads.SGPU_MEMORY, said.memory // SGPU_MEMORY_UNIT)
