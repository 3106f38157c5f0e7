"""Less memory, less compute or fewer cards, in whichever words a container asks for its cards.

Not every change can be said in every vocabulary: several Moore Threads cards are only given whole, and a slice of one
has a size in units of 512 MiB. Then there is no such manifest, and `NoSuchWords` says so instead of writing one that
means something else.
"""

from __future__ import annotations

from collections.abc import Callable

from tangram.units.memory import SGPU_MEMORY_UNIT
from tangram.units.vmemory import VmemoryError, vmemory_bytes
from tangram.vendors.metax import names as metax
from tangram.vendors.mthreads import names as mthreads
from tangram.vendors.mthreads.products import CORES_PER_CARD
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.wire.changing import koordinator
from tangram.wire.changing.refusing import NoSuchWords
from tangram.wire.changing.words import Words, memory_quantity

Capping = Callable[[Words, int], None]


def less_memory(words: Words, amount: int) -> None:
    """At most that many bytes of each card. Raises `NoSuchWords`."""
    if words.has(*KOORDINATOR_RESOURCES):
        koordinator.less_memory(words, amount)
    elif words.has(metax.SGPU):
        if _metax_memory(words) > amount:
            words.put(metax.VMEMORY, memory_quantity(amount))
    elif words.has(mthreads.VGPU):
        _mthreads_memory(words, amount)


def less_compute(words: Words, amount: int) -> None:
    """At most that much compute of each card, in the vendor's units. Raises `NoSuchWords`."""
    if words.has(*KOORDINATOR_RESOURCES):
        koordinator.less_compute(words, amount)
    elif words.has(metax.SGPU):
        asked = words.number(metax.VCORE)
        if asked is None or asked > amount:
            words.put(metax.VCORE, amount)
    elif words.has(mthreads.VGPU):
        _one_card(words)
        asked = words.number(mthreads.SGPU_CORE)
        if asked is None and not words.has(mthreads.SGPU_MEMORY):
            asked = CORES_PER_CARD
        if (asked or 0) > amount:
            words.put(mthreads.SGPU_CORE, amount)


def fewer_cards(words: Words, count: int) -> None:
    """At most that many cards."""
    if words.has(*KOORDINATOR_RESOURCES):
        koordinator.fewer_cards(words, count)
        return
    for name in (metax.GPU, metax.SGPU, mthreads.GPU, mthreads.VGPU):
        before = words.number(name)
        if before is None or before <= count:
            continue
        words.put(name, count)
        if name == mthreads.VGPU:
            # Both are sums over the cards.
            for each in (mthreads.SGPU_CORE, mthreads.SGPU_MEMORY):
                total = words.number(each)
                if total is not None:
                    words.put(each, total // before * count)


def _metax_memory(words: Words) -> float:
    """Bytes of each card; without end for one that is taken as it is."""
    text = words.text(metax.VMEMORY)
    if text is None:
        return float("inf")
    try:
        return vmemory_bytes(text)
    except VmemoryError as error:
        raise NoSuchWords(f"{metax.VMEMORY} cannot be read: {error}") from error


def _mthreads_memory(words: Words, amount: int) -> None:
    _one_card(words)
    units = words.number(mthreads.SGPU_MEMORY)
    if units is not None and units * SGPU_MEMORY_UNIT <= amount:
        return
    if amount % SGPU_MEMORY_UNIT:
        raise NoSuchWords(f"{mthreads.SGPU_MEMORY} counts units of 512 MiB")
    if units is None and not words.has(mthreads.SGPU_CORE):
        # A card named alone comes with all its compute, and one with memory beside it comes with none.
        words.put(mthreads.SGPU_CORE, CORES_PER_CARD)
    words.put(mthreads.SGPU_MEMORY, amount // SGPU_MEMORY_UNIT)


def _one_card(words: Words) -> None:
    if (words.number(mthreads.VGPU) or 1) > 1:
        raise NoSuchWords("several Moore Threads cards are only given whole")
