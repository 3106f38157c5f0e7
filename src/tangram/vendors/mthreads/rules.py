"""Moore Threads' side of admission: its containers, then what binds them together in one pod.

The vendor's plugin reads one list of card numbers for the whole pod. So the slices of a pod share one card, as HAMi's
page has it, and a container that takes several cards is the only one that takes any, because the number of cards is one
annotation of the pod. HAMi places no container beside such a one and gives no reason; it is refused here. Containers
that take one card each are placed on nodes of Tangram's agent, which serves container by container; HAMi, which puts
all containers of a pod on one card, never places them.
"""

import msgspec

from tangram.model.cards import Vendor
from tangram.model.pods import Container, Pod
from tangram.model.refusals import Caution, Refusal
from tangram.model.requests import Ask, AskKind
from tangram.units.memory import Bytes
from tangram.vendors.amounts import names_any, refused
from tangram.vendors.card_lists import ListNames, needs_named_cards, read_card_lists
from tangram.vendors.codes import CautionCode, Code
from tangram.vendors.mthreads import names
from tangram.vendors.mthreads.containers import read_slices, read_whole
from tangram.vendors.mthreads.koordinator import read_koordinator_words
from tangram.vendors.mthreads.products import CATALOGUE, CORES_PER_CARD
from tangram.vendors.mthreads.running import read_running
from tangram.vendors.mthreads.tiers import memory_tiers
from tangram.vendors.names import KOORDINATOR_CORE, KOORDINATOR_GPU, KOORDINATOR_RESOURCES
from tangram.vendors.protocol import PodReading, Reading, RunningReading
from tangram.vendors.shapes import slice_without_count, whole_and_slice
from tangram.vendors.wording import asked, sentence

_SLICE_WORDS = (names.VGPU, names.SGPU_CORE, names.SGPU_MEMORY)
_LISTS = ListNames(
    use_uuids=names.USE_UUIDS,
    avoid_uuids=names.AVOID_UUIDS,
    use_products=names.USE_PRODUCTS,
    avoid_products=names.AVOID_PRODUCTS,
)


class MthreadsRules(msgspec.Struct, frozen=True):
    """Moore Threads' `VendorRules`."""

    memory_per_card: tuple[int, ...] = (96,)
    """The shapes of card in the cluster, in units of 512 MiB."""
    largest_memory: Bytes | None = None
    """What the largest sliced card known of this vendor can slice; None while none is known."""
    compute_limited: bool = False
    """Every sliced card known holds slices to their compute."""
    served: bool = False
    """Tangram's agent serves every card known."""

    @property
    def vendor(self) -> Vendor:
        return Vendor.MTHREADS

    @property
    def resource_names(self) -> frozenset[str]:
        return names.RESOURCES

    @property
    def koordinator_resource(self) -> str:
        return names.VGPU

    def read_container(self, pod: Pod, container: Container) -> Reading:
        del pod
        reading = self._read(container)
        if self.compute_limited:
            return reading
        return msgspec.structs.replace(
            reading, cautions=(*reading.cautions, *_weight_alone(container, reading))
        )

    def _units_to_write(self) -> int | None:
        """The memory that stands for all of a card in a pod without any; None where it depends on the card."""
        return min(self.memory_per_card) if self.served or len(self.memory_per_card) == 1 else None

    def _read(self, container: Container) -> Reading:
        if names_any(container, KOORDINATOR_RESOURCES):
            return read_koordinator_words(container, self.memory_per_card, self.largest_memory)
        slices = names_any(container, _SLICE_WORDS)
        if names_any(container, (names.GPU,)):
            both = whole_and_slice(container, names.GPU, _SLICE_WORDS)
            whole = read_whole(container)
            return refused(both, *whole.refusals) if slices else whole
        if names_any(container, (names.VGPU,)):
            return read_slices(
                container, self.memory_per_card, self.largest_memory, written=self._units_to_write()
            )
        return refused(slice_without_count(container, names.VGPU, _SLICE_WORDS)) if slices else Reading()

    def read_pod(self, pod: Pod, readings: tuple[Reading, ...]) -> PodReading:
        lists = read_card_lists(pod.annotations, _LISTS, CATALOGUE)
        asks = [
            (container.name, ask)
            for container, reading in zip(pod.containers, readings, strict=True)
            for ask in reading.asks
        ]
        together = _one_card_faults(asks)
        if together or lists.refusals:
            return PodReading(refusals=(*together, *lists.refusals))
        return PodReading(
            cards=lists.cards,
            one_card=any(ask.kind is AskKind.SLICE for _, ask in asks),
            cautions=(*lists.cautions, *needs_named_cards(pod.annotations, _LISTS, readings)),
        )

    def read_running(self, pod: Pod) -> RunningReading:
        return read_running(pod, self.memory_per_card)

    def memory_tiers(self, memory: Bytes) -> tuple[Bytes, ...]:
        return memory_tiers(memory)


def _weight_alone(container: Container, reading: Reading) -> tuple[Caution, ...]:
    """Warn that the compute of a slice is no ceiling, which the user pages of HAMi promise."""
    if not any(ask.kind is AskKind.SLICE and 0 < (ask.cores or 0) < CORES_PER_CARD for ask in reading.asks):
        return ()
    return (
        Caution(
            CautionCode.COMPUTE_IS_A_WEIGHT,
            sentence(
                asked(container, names.SGPU_CORE, KOORDINATOR_CORE, KOORDINATOR_GPU),
                "that is a weight beside the card's other slices and no ceiling, and under the kernel module's usual"
                " policy not even that",
                "run gpu-device with --mthreads-compute-policy fixed-share if it is to be a ceiling",
            ),
            container.name,
        ),
    )


def _one_card_faults(asks: list[tuple[str, Ask]]) -> tuple[Refusal, ...]:
    sliced = [(name, ask) for name, ask in asks if ask.kind is AskKind.SLICE]
    if len(asks) < 2 or not sliced:
        return ()
    several = [(name, ask) for name, ask in asks if ask.count > 1 or ask.kind is AskKind.WHOLE]
    return tuple(
        Refusal(
            Code.ONE_CARD_PER_POD,
            sentence(
                f"container {name} asks for {_amount(ask)} while container {_other(asks, name)} asks for"
                " Moore Threads cards too",
                "the slices of a pod share one card, other containers may have a card each, and a container with"
                " several cards or one of the whole pool must be the only one",
                "give the containers pods of their own, or let each ask for one card or a slice of the sliced pool",
            ),
            name,
        )
        for name, ask in several
    )


def _amount(ask: Ask) -> str:
    pool = "whole cards" if ask.kind is AskKind.WHOLE else "sliced cards"
    return f"{ask.count} of the {pool}"


def _other(asks: list[tuple[str, Ask]], name: str) -> str:
    return next(other for other, _ in asks if other != name)
