"""What one container asks of Moore Threads cards, in the vendor's own words.

One card may be shared in legal sizes; several cards are always whole. HAMi turns the odd sizes of a several-card
request into whole cards without a word; that is refused here. What HAMi's webhook itself writes into a pod
(16 cores and the whole memory for each card) reads back as the whole cards it stands for.
"""

import msgspec

from tangram.model.cards import Vendor
from tangram.model.pods import Container
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.memory import Bytes, from_512mib_units
from tangram.vendors.amounts import Meaning, amount, refusal, refused
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.mthreads import names
from tangram.vendors.mthreads.products import CORES_PER_CARD, takes_all
from tangram.vendors.mthreads.tiers import legal_units
from tangram.vendors.protocol import Mutation, Reading, SetAnnotation, SetLimit
from tangram.vendors.shapes import above_largest
from tangram.vendors.wording import asked, either, sentence

CARDS = Meaning(
    resource=names.VGPU,
    legal="the cards to use are counted in whole numbers from 1",
    instead="write 1, or remove every mthreads.com resource if no card is wanted",
    peer_text=f"{names.VGPU} must be greater than 0",
)
WHOLE_CARDS = Meaning(
    resource=names.GPU, legal="whole cards are counted in whole numbers from 1", instead="write for example 1"
)
_COMPUTE = Meaning(
    resource=names.SGPU_CORE,
    legal=f"compute is counted in sixteenths of a card, in whole numbers from 0 to {CORES_PER_CARD}",
    instead="write for example 8 for half a card",
    zero=True,
    largest_text=f"{CORES_PER_CARD} for each card",
)


class _Slice(msgspec.Struct, frozen=True, kw_only=True):
    """The readable numbers of one container, summed over its cards."""

    count: int
    cores: int | None
    units: int | None


def read_whole(container: Container) -> Reading:
    """Cards of the pool that the vendor's plugin hands out whole."""
    count = amount(container, WHOLE_CARDS)
    if count is None or isinstance(count, Refusal):
        return refused(count)
    ask = Ask(vendor=Vendor.MTHREADS, kind=AskKind.WHOLE, count=count, vocabulary=Vocabulary.MTHREADS)
    return Reading((ask,))


def read_slices(
    container: Container, memory_per_card: tuple[int, ...], largest: Bytes | None, *, written: int | None
) -> Reading:
    """A slice of one card, or several cards whole. `written` units stand for all of a card where a pod has none."""
    count = amount(container, CARDS)
    cores = amount(container, _COMPUTE)
    units = amount(container, _memory(memory_per_card))
    if (
        count is None
        or isinstance(count, Refusal)
        or isinstance(cores, Refusal)
        or isinstance(units, Refusal)
    ):
        return refused(count, cores, units)
    asked_for = _Slice(count=count, cores=cores, units=units)
    if count > 1:
        return _several_cards(container, asked_for, memory_per_card, written)
    return _one_card(container, asked_for, memory_per_card, largest, written)


def units_for_all(container: Container) -> int | None:
    """The memory of one card in a container that takes all compute of each of its cards, or None.

    Admission may have written it for a card of another shape.
    """
    count, cores = amount(container, CARDS), amount(container, _COMPUTE)
    units = amount(container, _memory((1,)))
    if not (isinstance(count, int) and isinstance(cores, int) and isinstance(units, int)):
        return None
    return units // count if cores == count * CORES_PER_CARD else None


def _one_card(
    container: Container,
    said: _Slice,
    memory_per_card: tuple[int, ...],
    largest: Bytes | None,
    written: int | None,
) -> Reading:
    faults: list[Refusal] = []
    if said.cores is not None and said.cores > CORES_PER_CARD:
        faults.append(refusal(container, _COMPUTE, Code.CORES_OUT_OF_RANGE))
    if said.units is not None and said.units not in legal_units(memory_per_card):
        faults.append(_no_such_size(container, said.units, memory_per_card))
    memory = None
    if said.units is not None and not _may_be_injected(said, memory_per_card):
        memory = from_512mib_units(said.units)
    if faults:
        return refused(*faults)
    alone = said.cores is None and said.units is None
    # HAMi leaves compute at none when only memory is given, and vendor plugins rely on what it leaves.
    cores = CORES_PER_CARD if alone else said.cores or 0
    return Reading(
        (_slice(1, cores, memory),),
        cautions=(
            *above_largest(container, names.SGPU_MEMORY, memory, largest),
            *_surprises(container, said),
        ),
        mutations=_injected(container, said, memory_per_card, written) if said.units is None else (),
    )


