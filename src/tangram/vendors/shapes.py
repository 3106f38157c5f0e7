"""Faults in the shape of a request that every vendor's users can make, worded once."""

from collections.abc import Iterable

from tangram.model.pods import Container
from tangram.model.refusals import Caution, Refusal
from tangram.units.memory import Bytes, memory_text
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.wording import asked, sentence, written


def whole_and_slice(container: Container, whole: str, slices: Iterable[str]) -> Refusal:
    """Refuse a container that wants a card both whole and sliced: the two come from different pools of cards."""
    return Refusal(
        Code.WHOLE_AND_SLICE,
        sentence(
            f"{asked(container, whole)} beside {written(container, slices)}",
            "a container takes cards either whole or in slices",
            f"remove {whole}, or everything else of this vendor",
        ),
        container.name,
    )


def slice_without_count(container: Container, cards: str, parts: Iterable[str]) -> Refusal:
    """Refuse a container that says how large its slice is but not of how many cards."""
    return Refusal(
        Code.SLICE_WITHOUT_COUNT,
        sentence(
            f"{asked(container, *parts)} without {cards}",
            "the size of a slice means nothing without the number of cards",
            f"add {cards}: 1",
        ),
        container.name,
    )


def above_largest(
    container: Container, resource: str, memory: Bytes | None, largest: Bytes | None
) -> tuple[Caution, ...]:
    """Warn of a slice larger than any sliced card known now; with no such card known, or no size asked, of nothing."""
    if memory is None or largest is None or memory <= largest:
        return ()
    return (
        Caution(
            CautionCode.MEMORY_ABOVE_LARGEST_CARD,
            sentence(
                f"{asked(container, resource)}, which is {memory_text(memory)} of one card",
                f"no sliced card here can slice more than {memory_text(largest)}, so the pod waits for a larger card",
                f"ask for at most {memory_text(largest)} of each card",
            ),
            container.name,
        ),
    )
