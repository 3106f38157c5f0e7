"""Labels of a node with Moore Threads cards.

For these facts no name of the vendor's is documented, so they stand under our own prefix, where they can contradict
nobody. A node without such a card carries none of them. The vendor's own labels (`mthreads.com/gpu.count`,
`gpu<N>.memory`, `sgpu.cores`) belong to the agent, which offers the cards that they count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tangram.model.cards import Vendor
from tangram.model.devices import Device
from tangram.wire.node_labels import (
    DRIVER_PARTS,
    FALSE,
    TRUE,
    commonest,
    legal_value,
    memory_value,
    physical_cards,
    version_labels,
)

INSTALLED: Final = "tangram.dev/mthreads.installed"
DRIVER_READY: Final = "tangram.dev/mthreads.driver.ready"
DRIVER: Final = "tangram.dev/mthreads.driver"
PRODUCT: Final = "tangram.dev/mthreads.product"
MEMORY: Final = "tangram.dev/mthreads.memory"
COUNT: Final = "tangram.dev/mthreads.count"

OURS: Final = frozenset(
    {
        INSTALLED,
        DRIVER_READY,
        *(f"{DRIVER}.{part}" for part in DRIVER_PARTS),
        PRODUCT,
        MEMORY,
        COUNT,
    }
)


def is_ours(key: str) -> bool:
    """Whether a label is one that we may change or remove."""
    return key in OURS


def label_set(devices: Sequence[Device] | None, *, on_bus: bool) -> Mapping[str, str]:
    """Every label of the node, from the cards that the driver lists; None where no driver answers."""
    cards = physical_cards(devices or (), Vendor.MTHREADS)
    if not cards:
        return {INSTALLED: TRUE, DRIVER_READY: FALSE} if on_bus else {}
    product = commonest(card.product for card in cards) or ""
    alike = [card for card in cards if card.product == product]
    described = {
        PRODUCT: legal_value(product),
        MEMORY: memory_value(commonest(card.memory for card in alike)),
    }
    return {
        INSTALLED: TRUE,
        DRIVER_READY: TRUE,
        **version_labels(DRIVER, commonest(card.driver_version for card in alike)),
        **{key: value for key, value in described.items() if value},
        COUNT: str(len(cards)),
    }
