"""Which nodes an MXMACA image is for, as far as its name tells: the product of the cards, and the architecture.

MetaX builds MXMACA per product and names it `maca-PRODUCT:TAG` up to 2.23.0.x and `PRODUCT-maca:TAG` from there on;
later releases have one image for all products, `maca-native:TAG`. A tag is `VERSION-SYSTEM-ARCHITECTURE`, of which only
the version must be there.

Public releases name two products, C500 and N100, and clusters with C550 cards run the image of C500. So an image
serves the cards that it names, and those of the same chip generation for which no image of their own is listed. A
generation is what the PCI ids of the catalogue begin with; the library calls N260 a C card, as its id does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tangram.vendors.metax.products import CATALOGUE
from tangram.vendors.products import Product

NATIVE: Final = "native"
"""In place of a product: the image serves every card."""
_NAME: Final = re.compile(r"maca-(?P<before>[a-z0-9]+)|(?P<since>[a-z0-9]+)-maca")
_ARCHITECTURES: Final = {"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64"}
_SYSTEM: Final = re.compile(r"[a-z]+[0-9][0-9.]*")
"""As `ubuntu22.04`."""
_BASE: Final = re.compile(r"[a-z]+[0-9]+")
"""As `c500` of `c500-p`."""


class MacaImage(msgspec.Struct, frozen=True, kw_only=True):
    """What the name of an image says."""

    image: str
    product: str
    """As in names of images, such as `c500`; empty where it serves every card."""
    version: str
    architecture: str
    """`amd64` or `arm64`; empty where the tag names none."""

    def fits(self, product: str, architecture: str) -> bool:
        """Whether a node takes it whose label says this product and whose processors are these."""
        return self.product in ("", product) and self.architecture in ("", architecture)

    def is_for_other_chips(self, other: MacaImage) -> bool:
        """Whether no card could run both."""
        return bool(self.product and other.product) and _generation(self.product) != _generation(
            other.product
        )

    def is_twice(self, other: MacaImage) -> bool:
        """Whether there could be a node that takes both, though it has one folder for their version."""
        return self.version == other.version and all(
            not mine or not theirs or mine == theirs
            for mine, theirs in (
                (self.product, other.product),
                (self.architecture, other.architecture),
            )
        )


def read_maca_image(image: str) -> MacaImage | None:
    """What an image's name says, with or without a registry before it; None where it names no known product."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    product = product_word(found["before"] or found["since"])
    if product != NATIVE and CATALOGUE.find(product) is None:
        return None
    version, architecture = _read_tag(tag)
    return MacaImage(
        image=image,
        product="" if product == NATIVE else product,
        version=version,
        architecture=architecture,
    )


def product_word(product: str) -> str:
    """A product as names of images have it: `c500` for `MXC500` and `C500`."""
    return CATALOGUE.unbranded(product).lower()


def known_products() -> tuple[str, ...]:
    """The products that an image can name, in their order."""
    words = (product_word(product.name) for product in CATALOGUE.products)
    return tuple(sorted(word for word in words if word.isalnum()))


def product_served(cards: str, images: Iterable[MacaImage]) -> str:
    """Which product's images are for a node with these cards: the one to write on the node.

    The cards' own product where an image names it, else the model that they are a variant of, else the one listed
    product of their generation. The cards' own also where there is none or no single one: then no image fits.
    """
    own = product_word(cards)
    listed = {image.product for image in images if image.product}
    base = _BASE.match(own)
    for exact in (own, base[0] if base is not None else own):
        if exact in listed:
            return exact
    generation = _generation(own)
    alike = [word for word in listed if generation and _generation(word) == generation]
    return alike[0] if len(alike) == 1 else own


def images_for(images: Sequence[MacaImage], product: str, architecture: str) -> tuple[MacaImage, ...]:
    """Those that a node takes, in their order."""
    return tuple(image for image in images if image.fits(product, architecture))


def _read_tag(tag: str) -> tuple[str, str]:
    """Version and architecture."""
    rest, _, last = tag.rpartition("-")
    architecture = _ARCHITECTURES.get(last, "") if rest else ""
    whole = rest if architecture else tag
    # What is before the system may have dashes of its own: 2.23.0.4-rc1-ubuntu22.04-amd64.
    before, _, system = whole.rpartition("-")
    return (before if before and _SYSTEM.fullmatch(system) else whole), architecture


def _generation(word: str) -> str:
    """The first figure of the PCI id; empty for cards that the catalogue does not know and is no neighbour of."""
    product = CATALOGUE.find(word) or _neighbour(word)
    return "" if product is None else product.pci_id.partition(":")[2][0]


def _neighbour(word: str) -> Product | None:
    """A newer variant of a known model: `c600-a`."""
    base = _BASE.match(word)
    return None if base is None else CATALOGUE.find(base[0])
