"""Cards asked for in Koordinator's words, which are the same for every vendor.

Koordinator states compute and memory as totals over the cards, in percent or bytes, and leaves the kubelet's side
to the vendor's own resource, which must stand beside its words. Two of its traps are closed here. A slice without
`gpu-core` passes all its checks and then fails while binding, again and again. And a share of several cards at once
is something its own documentation rules out but nothing refuses.
"""

from collections.abc import Iterable

import msgspec

from tangram.model.cards import Vendor
from tangram.model.pods import Container
from tangram.model.refusals import Refusal
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.memory import MIB, Bytes, floor_mib, from_mib
from tangram.vendors.amounts import Meaning, amount, refusal, refused
from tangram.vendors.codes import Code
from tangram.vendors.koordinator_words import CORE, GPU, MEMORY, NO_CORE, RATIO, WORDS, Totals, read_totals
from tangram.vendors.names import (
    KOORDINATOR_CORE,
    KOORDINATOR_GPU,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)
from tangram.vendors.protocol import Mutation, Reading, RemoveResource, SetLimit
from tangram.vendors.wording import asked, sentence, written

_ALL = 100
"""Percent of one card."""
_PARTS = (
    f"cards are asked for with {KOORDINATOR_CORE} and one of {KOORDINATOR_MEMORY} and {KOORDINATOR_RATIO}"
)


class KoordinatorAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What the words mean, per card; a vendor turns it into an `Ask`."""

    count: int
    core_percent: int
    memory: Bytes | None
    """`None` when memory was stated as `memory_percent`."""
    memory_percent: int = 100
    mutations: tuple[Mutation, ...] = ()


def read_koordinator(
    container: Container, cards: Meaning, *, counted: bool = True
) -> KoordinatorAsk | tuple[Refusal, ...]:
    """Read the words of one container; `cards` is the vendor's resource that must stand beside them if counted."""
    beside = amount(container, cards)
    said = read_totals(container)
    faults = (
        *((beside,) if isinstance(beside, Refusal) else ()),
        *word_faults(container, said),
        *(() if isinstance(beside, Refusal) or not counted else _count_fault(container, cards, beside, said)),
    )
    return faults or _per_card(container, said)


def word_faults(container: Container, said: Totals) -> tuple[Refusal, ...]:
    """Everything that is wrong with the words themselves, for cards of either vendor.

    A fault that follows from another is left out: each that is returned has to be corrected.
    """
    return (
        *said.refusals,
        *_combination_faults(container, said),
        *_percent_faults(container, said),
        *_memory_fault(container, said),
        *_several_fault(container, said),
    )


def read_koordinators_whole(
    container: Container, vendor: Vendor, cards: Meaning, sliced: str, foreign: Iterable[str]
) -> Reading:
    """Whole cards, where the words stand beside the resource that hands out whole cards: they may state no part of one.

    `sliced` is the vendor's resource for parts of cards, `foreign` are the names that may not stand there.
    """
    mixed = mixed_words(container, cards.resource, foreign)
    part = _part_fault(container, cards.resource, sliced)
    said = read_koordinator(container, cards)
    if not isinstance(said, tuple) and mixed is None and part is None:
        ask = Ask(
            vendor=vendor,
            kind=AskKind.WHOLE,
            count=said.count,
            vocabulary=Vocabulary.KOORDINATOR,
            entire=True,
        )
        return Reading((ask,), mutations=said.mutations)
    # A part of each of several cards is a part of a card, which `part` says already.
    covered = () if part is None else (Code.SEVERAL_CARDS_IN_SLICES,)
    faults = said if isinstance(said, tuple) else ()
    return refused(mixed, part, *(fault for fault in faults if fault.code not in covered))


def _part_fault(container: Container, cards: str, sliced: str) -> Refusal | None:
    said = read_totals(container)
    percents = (each for each in (said.gpu, said.core, said.ratio) if each is not None)
    if not said.states(KOORDINATOR_MEMORY) and all(each >= _ALL for each in percents):
        return None
    return Refusal(
        Code.KOORDINATOR_MIXED_WORDS,
        sentence(
            f"{asked(container, *WORDS)} beside {written(container, (cards,))}",
            f"{cards} is handed out in whole cards, each of which is {KOORDINATOR_CORE}: {_ALL}"
            f" and {KOORDINATOR_RATIO}: {_ALL}",
            f"write {sliced} in its place, or ask for whole cards",
        ),
        container.name,
    )