def _several_cards(
    container: Container, said: _Slice, memory_per_card: tuple[int, ...], written: int | None
) -> Reading:
    whole_compute = said.cores in (None, said.count * CORES_PER_CARD)
    whole_memory = said.units is None or _is_every_unit(said, memory_per_card)
    if not (whole_compute and whole_memory):
        return refused(_shared_over_several(container, said, memory_per_card))
    number = SetAnnotation(names.REQUEST_GPU_NUM, str(said.count))
    whole = msgspec.structs.replace(said, cores=said.count * CORES_PER_CARD)
    memory = None
    if said.units is not None and not _may_be_injected(whole, memory_per_card):
        memory = from_512mib_units(said.units // said.count)
    return Reading(
        (_slice(said.count, CORES_PER_CARD, memory),),
        mutations=(number, *_injected(container, said, memory_per_card, written)),
    )


def _is_every_unit(said: _Slice, memory_per_card: tuple[int, ...]) -> bool:
    return said.units in {said.count * card for card in memory_per_card}


def _may_be_injected(said: _Slice, memory_per_card: tuple[int, ...]) -> bool:
    """Whether the memory stands for "all of the card" rather than for itself: a webhook writes it so.

    Of several shapes that is the smallest, with all compute. A larger one is a wish for a card of that shape.
    """
    could_be = len(memory_per_card) == 1 or said.cores == said.count * CORES_PER_CARD
    return could_be and _is_every_unit(said, (min(memory_per_card),))


def _slice(count: int, cores: int, memory: Bytes | None) -> Ask:
    return Ask(
        vendor=Vendor.MTHREADS,
        kind=AskKind.SLICE,
        count=count,
        memory=memory,
        cores=cores,
        undivided=takes_all(cores, memory),
        vocabulary=Vocabulary.MTHREADS,
    )


def _injected(
    container: Container, said: _Slice, memory_per_card: tuple[int, ...], written: int | None
) -> tuple[Mutation, ...]:
    """The limits HAMi's webhook adds for whole cards; memory only where one number stands for all of any card."""
    mutations: list[Mutation] = []
    if said.cores is None:
        mutations.append(SetLimit(container.name, names.SGPU_CORE, str(said.count * CORES_PER_CARD)))
    understood = len(memory_per_card) == 1 or said.cores in (None, said.count * CORES_PER_CARD)
    if said.units is None and written is not None and understood:
        mutations.append(SetLimit(container.name, names.SGPU_MEMORY, str(said.count * written)))
    return tuple(mutations)


def _memory(memory_per_card: tuple[int, ...]) -> Meaning:
    legal = legal_units(memory_per_card)
    return Meaning(
        resource=names.SGPU_MEMORY,
        legal=f"memory is counted in units of 512 MiB, and the sizes that exist are {either(legal)}",
        instead="write one of these, or leave it out for the whole card",
        peer_text=f"sGPU memory request value is invalid, valid values are [{', '.join(map(str, legal))}]",
        largest_text=f"{legal[-1]} for each card",
    )


def _no_such_size(container: Container, units: int, memory_per_card: tuple[int, ...]) -> Refusal:
    meaning = _memory(memory_per_card)
    legal = legal_units(memory_per_card)
    larger = min((size for size in legal if size > units), default=legal[-1])
    instead = f"write {larger}, or leave it out for the whole card"
    return refusal(
        container,
        msgspec.structs.replace(meaning, instead=instead),
        Code.MEMORY_NOT_A_TIER,
        peer_text=meaning.peer_text,
    )


def _shared_over_several(container: Container, said: _Slice, memory_per_card: tuple[int, ...]) -> Refusal:
    sizes = either(said.count * card for card in memory_per_card)
    return Refusal(
        Code.SEVERAL_CARDS_IN_SLICES,
        sentence(
            asked(container, names.VGPU, names.SGPU_CORE, names.SGPU_MEMORY),
            f"several cards are only given whole, which is {names.SGPU_CORE} {said.count * CORES_PER_CARD}"
            f" and {names.SGPU_MEMORY} {sizes}",
            f"write {names.VGPU}: 1 to share a card, or leave {names.SGPU_CORE} and {names.SGPU_MEMORY} out"
            " for whole cards",
        ),
        container.name,
    )


def _surprises(container: Container, said: _Slice) -> tuple[Caution, ...]:
    if said.units is None and said.cores is not None and said.cores < CORES_PER_CARD:
        code = CautionCode.MEMORY_DEFAULTS_TO_WHOLE_CARD
        read = asked(container, names.SGPU_CORE)
        legal = f"without {names.SGPU_MEMORY} that takes all memory of the card, so nobody else can use it"
        instead = f"add for example {names.SGPU_MEMORY}: 32 for 16 GiB"
    elif said.units is not None and not said.cores:
        code = CautionCode.NO_COMPUTE_RESERVED
        read = asked(container, names.SGPU_MEMORY)
        with_none = f"without {names.SGPU_CORE}" if said.cores is None else f"with {names.SGPU_CORE} 0"
        legal = f"{with_none} that reserves no compute, so it may get none beside busy neighbours"
        instead = f"write {names.SGPU_CORE}: 1 or more"
    else:
        return ()
    return (Caution(code, sentence(read, legal, instead), container.name),)
