"""What one container asks of MetaX cards: whole ones, or slices in MetaX's or Koordinator's words.

Slices of several cards are legal in MetaX's words; `vcore` and `vmemory` then count for each of them. A container
that names a part of a slice but no `sgpu` is refused: HAMi lets it through and it runs without a card.
"""

from typing import Final

from tangram.model.cards import AppClass, Vendor
from tangram.model.pods import Container, Pod
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.memory import MIB, Bytes, memory_text
from tangram.units.vmemory import VmemoryError, vmemory_bytes
from tangram.vendors.amounts import (
    LARGEST_MEMORY,
    LARGEST_MEMORY_TEXT,
    Meaning,
    amount,
    names_any,
    refusal,
    refused,
    stated,
)
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.koordinator import mixed_words, read_koordinator, read_koordinators_whole
from tangram.vendors.koordinator_words import read_totals
from tangram.vendors.metax import names
from tangram.vendors.metax.products import MEMORY_STEP, whole_steps
from tangram.vendors.names import KOORDINATOR_MEMORY, KOORDINATOR_RESOURCES
from tangram.vendors.protocol import Reading
from tangram.vendors.shapes import above_largest, slice_without_count, whole_and_slice
from tangram.vendors.wording import asked, sentence

ALL_COMPUTE: Final = 100
"""Percent of one card."""
_STEPS = f"a card is sliced in steps of {memory_text(MEMORY_STEP)}"
_EVEN_COUNTS: Final = {3: "2 or 4", 5: "4 or 8", 6: "4 or 8", 7: "4 or 8"}
"""Numbers of whole cards that MetaX's manual advises against, and those beside them that it advises."""
_SLICE_WORDS = (names.SGPU, names.VCORE, names.VMEMORY)

_CARDS = Meaning(
    resource=names.GPU, legal="whole cards are counted in whole numbers from 1", instead="write for example 1"
)
_SLICED_CARDS = Meaning(
    resource=names.SGPU,
    legal="the cards to take a slice of are counted in whole numbers from 1",
    instead="write 1, or remove every metax-tech.com resource if no card is wanted",
)
_COMPUTE = Meaning(
    resource=names.VCORE,
    legal="compute is a whole percentage of one card, from 0 to 100",
    instead="write for example 50 for half a card, or leave it out for a card of its own",
    zero=True,
    largest_text="100",
)
_MEMORY = Meaning(
    resource=names.VMEMORY,
    legal="memory is a positive number of GiB, or of bytes with a suffix such as Mi or Gi",
    instead="write for example 16Gi, or leave it out for the whole card",
    largest_text=LARGEST_MEMORY_TEXT,
)
_VMEMORY_CODES = {
    "vmemory_fraction": Code.AMOUNT_FRACTIONAL,
    "vmemory_below_one_mib": Code.MEMORY_BELOW_ONE_MIB,
    "vmemory_ambiguous": Code.MEMORY_AMBIGUOUS,
}


def read_container(pod: Pod, container: Container, largest: Bytes | None) -> Reading:
    """The container's asks, or every reason why there are none; `largest` is the largest card known."""
    if names_any(container, KOORDINATOR_RESOURCES):
        return _koordinator(container, largest)
    slices = names_any(container, _SLICE_WORDS)
    if names_any(container, (names.GPU,)):
        both = whole_and_slice(container, names.GPU, _SLICE_WORDS)
        return refused(both, *_amount_faults(container)) if slices else _whole(container)
    if names_any(container, (names.SGPU,)):
        return _slices(container, largest, online=pod.annotations.get(names.APP_CLASS) == AppClass.ONLINE)
    if not slices:
        return Reading()
    return refused(slice_without_count(container, names.SGPU, _SLICE_WORDS), *_amount_faults(container))


def _amount_faults(container: Container) -> tuple[Refusal, ...]:
    """Every number that cannot be one, whatever stands beside it."""
    cards = (amount(container, _CARDS), amount(container, _SLICED_CARDS))
    found = (*cards, _compute(container), _vmemory(container))
    return tuple(finding for finding in found if isinstance(finding, Refusal))


def _whole(container: Container) -> Reading:
    count = amount(container, _CARDS)
    if count is None or isinstance(count, Refusal):
        return refused(count)
    ask = Ask(vendor=Vendor.METAX, kind=AskKind.WHOLE, count=count, vocabulary=Vocabulary.METAX)
    return Reading((ask,), cautions=_fragments(container, count))


def _fragments(container: Container, count: int) -> tuple[Caution, ...]:
    """MetaX's advice about the size of jobs, for those that do not follow it. It is advice: such a job is placed."""
    if count not in _EVEN_COUNTS:
        return ()
    return (
        Caution(
            CautionCode.CARD_COUNT_FRAGMENTS,
            sentence(
                asked(container, names.GPU),
                "1, 2, 4 or 8 cards leave those of a server whole for others, and other numbers leave fragments",
                f"write {_EVEN_COUNTS[count]} if the job can use that many; it is placed as it is too",
            ),
            container.name,
        ),
    )


def _slices(container: Container, largest: Bytes | None, *, online: bool) -> Reading:
    count = amount(container, _SLICED_CARDS)
    compute = _compute(container)
    memory = _vmemory(container)
    if (
        count is None
        or isinstance(count, Refusal)
        or isinstance(compute, Refusal)
        or isinstance(memory, Refusal)
    ):
        return refused(count, compute, memory)
    ask = Ask(
        vendor=Vendor.METAX,
        kind=AskKind.SLICE,
        count=count,
        memory=memory,
        cores=ALL_COMPUTE if compute is None else compute,
        vocabulary=Vocabulary.METAX,
    )
    # Online slices hold no compute, so none of these surprises can happen to them.
    surprises = () if online else _surprises(container, compute, memory)
    cautions = (
        *above_largest(container, names.VMEMORY, memory, largest),
        *surprises,
        *_rounding(container, names.VMEMORY, memory),
    )
    return Reading((ask,), cautions=cautions)