def mixed_words(container: Container, cards: str, foreign: Iterable[str]) -> Refusal | None:
    """Refuse a container that also uses the vendor's own words: nobody could say which of the two counts."""
    named = sorted(name for name in foreign if name in container.limits or name in container.requests)
    if not named:
        return None
    return Refusal(
        Code.KOORDINATOR_MIXED_WORDS,
        sentence(
            f"{asked(container, *WORDS)} beside {written(container, named)}",
            f"beside Koordinator's words only {cards} may stand, as the number of cards",
            f"remove {' and '.join(named)}, or everything under koordinator.sh/",
        ),
        container.name,
    )


def _combination_faults(container: Container, said: Totals) -> tuple[Refusal, ...]:
    """Which words may stand together: `gpu` alone, or core with exactly one of memory and ratio."""

    def not_together(
        legal: str, instead: str, peer: str, code: Code = Code.KOORDINATOR_COMBINATION
    ) -> Refusal:
        return Refusal(code, sentence(asked(container, *WORDS), legal, instead, peer=peer), container.name)

    memory, ratio = said.states(KOORDINATOR_MEMORY), said.states(KOORDINATOR_RATIO)
    if said.states(KOORDINATOR_GPU):
        legal = f"{KOORDINATOR_GPU} already says compute and memory and stands alone"
        if said.states(KOORDINATOR_SHARED):
            peer = "Forbidden declare GPU and GPU share at same time"
        elif said.states(KOORDINATOR_CORE) or memory or ratio:
            peer = _invalid_requests(said)
        else:
            return ()
        return (not_together(legal, "remove it or the others", peer),)
    faults: list[Refusal] = []
    if memory and ratio:
        peer = "declare GPU memory and GPU memory ratio at same time"
        faults.append(not_together(_PARTS, "remove one of the two", peer))
    if not memory and not ratio:
        peer = "GPU memory and GPU memory ratio all is zero"
        faults.append(not_together(_PARTS, f"add for example {KOORDINATOR_MEMORY}: 4Gi", peer))
    if not said.states(KOORDINATOR_CORE):
        instead = f"add {KOORDINATOR_CORE}, for example 10 for a tenth of a card's compute"
        faults.append(not_together(_PARTS, instead, NO_CORE, Code.KOORDINATOR_CORE_MISSING))
    return tuple(faults)


