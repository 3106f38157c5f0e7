"""Moore Threads cards asked for in Koordinator's words.

Koordinator knows nothing of sixteenths or legal sizes. Compute is charged rounded up to the next sixteenth, so that
two slices never hold more than the card has; any percentage from 1 is at least one sixteenth. Memory is never
rounded: a size the kernel would round up is refused with the sizes that exist. No kubelet asks a plugin for
Koordinator's words, and the vendor's plugin knows no vgpu, so admission adds what it does know. koord-scheduler counts
every word against the node, where nobody offers vgpu: pods for it leave that out and state what admission would add.
"""

from collections.abc import Mapping

from tangram.model.cards import Vendor
from tangram.model.pods import Container
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.memory import Bytes, from_512mib_units, memory_text
from tangram.vendors.amounts import names_any, refused
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.koordinator import (
    KoordinatorAsk,
    mixed_words,
    read_koordinator,
    read_koordinators_whole,
)
from tangram.vendors.koordinator_words import WORDS
from tangram.vendors.mthreads import names
from tangram.vendors.mthreads.containers import CARDS, WHOLE_CARDS
from tangram.vendors.mthreads.products import CORES_PER_CARD, takes_all
from tangram.vendors.mthreads.tiers import legal_units, memory_tiers
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_GPU, KOORDINATOR_MEMORY, KOORDINATOR_RATIO
from tangram.vendors.protocol import Mutation, Reading, SetAnnotation, SetLimit
from tangram.vendors.shapes import above_largest
from tangram.vendors.wording import asked, either, sentence, written


def read_koordinator_words(
    container: Container, memory_per_card: tuple[int, ...], largest: Bytes | None
) -> Reading:
    """The container's asks in sixteenths and legal sizes, or every reason why there are none."""
    if names_any(container, (names.GPU,)) and not names_any(container, (names.VGPU,)):
        return read_koordinators_whole(
            container, Vendor.MTHREADS, WHOLE_CARDS, names.VGPU, names.RESOURCES - {names.GPU}
        )
    bare = _is_bare(container)
    said = read_koordinator(container, CARDS, counted=not bare)
    added = {} if isinstance(said, tuple) else _for_the_plugin(said, memory_per_card)
    # A pod is read again after admission has completed it.
    complete = all(container.limits.get(resource) == value for resource, value in added.items())
    beside = {names.VGPU, *added} if complete or bare else {names.VGPU}
    # Where the words cannot be read, the plugin's cannot be compared with them.
    unknown = {names.SGPU_CORE, names.SGPU_MEMORY} if bare else set[str]()
    mixed = mixed_words(container, names.VGPU, names.RESOURCES - beside - unknown)
    other = _plugin_fault(container, added) if bare and not complete else None
    # A wrong number of cards says nothing about the size of a slice.
    words = read_koordinator(container, CARDS, counted=False) if isinstance(said, tuple) else said
    size = None if isinstance(words, tuple) else _memory_fault(container, words, memory_per_card)
    if isinstance(said, tuple):
        return refused(mixed, *said, size)
    if mixed is not None or other is not None or size is not None:
        return refused(mixed, other, size)
    cores = _sixteenths(said)
    more: list[Mutation] = []
    if not complete:
        more += [SetLimit(container.name, resource, value) for resource, value in added.items()]
    if said.count > 1:
        more.append(SetAnnotation(names.REQUEST_GPU_NUM, str(said.count)))
    ask = Ask(
        vendor=Vendor.MTHREADS,
        kind=AskKind.SLICE,
        count=said.count,
        memory=said.memory,
        memory_percent=said.memory_percent,
        cores=cores,
        undivided=takes_all(cores, said.memory, said.memory_percent),
        vocabulary=Vocabulary.KOORDINATOR,
    )
    cautions = (
        *above_largest(container, KOORDINATOR_MEMORY, said.memory, largest),
        *_rounding(container, said, cores),
    )
    return Reading((ask,), cautions=cautions, mutations=(*said.mutations, *more))


def _is_bare(container: Container) -> bool:
    """Whether the plugin's words stand for the number of cards, as koord-scheduler needs it."""
    named = container.limits.keys() | container.requests.keys()
    return names.VGPU not in named and {names.SGPU_CORE, names.SGPU_MEMORY} <= named


def _plugin_fault(container: Container, added: Mapping[str, str]) -> Refusal:
    meant = " and ".join(f"{resource}: {value}" for resource, value in added.items())
    return Refusal(
        Code.KOORDINATOR_COUNT_MISMATCH,
        sentence(
            f"{asked(container, *WORDS)} beside {written(container, tuple(added))}",
            "the plugin's words beside Koordinator's state the same amounts",
            f"write {meant}, or {names.VGPU} in their place where Tangram's scheduler places the pod",
        ),
        container.name,
    )


def _for_the_plugin(said: KoordinatorAsk, memory_per_card: tuple[int, ...]) -> dict[str, str]:
    """What the kubelet is to ask the vendor's plugin for; memory only where it is the same on every card."""
    added = {names.SGPU_CORE: str(said.count * _sixteenths(said))}
    units = {card * said.memory_percent // 100 for card in memory_per_card}
    if said.memory is not None:
        units = {said.memory // from_512mib_units(1)}
    if len(units) == 1:
        added[names.SGPU_MEMORY] = str(said.count * units.pop())
    return added


def _sixteenths(said: KoordinatorAsk) -> int:
    return -(-said.core_percent * CORES_PER_CARD // 100)


def _memory_fault(
    container: Container, said: KoordinatorAsk, memory_per_card: tuple[int, ...]
) -> Refusal | None:
    cards = [from_512mib_units(card) for card in memory_per_card]
    # Bytes stay what they are on every card. A ratio becomes another size on each, so all of them must exist.
    if said.memory is None:
        legal = all(card * said.memory_percent // 100 in memory_tiers(card) for card in cards)
    else:
        legal = any(said.memory in memory_tiers(card) for card in cards)
    if legal:
        return None
    sizes = [memory_text(from_512mib_units(units)) for units in legal_units(memory_per_card)]
    return Refusal(
        Code.MEMORY_NOT_A_TIER,
        sentence(
            asked(container, KOORDINATOR_GPU, KOORDINATOR_MEMORY, KOORDINATOR_RATIO),
            f"a slice of a Moore Threads card has {either(sizes)}",
            f"write {KOORDINATOR_MEMORY} with one of these, such as 16Gi",
        ),
        container.name,
    )


def _rounding(container: Container, said: KoordinatorAsk, cores: int) -> tuple[Caution, ...]:
    reserved = cores * 100 // CORES_PER_CARD
    if said.core_percent == reserved:
        return ()
    return (
        Caution(
            CautionCode.COMPUTE_ROUNDED_UP,
            sentence(
                asked(container, KOORDINATOR_CORE, KOORDINATOR_GPU),
                f"Moore Threads cards are shared in sixteenths, so {cores} of {CORES_PER_CARD} are reserved",
                f"write {reserved}, which costs the same",
            ),
            container.name,
        ),
    )
