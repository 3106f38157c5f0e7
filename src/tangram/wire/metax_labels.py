"""The labels by which MetaX's users choose nodes: which cards a node has, and which driver.

A node has one set of labels and may have cards of two models. The labels speak of the model that most of its cards
are, and of equally many the one of the lowest card, so that they describe cards that exist rather than a mixture.

The manual writes `C500`, newer releases of the vendor write `MXC500`, as their library does. A label holds one value,
so a cluster has one spelling: the charts with the vendor's names choose the manual's, everything else the library's,
which every other tool of the node prints.

`gpu.driver.mode` says who put the driver there: the host's administrator (`native`), or the cluster's own components
(`cloud`). No driver tells that about itself, and its kind does not either: an administrator installs the one that hands
out virtual functions too. Where a driver-manager runs it knows, and writes the label; where none runs the driver can
only be the host's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tangram.model.cards import SERVED, Vendor
from tangram.model.devices import Device, DriverMode
from tangram.vendors.metax.products import CATALOGUE
from tangram.wire.metax_cards import LABEL_MEMORY, LABEL_PRODUCT, LABEL_VIRTUAL_FUNCTIONS
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

INSTALLED: Final = "metax-tech.com/gpu.installed"
DRIVER_READY: Final = "metax-tech.com/driver.ready"
DRIVER: Final = "metax-tech.com/gpu.driver"
DRIVER_MODE: Final = f"{DRIVER}.mode"
FAMILY: Final = "metax-tech.com/gpu.family"
SRIOV: Final = "metax-tech.com/gpu.sriov"

OURS: Final = frozenset(
    {
        INSTALLED,
        DRIVER_READY,
        *(f"{DRIVER}.{part}" for part in DRIVER_PARTS),
        DRIVER_MODE,
        FAMILY,
        LABEL_MEMORY,
        LABEL_PRODUCT,
        SRIOV,
        LABEL_VIRTUAL_FUNCTIONS,
    }
)
"""Everything this module ever writes. `maca.ready` and `runtime.ready` are the operator's."""

DRIVER_OWNER: Final = frozenset({DRIVER_READY, DRIVER_MODE})
"""Those that whoever installs drivers knows better: under the operator, driver-manager."""


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What an administrator may decide about the labels."""

    short_products: bool = False
    """`C500` instead of `MXC500`."""
    driver_mode: DriverMode = DriverMode.NATIVE
    """Who put the driver there."""
    driver_elsewhere: bool = False
    """Somebody else says whether the driver is ready and who put it there; those labels are left alone."""
    vendors: frozenset[Vendor] = frozenset(SERVED)
    """Whose cards count. Labels of MetaX's words are left alone where MetaX is not among them: its own labeller may
    write them."""


_USUAL: Final = Choices()


def is_ours(key: str, choices: Choices = _USUAL) -> bool:
    """Whether a label is one that we may change or remove."""
    if Vendor.METAX not in choices.vendors:
        return False
    return key in OURS and not (choices.driver_elsewhere and key in DRIVER_OWNER)


def label_set(
    devices: Sequence[Device] | None, *, on_bus: bool, choices: Choices = _USUAL
) -> Mapping[str, str]:
    """Every label of the node, from the cards that the driver lists; None where no driver answers.

    `on_bus` says whether a card sits on the PCI bus, whoever drives it. Without one, and without a driver that lists
    one, the node carries `gpu.installed=false` and nothing else.
    """
    labels = _all_labels(physical_cards(devices or (), Vendor.METAX), on_bus=on_bus, choices=choices)
    return {key: value for key, value in labels.items() if is_ours(key, choices)}


def _all_labels(cards: Sequence[Device], *, on_bus: bool, choices: Choices) -> dict[str, str]:
    if not cards:
        return {INSTALLED: TRUE, DRIVER_READY: FALSE} if on_bus else {INSTALLED: FALSE}
    product = commonest(card.product for card in cards) or ""
    alike = [card for card in cards if card.product == product]
    functions = commonest(card.virtual_functions for card in alike)
    described = {
        DRIVER_MODE: choices.driver_mode,
        FAMILY: legal_value(commonest(card.family for card in alike) or ""),
        LABEL_MEMORY: memory_value(commonest(card.memory for card in alike)),
        LABEL_PRODUCT: legal_value(CATALOGUE.unbranded(product) if choices.short_products else product),
        SRIOV: commonest(card.sriov for card in alike) or "",
        LABEL_VIRTUAL_FUNCTIONS: "" if functions is None else str(functions),
    }
    return {
        INSTALLED: TRUE,
        DRIVER_READY: TRUE,
        **version_labels(DRIVER, commonest(card.driver_version for card in alike)),
        **{key: str(value) for key, value in described.items() if value},
    }
