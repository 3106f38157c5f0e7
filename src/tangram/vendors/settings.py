"""What an operator may tell admission about the cluster; everything else it knows by itself."""

import msgspec

from tangram.model.cards import Vendor
from tangram.units.memory import Bytes


class AdmissionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that no single pod carries. The defaults are those of HAMi."""

    mthreads_memory_per_card: tuple[int, ...] = (96,)
    """Memory of the Moore Threads cards in the cluster, in units of 512 MiB: 96 is an MTT S4000, 160 an MTT S5000.

    With one shape a whole card has one known size, which is written into the pod as HAMi does. With several the
    size depends on the card that will be chosen, so nothing is written."""

    largest_memory: dict[Vendor, Bytes] = {}
    """The largest card of each vendor. A slice above it is refused at once; for a vendor that is not listed the
    refusal is left to placement, which knows the cards."""

    renamed: dict[str, str] = {}
    """From this cluster's own name of a resource to the usual one, for those that are not called as usual."""

    def __post_init__(self) -> None:
        if not self.mthreads_memory_per_card or min(self.mthreads_memory_per_card) < 1:
            raise ValueError(
                f"mthreads_memory_per_card is {self.mthreads_memory_per_card}; it is a list of at least one card"
                " size in units of 512 MiB, each 1 or more; write 96 for the MTT S4000 or 160 for the MTT S5000."
            )


DEFAULT_SETTINGS = AdmissionSettings()
