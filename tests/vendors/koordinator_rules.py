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


def expected(said: Said, beside: int | None, vendor: Vendor) -> Cards | str:
    """The cards that the words mean here, or the code of the first thing that is wrong with them."""
    if beside is None:
        return "koordinator-without-vendor"
    fault = _fault_of_the_words(said)
    if fault is not None:
        return fault
    full = completed_by_koordinator(said)
    count, core, ratio = full.shared or 1, full.core or 0, full.ratio or 0
    if not _evenly(core, count) or not _evenly(ratio, count):
        return "koordinator-unit"
    if full.memory and full.memory // count < MIB:
        return "memory-below-one-mib"
    if count > 1 and (core != 100 * count or ratio != 100 * count):
        return "several-cards-in-slices"
    if beside != count:
        return "koordinator-count-mismatch"
    memory = full.memory // count // MIB * MIB if full.memory else None
    if vendor is Vendor.MTHREADS:
        size = 48 * GIB * (ratio // count) // 100 if memory is None else memory
        if size not in S4000_SIZES:
            return "memory-not-a-tier"
    return Cards(count, core // count, memory, ratio // count if memory is None else 100)


def _fault_of_the_words(said: Said) -> str | None:
    counting = said.counting()
    if "gpu" in counting:
        return None if len(counting) == 1 else "koordinator-combination"
    if len(counting & {"memory", "ratio"}) != 1:
        return "koordinator-combination"
    return None if "core" in counting else "koordinator-core-missing"


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
