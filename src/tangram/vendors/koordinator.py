"""Cards asked for in Koordinator's words, which are the same for every vendor.

Koordinator states compute and memory as totals over the cards, in percent or bytes, and leaves the kubelet's side
to the vendor's own resource, which must stand beside its words. Two of its traps are closed here. A slice without
`gpu-core` passes all its checks and then fails while binding, again and again. And a share of several cards at once
is something its own documentation rules out but nothing refuses.
"""

from collections.abc import Iterable

import msgspec

from tangram.model.pods import Container
from tangram.model.refusals import Refusal
from tangram.units.memory import MIB, Bytes, floor_mib, from_mib
from tangram.vendors.amounts import Meaning, amount, refusal
from tangram.vendors.codes import Code
from tangram.vendors.koordinator_words import CORE, GPU, MEMORY, NO_CORE, RATIO, WORDS, Totals, read_totals
from tangram.vendors.names import (
    KOORDINATOR_CORE,
    KOORDINATOR_GPU,
    KOORDINATOR_MEMORY,
    KOORDINATOR_RATIO,
    KOORDINATOR_SHARED,
)
from tangram.vendors.protocol import Mutation, RemoveResource, SetLimit
from tangram.vendors.wording import asked, sentence, written

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

    @property
    def whole_cards(self) -> bool:
        return self.core_percent == 100 and self.memory is None and self.memory_percent == 100


def read_koordinator(
    container: Container, cards: Meaning, *, counted: bool = True
) -> KoordinatorAsk | tuple[Refusal, ...]:
    """Read the words of one container; `cards` is the vendor's resource that must stand beside them if counted."""
    beside = amount(container, cards)
    said = read_totals(container)
    if isinstance(beside, Refusal) or isinstance(said, tuple):
        of_cards = (beside,) if isinstance(beside, Refusal) else ()
        return of_cards + (said if isinstance(said, tuple) else ())
    fault = _combination_fault(container, said)
    if fault is not None:
        return (fault,)
    ask = _per_card(container, said)
    fault = (
        _percent_fault(container, said, ask.count)
        or _memory_fault(container, said, ask.count)
        or _several_fault(container, ask)
        or (_count_fault(container, cards, beside, ask) if counted else None)
    )
    return ask if fault is None else (fault,)


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


def _combination_fault(container: Container, said: Totals) -> Refusal | None:
    """Which words may stand together: `gpu` alone, or core with exactly one of memory and ratio."""

    def not_together(
        legal: str, instead: str, peer: str, code: Code = Code.KOORDINATOR_COMBINATION
    ) -> Refusal:
        return Refusal(code, sentence(asked(container, *WORDS), legal, instead, peer=peer), container.name)

    if said.gpu is not None:
        legal = f"{KOORDINATOR_GPU} already says compute and memory and stands alone"
        if said.shared is not None:
            return not_together(
                legal, "remove it or the others", "Forbidden declare GPU and GPU share at same time"
            )
        if any(value is not None for value in (said.core, said.ratio, said.memory)):
            return not_together(legal, "remove it or the others", _invalid_requests(said))
        return None
    if said.memory is not None and said.ratio is not None:
        peer = "declare GPU memory and GPU memory ratio at same time"
        return not_together(_PARTS, "remove one of the two", peer)
    if said.memory is None and said.ratio is None:
        peer = "GPU memory and GPU memory ratio all is zero"
        return not_together(_PARTS, f"add for example {KOORDINATOR_MEMORY}: 4Gi", peer)
    if said.core is None:
        instead = f"add {KOORDINATOR_CORE}, for example 10 for a tenth of a card's compute"
        return not_together(_PARTS, instead, NO_CORE, Code.KOORDINATOR_CORE_MISSING)
    return None


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


def _percent_fault(container: Container, said: Totals, count: int) -> Refusal | None:
    """Whether each percentage goes evenly over the cards, with at most 100 for each."""
    if said.gpu is not None and (said.gpu % count or said.gpu // count > 100):
        peer = "the requested GPU must be percentage of 100"
        return refusal(container, GPU, Code.KOORDINATOR_UNIT, peer_text=peer)
    words = ((CORE, said.core, "gpuCore"), (RATIO, said.ratio, "gpuMemoryRatio"))
    for meaning, total, word in words:
        if total is None:
            continue
        if total % count:
            peer = f"the requested {word} must multiple of shared"
            return refusal(container, meaning, Code.KOORDINATOR_UNIT, peer_text=peer)
        if total // count > 100:
            return refusal(container, meaning, Code.KOORDINATOR_UNIT, peer_text=_invalid_requests(said))
    return None


def _invalid_requests(said: Totals) -> str:
    """What koord-scheduler says of an amount that is wrong beside the others: all names, without the amount."""
    amounts = (said.gpu, said.shared, said.core, said.memory, said.ratio)
    named = (name for name, total in zip(WORDS, amounts, strict=True) if total is not None)
    return f"invalid resource device requests: [{' '.join(named)}]"


def _memory_fault(container: Container, said: Totals, count: int) -> Refusal | None:
    if said.memory is None or said.memory // count >= MIB:
        return None
    peer = f"gpu memory must not be less than {MIB} bytes"
    return refusal(container, MEMORY, Code.MEMORY_BELOW_ONE_MIB, peer_text=peer)


def _several_fault(container: Container, ask: KoordinatorAsk) -> Refusal | None:
    if ask.count == 1 or ask.whole_cards:
        return None
    whole = 100 * ask.count
    return Refusal(
        Code.SEVERAL_CARDS_IN_SLICES,
        sentence(
            f"{asked(container, *WORDS)}, which is a part of each of {ask.count} cards",
            "a container can share one card only",
            f"ask for one card, or for whole ones with {KOORDINATOR_CORE}: {whole}"
            f" and {KOORDINATOR_RATIO}: {whole}",
        ),
        container.name,
    )


def _count_fault(
    container: Container, cards: Meaning, beside: int | None, ask: KoordinatorAsk
) -> Refusal | None:
    if beside == ask.count:
        return None
    beside_them = written(container, (cards.resource,)) or f"no {cards.resource}"
    return Refusal(
        Code.KOORDINATOR_COUNT_MISMATCH,
        sentence(
            f"{asked(container, *WORDS)} beside {beside_them}",
            f"that resource is the number of cards, here {ask.count}",
            f"write {cards.resource}: {ask.count}",
        ),
        container.name,
    )
