"""What a running pod holds of Moore Threads cards, by what its kubelet counted.

A kubelet counts whole cards, or compute and memory summed over cards; `vgpu` says how many those are, and where it is
missing they are as many as the amounts need.
"""

from tangram.model.cards import Vendor
from tangram.model.pods import Container, Pod
from tangram.model.requests import Ask, AskKind, Vocabulary
from tangram.units.memory import Bytes, from_512mib_units
from tangram.vendors.amounts import LARGEST_MEMORY, counted, counted_cards, names_any
from tangram.vendors.koordinator_counted import counted_per_card
from tangram.vendors.mthreads import names
from tangram.vendors.mthreads.products import CORES_PER_CARD, takes_all
from tangram.vendors.names import KOORDINATOR_RESOURCES
from tangram.vendors.protocol import RunningReading


def read_running(pod: Pod, memory_per_card: tuple[int, ...]) -> RunningReading:
    """The pod's whole cards and slices; `memory_per_card` are the shapes of card in the cluster."""
    asks = tuple(_asks(container, memory_per_card) for container in pod.containers)
    every = [ask for of_container in asks for ask in of_container]
    return RunningReading(asks=asks, one_card=bool(every) and all(ask.kind is AskKind.SLICE for ask in every))


def _asks(container: Container, memory_per_card: tuple[int, ...]) -> tuple[Ask, ...]:
    koordinators = names_any(container, KOORDINATOR_RESOURCES)
    words = Vocabulary.KOORDINATOR if koordinators else Vocabulary.MTHREADS
    whole, cards = counted_cards(container, names.GPU), counted_cards(container, names.VGPU)
    cores, units = counted(container, names.SGPU_CORE), counted(container, names.SGPU_MEMORY)
    if not names_any(container, (names.VGPU,)):
        largest = max(memory_per_card, default=0)
        cards = max(-(-(cores or 0) // CORES_PER_CARD), -(-(units or 0) // largest) if largest else 0)
        cards = cards or (1 if units else 0)
    asks: list[Ask] = []
    if whole:
        asks.append(Ask(vendor=Vendor.MTHREADS, kind=AskKind.WHOLE, count=whole, vocabulary=words))
    if cards == 1 and koordinators and cores is None:
        of_card = counted_per_card(container, 1)
        asks.append(
            _slice(
                -(-of_card.core_percent * CORES_PER_CARD // 100),
                of_card.memory,
                words,
                percent=of_card.memory_percent,
            )
        )
    elif cards == 1:
        alone = cores is None and units is None
        # A webhook writes the size of the card where all of its memory is meant.
        injected = units in memory_per_card and (len(memory_per_card) == 1 or cores == CORES_PER_CARD)
        memory = Bytes(min(from_512mib_units(units), LARGEST_MEMORY)) if units and not injected else None
        asks.append(_slice(CORES_PER_CARD if alone else min(cores or 0, CORES_PER_CARD), memory, words))
    elif cards:
        asks.append(_slice(CORES_PER_CARD, None, words, count=cards))
    return tuple(asks)


def _slice(cores: int, memory: Bytes | None, words: Vocabulary, *, percent: int = 100, count: int = 1) -> Ask:
    return Ask(
        vendor=Vendor.MTHREADS,
        kind=AskKind.SLICE,
        count=count,
        memory=memory,
        memory_percent=percent,
        cores=cores,
        undivided=takes_all(cores, memory, percent),
        vocabulary=words,
    )