def _per_card(container: Container, said: Totals) -> KoordinatorAsk:
    """Totals divided by the cards, with what Koordinator's own webhook would have written."""
    core = said.core if said.gpu is None else said.gpu
    ratio = said.ratio if said.gpu is None else said.gpu
    count = said.shared or _implied_count(core if ratio is None else ratio)
    mutations: list[Mutation] = []
    if said.gpu is not None:
        mutations += [
            SetLimit(container.name, KOORDINATOR_CORE, str(said.gpu)),
            SetLimit(container.name, KOORDINATOR_RATIO, str(said.gpu)),
            RemoveResource(container.name, KOORDINATOR_GPU),
        ]
    if said.shared is None:
        mutations.append(SetLimit(container.name, KOORDINATOR_SHARED, str(count)))
    return KoordinatorAsk(
        count=count,
        core_percent=(core or 0) // count,
        memory=None if said.memory is None else from_mib(floor_mib(Bytes(said.memory // count))),
        memory_percent=100 if ratio is None else ratio // count,
        mutations=tuple(mutations),
    )


def _implied_count(percent: int | None) -> int:
    return percent // 100 if percent is not None and percent > 100 and percent % 100 == 0 else 1


def _divisor(said: Totals) -> int:
    """The number of cards over which amounts are shared out, for judging each by itself."""
    return said.shared or _implied_count(said.core if said.ratio is None else said.ratio)


def _cards_meant(said: Totals) -> int | None:
    """The number of cards, None where it may be another once other faults are mended."""
    if said.states(KOORDINATOR_GPU):
        alone = not any(said.states(word) for word in WORDS if word != KOORDINATOR_GPU)
        return _implied_if_even(said.gpu) if alone else None
    if said.states(KOORDINATOR_SHARED):
        return said.shared
    by_compute = _implied_if_even(said.core) if said.states(KOORDINATOR_CORE) else 1
    if not said.states(KOORDINATOR_RATIO):
        return by_compute
    by_ratio = _implied_if_even(said.ratio)
    # Of memory and ratio one has to go, and without the ratio compute says how many.
    return by_ratio if by_compute == by_ratio or not said.states(KOORDINATOR_MEMORY) else None


def _implied_if_even(percent: int | None) -> int | None:
    """The number of cards in a percentage, None where it cannot be read or is no number of whole cards."""
    if percent is None or (percent > _ALL and percent % _ALL):
        return None
    return _implied_count(percent)


def _percent_faults(container: Container, said: Totals) -> tuple[Refusal, ...]:
    """Percentages that do not go evenly over the cards, or are more than 100 for each."""
    faults: list[Refusal] = []
    if said.gpu is not None and said.gpu > 100 and said.gpu % 100:
        peer = "the requested GPU must be percentage of 100"
        faults.append(refusal(container, GPU, Code.KOORDINATOR_UNIT, peer_text=peer))
    if KOORDINATOR_SHARED in said.unread:
        return tuple(faults)
    count = _divisor(said)
    for meaning, total, word in (
        (CORE, said.core, "gpuCore"),
        (RATIO, said.ratio, "gpuMemoryRatio"),
    ):
        if total is None:
            continue
        if total % count:
            peer = f"the requested {word} must multiple of shared"
        elif total // count > 100:
            peer = _invalid_requests(said)
        else:
            continue
        faults.append(refusal(container, meaning, Code.KOORDINATOR_UNIT, peer_text=peer))
    return tuple(faults)


def _invalid_requests(said: Totals) -> str:
    """What koord-scheduler says of an amount that is wrong beside the others: all names, without the amount."""
    amounts = (said.gpu, said.shared, said.core, said.memory, said.ratio)
    named = (name for name, total in zip(WORDS, amounts, strict=True) if total is not None)
    return f"invalid resource device requests: [{' '.join(named)}]"


def _memory_fault(container: Container, said: Totals) -> tuple[Refusal, ...]:
    if said.memory is None or said.memory // (_cards_meant(said) or 1) >= MIB:
        return ()
    peer = f"gpu memory must not be less than {MIB} bytes"
    return (refusal(container, MEMORY, Code.MEMORY_BELOW_ONE_MIB, peer_text=peer),)


def _several_fault(container: Container, said: Totals) -> tuple[Refusal, ...]:
    count = _cards_meant(said)
    if count is None or count == 1 or said.states(KOORDINATOR_GPU):
        return ()
    whole = 100 * count
    percents = (total for total in (said.core, said.ratio) if total is not None)
    if said.memory is None and all(total >= whole for total in percents):
        return ()
    return (
        Refusal(
            Code.SEVERAL_CARDS_IN_SLICES,
            sentence(
                f"{asked(container, *WORDS)}, which is a part of each of {count} cards",
                "a container can share one card only",
                f"ask for one card, or for whole ones with {KOORDINATOR_CORE}: {whole}"
                f" and {KOORDINATOR_RATIO}: {whole}",
            ),
            container.name,
        ),
    )


def _count_fault(
    container: Container, cards: Meaning, beside: int | None, said: Totals
) -> tuple[Refusal, ...]:
    count = _cards_meant(said)
    if count is None or beside == count:
        return ()
    beside_them = written(container, (cards.resource,)) or f"no {cards.resource}"
    return (
        Refusal(
            Code.KOORDINATOR_COUNT_MISMATCH,
            sentence(
                f"{asked(container, *WORDS)} beside {beside_them}",
                f"that resource is the number of cards, here {count}",
                f"write {cards.resource}: {count}",
            ),
            container.name,
        ),
    )
