"""Sections 8 and 9 of Koordinator's protocol stated once more, in plain arithmetic and apart from the program.

Numbers are totals over the pod's cards: percents, and bytes of memory. `None` is a word that is not written; of memory
and ratio a zero is the same.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from tangram.model.cards import Vendor

MIB = 2**20
GIB = 2**30

GPU = "koordinator.sh/gpu"
SHARED = "koordinator.sh/gpu.shared"
CORE = "koordinator.sh/gpu-core"
MEMORY = "koordinator.sh/gpu-memory"
RATIO = "koordinator.sh/gpu-memory-ratio"
BESIDE = {Vendor.METAX: "metax-tech.com/sgpu", Vendor.MTHREADS: "mthreads.com/vgpu"}

S4000_SIZES = [1 * GIB, 2 * GIB, 4 * GIB, 8 * GIB, 16 * GIB, 32 * GIB, 48 * GIB]


class Said(NamedTuple):
    """What one container writes in Koordinator's words."""

    gpu: int | None = None
    shared: int | None = None
    core: int | None = None
    memory: int | None = None
    ratio: int | None = None

    def limits(self) -> dict[str, str]:
        words = zip((GPU, SHARED, CORE, MEMORY, RATIO), self, strict=True)
        return {name: str(total) for name, total in words if total is not None}

    def counting(self) -> frozenset[str]:
        """The words that count."""
        return frozenset(name for name, total in self._asdict().items() if total)


class Cards(NamedTuple):
    """What it comes to, for each of that many cards."""

    number: int
    core: int
    memory: int | None
    ratio: int


def _evenly(total: int, cards: int) -> bool:
    return total % cards == 0 and total // cards <= 100


def _part_or_whole(total: int) -> bool:
    return total <= 100 or total % 100 == 0


def taken_by_koordinator(said: Said) -> bool:
    """Whether koord-scheduler lets a pod with these words past its own checks of them (section 8's table)."""
    core, ratio = said.core or 0, said.ratio or 0
    match sorted(said.counting()):
        case ["gpu"]:
            return _part_or_whole(said.gpu or 0)
        case ["memory"] | ["ratio"] | ["core", "memory"] | ["core", "ratio"]:
            return _part_or_whole(core) and _part_or_whole(ratio)
        case ["memory", "shared"] | ["ratio", "shared"]:
            return _evenly(ratio, said.shared or 1)
        case ["core", "memory", "shared"] | ["core", "ratio", "shared"]:
            return _evenly(core, said.shared or 1) and _evenly(ratio, said.shared or 1)
        case _:
            return False


def completed_by_koordinator(said: Said) -> Said:
    """What its webhook writes (section 9): `gpu` taken apart, then the number of cards."""
    if said.gpu is not None:
        said = said._replace(gpu=None, core=said.gpu, ratio=said.gpu)
    if said.shared is None:
        of = said.ratio or said.core or 1
        said = said._replace(shared=of // 100 if of > 100 and of % 100 == 0 else 1)
    return said


def expected(said: Said, beside: int | None, vendor: Vendor) -> Cards | frozenset[str]:
    """The cards that the words mean here, or the code of everything that is wrong with them."""
    wrong = _faults_of_the_words(said)
    number = _number_of_cards(said)
    if beside is not None and number is not None and beside != number:
        wrong.add("koordinator-count-mismatch")
    full = completed_by_koordinator(said)
    count, core, ratio = full.shared or 1, full.core or 0, full.ratio or 0
    memory = full.memory // count // MIB * MIB if full.memory else None
    if vendor is Vendor.MTHREADS and beside is not None and wrong <= {"koordinator-count-mismatch"}:
        size = 48 * GIB * (ratio // count) // 100 if memory is None else memory
        if size not in S4000_SIZES:
            wrong.add("memory-not-a-tier")
    if beside is None:
        wrong.add("koordinator-without-vendor")
    if wrong:
        return frozenset(wrong)
    return Cards(count, core // count, memory, ratio // count if memory is None else 100)


def _faults_of_the_words(said: Said) -> set[str]:
    counting, wrong = said.counting(), set[str]()
    if "gpu" in counting:
        if len(counting) > 1:
            wrong.add("koordinator-combination")
        if not _part_or_whole(said.gpu or 0):
            wrong.add("koordinator-unit")
    else:
        if len(counting & {"memory", "ratio"}) != 1:
            wrong.add("koordinator-combination")
        if "core" not in counting:
            wrong.add("koordinator-core-missing")
    # Of words that do not stand together each is looked at by itself.
    own = said._replace(gpu=None)
    over = completed_by_koordinator(own).shared or 1
    if not _evenly(own.core or 0, over) or not _evenly(own.ratio or 0, over):
        wrong.add("koordinator-unit")
    number = _number_of_cards(said)
    if said.memory and said.memory // (number or 1) < MIB:
        wrong.add("memory-below-one-mib")
    if number is not None and number > 1 and "gpu" not in counting:
        stated = [total for total in (said.core, said.ratio) if total]
        if said.memory or any(total < 100 * number for total in stated):
            wrong.add("several-cards-in-slices")
    return wrong


def _number_of_cards(said: Said) -> int | None:
    """None where it may be another once the words are mended: they do not stand together, or are no whole cards."""
    counting = said.counting()
    if "gpu" in counting and len(counting) > 1:
        return None
    if said.shared:
        return said.shared
    ways = [said.gpu or said.ratio or said.core or 1]
    if said.memory and said.ratio:
        ways.append(said.core or 1)
    if not all(_part_or_whole(way) for way in ways):
        return None
    numbers = {max(1, way // 100) for way in ways}
    return numbers.pop() if len(numbers) == 1 else None


STRICTER = {
    "koordinator-core-missing": "Koordinator takes it and fails while binding, again and again",
    "koordinator-unit": "Koordinator takes it for more compute of one card than the card has, which never fits",
    "memory-below-one-mib": "Koordinator takes it and fails while binding, again and again",
    "several-cards-in-slices": "Koordinator's manual rules parts of several cards out, and nothing of it checks",
    "koordinator-count-mismatch": "Koordinator does not read the vendor's resource, and the kubelet gives by it",
    "memory-not-a-tier": "Koordinator does not know the sizes in which Moore Threads' cards can be cut",
}
"""Why a pod that Koordinator takes is refused here; there is no other reason."""

PERCENTS = (None, 50, 100, 150, 200)


def combinations() -> Iterator[Said]:
    """Every set of words with part of a card, a whole one, neither and two, and zeros where they mean nothing."""
    for gpu, shared, core, memory, ratio in product(
        (None, 50, 150, 200),
        (None, 1, 2),
        (*PERCENTS, 300),
        (None, 0, 512 * 1024, GIB, 48 * GIB),
        (*PERCENTS, 0),
    ):
        said = Said(gpu, shared, core, memory, ratio)
        if said.limits():
            yield said
