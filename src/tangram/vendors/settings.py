"""What an operator may tell admission about the cluster; everything else it knows by itself."""

from collections.abc import Iterable

import msgspec

from tangram.model.cards import SERVED, Card, QosPolicy, Vendor
from tangram.units.memory import Bytes


class AdmissionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that no single pod carries. The defaults are those of HAMi."""

    mthreads_memory_per_card: tuple[int, ...] = (96,)
    """Memory of the Moore Threads cards in the cluster, in units of 512 MiB: 96 is an MTT S4000, 160 an MTT S5000.

    With one shape a whole card has one known size, which is written into the pod as HAMi does. With several the
    size depends on the card that will be chosen, so nothing is written unless `mthreads_served`."""

    mthreads_served: bool = False
    """Tangram's agent serves every Moore Threads card known. It gives a pod that takes all of a card what the card
    has, whatever number the pod carries; the vendor's plugin would give what the number says. The kubelet asks the
    agent for a card only if the pod has a number, so of several shapes the smallest is written."""

    largest_memory: dict[Vendor, Bytes] = {}
    """What the largest sliced card known of each vendor can slice. The author of a slice above it is warned. Never
    refused: the next node of an autoscaled cluster may have a larger card, and pods that run on a card which the ledger
    does not know at the moment are read by the same settings and must keep their cards. Nothing is said of a vendor
    that is not listed."""

    compute_limited: frozenset[Vendor] = frozenset()
    """Makers of whom every sliced card known here holds slices to their compute. Asked of those whose slices have a
    weight among their neighbours otherwise; the author of a slice is warned unless its maker is listed."""

    renamed: dict[str, str] = {}
    """From this cluster's own name of a resource to the usual one, for those that are not called as usual."""

    qos_policy: QosPolicy = QosPolicy.BEST_EFFORT
    """What a new pod with MetaX slices gets that names no policy. It is written onto the pod, because the pod is all
    that the scheduler and the node's agent read later: a stored pod without the annotation has HAMi's usual policy,
    whatever the cluster's is by now."""

    vendors: frozenset[Vendor] = frozenset(SERVED)
    """Whose resources are this cluster's business. A pod that asks for cards of another vendor is let through as it
    came, and another scheduler places it."""

    def __post_init__(self) -> None:
        if not self.mthreads_memory_per_card or min(self.mthreads_memory_per_card) < 1:
            raise ValueError(
                f"mthreads_memory_per_card is {self.mthreads_memory_per_card}; it is a list of at least one card"
                " size in units of 512 MiB, each 1 or more; write 96 for the MTT S4000 or 160 for the MTT S5000."
            )


DEFAULT_SETTINGS = AdmissionSettings()


def largest_slices(cards: Iterable[Card]) -> dict[Vendor, Bytes]:
    """Per vendor what the largest of the sliced cards among these can slice; a vendor without one is left out."""
    largest: dict[Vendor, Bytes] = {}
    for card in cards:
        if card.offered_sliced:
            largest[card.vendor] = max(card.memory, largest.get(card.vendor, Bytes(0)))
    return largest


def unlimited_compute(cards: Iterable[Card]) -> frozenset[Vendor]:
    """Makers of the sliced cards among these that do not say that they hold slices to their compute."""
    sliced = (card for card in cards if card.offered_sliced)
    return frozenset(card.vendor for card in sliced if card.announced_qos is not QosPolicy.FIXED_SHARE)
