"""Which of the MXMACA images that a release names are for this node: those of its cards' product and its processors.

The operator's DaemonSets choose nodes by the same rule, so what is chosen here is what the node's payload pods bring.
Cards are known from the label of gpu-label; while a node is cordoned, and that label gone, from the operator's, which
stays. Where neither is there the node keeps what it has: a wrong MXMACA is worse than a late one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tangram.services.driver_manager.problems import Problem
from tangram.services.driver_manager.staged import ARCHITECTURES
from tangram.vendors.metax.maca_images import MacaImage, images_for, product_served
from tangram.wire.metax_cards import LABEL_PRODUCT
from tangram.wire.operator.names import MACA_PRODUCT

UNKNOWN: Final = "maca-product-unknown"
NO_IMAGE: Final = "maca-no-image"


def choose_images(
    images: Sequence[MacaImage], labels: Mapping[str, str], machine: str
) -> tuple[str, ...] | Problem:
    """The images of this node in their order, by the labels of its object and what its kernel calls the machine."""
    if not images:
        return ()
    architecture = ARCHITECTURES.get(machine, machine)
    cards, served = labels.get(LABEL_PRODUCT, ""), labels.get(MACA_PRODUCT, "")
    product = product_served(cards, images) if cards else served
    if not product and any(image.product for image in images):
        why = (
            "which cards this node has is not known yet, and MXMACA images are made per product: label "
            f"{LABEL_PRODUCT}, which gpu-label writes once a driver runs, is not there"
        )
        return Problem(UNKNOWN, why)
    chosen = images_for(images, product, architecture)
    if chosen:
        return tuple(image.image for image in chosen)
    named = ", ".join(image.image.rpartition("/")[2] for image in images)
    why = (
        f"maca.payload.images names no image for the {cards or product} cards and {architecture} processors of this "
        f"node, only {named}: add one such as maca-{product or 'native'}:VERSION-SYSTEM-{architecture}, or maca-native "
        "for an image that serves every product"
    )
    return Problem(NO_IMAGE, why)