def _compute(container: Container) -> int | Refusal | None:
    compute = amount(container, _COMPUTE)
    if isinstance(compute, int) and compute > ALL_COMPUTE:
        return refusal(container, _COMPUTE, Code.CORES_OUT_OF_RANGE)
    return compute


def _vmemory(container: Container) -> Bytes | Refusal | None:
    text = stated(container, names.VMEMORY)
    if text is None or isinstance(text, Refusal):
        return text
    try:
        size = vmemory_bytes(text)
    except VmemoryError as error:
        if error.code not in _VMEMORY_CODES:
            return _unreadable(container)
        code = _VMEMORY_CODES[error.code]
        read = asked(container, names.VMEMORY)
        return Refusal(code, sentence(read, error.legal, f"write {error.instead}"), container.name)
    if size > LARGEST_MEMORY:
        return refusal(container, _MEMORY, Code.AMOUNT_TOO_LARGE)
    return _below_one_step(container, names.VMEMORY, size) or size


def _below_one_step(container: Container, word: str, size: Bytes | None) -> Refusal | None:
    """Refuse a size that rounds down to nothing: when the container starts it is too late to write another."""
    if size is None or size >= MEMORY_STEP:
        return None
    instead = f"write {_in_mib(MEMORY_STEP)} or more"
    return Refusal(
        Code.MEMORY_BELOW_ONE_STEP, sentence(asked(container, word), _STEPS, instead), container.name
    )


def _rounding(container: Container, word: str, size: Bytes | None) -> tuple[Caution, ...]:
    """A caution about a size between two steps, of which the slice has the lower one."""
    if size is None or size % MEMORY_STEP == 0:
        return ()
    below = whole_steps(size)
    legal = f"{_STEPS}, so the slice has {_in_mib(below)}"
    instead = f"write {_in_mib(below)} or {_in_mib(Bytes(below + MEMORY_STEP))}"
    code = CautionCode.MEMORY_ROUNDED_DOWN
    return (Caution(code, sentence(asked(container, word), legal, instead), container.name),)


def _in_mib(size: Bytes) -> str:
    return f"{size // MIB}Mi"


def _unreadable(container: Container) -> Refusal:
    """Zero, below zero, empty and malformed texts get the same codes as for every other resource."""
    finding = amount(container, _MEMORY)
    return finding if isinstance(finding, Refusal) else refusal(container, _MEMORY, Code.AMOUNT_UNREADABLE)


def _surprises(container: Container, compute: int | None, memory: Bytes | None) -> tuple[Caution, ...]:
    if compute is None and memory is not None:
        code, legal, instead = (
            CautionCode.COMPUTE_DEFAULTS_TO_WHOLE_CARD,
            f"without {names.VCORE} that takes all compute of the card, so nobody else can use it",
            f"add for example {names.VCORE}: 25",
        )
        read = asked(container, names.VMEMORY)
    elif compute == 0:
        code, legal, instead = (
            CautionCode.NO_COMPUTE_RESERVED,
            "that reserves no compute, so the slice may get none beside busy neighbours",
            f"write {names.VCORE}: 1 or more",
        )
        read = asked(container, names.VCORE)
    elif compute is not None and compute < ALL_COMPUTE and memory is None:
        code, legal, instead = (
            CautionCode.MEMORY_DEFAULTS_TO_WHOLE_CARD,
            f"without {names.VMEMORY} that takes all memory of the card, so nobody else can use it",
            f"add for example {names.VMEMORY}: 16Gi",
        )
        read = asked(container, names.VCORE)
    else:
        return ()
    return (Caution(code, sentence(read, legal, instead), container.name),)


def _koordinator(container: Container, largest: Bytes | None) -> Reading:
    if names_any(container, (names.GPU,)) and not names_any(container, (names.SGPU,)):
        return read_koordinators_whole(
            container, Vendor.METAX, _CARDS, names.SGPU, names.RESOURCES - {names.GPU}
        )
    mixed = mixed_words(container, names.SGPU, names.RESOURCES - {names.SGPU})
    said = read_koordinator(container, _SLICED_CARDS)
    memory = read_totals(container).memory if isinstance(said, tuple) else said.memory
    # Below 1 MiB it is refused as that.
    small = (
        None
        if memory is None or memory < MIB
        else _below_one_step(container, KOORDINATOR_MEMORY, Bytes(memory))
    )
    faults = (mixed, *(said if isinstance(said, tuple) else ()), small)
    if isinstance(said, tuple) or mixed is not None or small is not None:
        return refused(*faults)
    ask = Ask(
        vendor=Vendor.METAX,
        kind=AskKind.SLICE,
        count=said.count,
        memory=said.memory,
        memory_percent=said.memory_percent,
        cores=said.core_percent,
        vocabulary=Vocabulary.KOORDINATOR,
    )
    cautions = (
        *above_largest(container, KOORDINATOR_MEMORY, said.memory, largest),
        *_rounding(container, KOORDINATOR_MEMORY, said.memory),
    )
    return Reading((ask,), cautions=cautions, mutations=said.mutations)
