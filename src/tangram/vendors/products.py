"""Facts about card models, and the one way to find a model by whatever name somebody used for it.

The vendors' libraries put a brand before the model (`MXC500`, `MTT S4000`); people and other schedulers leave it out.
A fact that no source gives is `None`, never a guess: the node's own report always beats this table.
"""

from collections.abc import Iterable

import msgspec

from tangram.model.topology import Link, LinkKind, PcieLevel, Topology
from tangram.units.memory import Bytes


class Product(msgspec.Struct, frozen=True, kw_only=True):
    """One model of card, named as the vendor's library names it."""

    name: str
    pci_id: str
    """`vendor:device` in hexadecimal. Two brandings may share one."""
    memory: Bytes | None = None
    sliceable: Bytes | None = None
    """What slices of a card with that memory can have in all, where a source says that it is less than the memory."""

    def sliceable_of(self, memory: Bytes) -> Bytes:
        """What slices of a card of this model with so much memory can have in all. The figure of the catalogue is that
        of the catalogue's memory; of a card with another nothing is known but its memory.
        """
        return self.sliceable if self.sliceable is not None and memory == self.memory else memory


class Catalogue(msgspec.Struct, frozen=True):
    """A vendor's models and the brand its library puts before their names."""

    brand: str
    products: tuple[Product, ...]

    def find(self, name: str) -> Product | None:
        """The model of exactly that name, with or without the brand, in any case; `None` for an unknown one."""
        wanted = self.unbranded(name).casefold()
        return next((each for each in self.products if self.unbranded(each.name).casefold() == wanted), None)

    def has_part(self, word: str) -> bool:
        """Whether the word is part of the name of a model known here."""
        part = self.unbranded(word).casefold()
        return any(part in self.unbranded(each.name).casefold() for each in self.products)

    def unbranded(self, name: str) -> str:
        """The name without the brand: the part that every source of names has in common."""
        model = name.strip()
        brand = self.brand.strip()
        if model.casefold().startswith(brand.casefold()):
            model = model[len(brand) :].lstrip(" -")
        return model or name.strip()


class ServerLayout(msgspec.Struct, frozen=True, kw_only=True):
    """How the cards of a server that was really seen are joined; the material of simulated nodes."""

    name: str
    islands: tuple[tuple[int, ...], ...]
    """Cards that are pairwise joined by the vendor's link; every card is in exactly one island."""
    link: LinkKind
    lanes: int = 1
    numa: tuple[int, ...]
    """NUMA node of each card."""
    near: PcieLevel
    """Where two cards of one NUMA node meet."""
    far: PcieLevel = PcieLevel.SYSTEM

    def topology(self) -> Topology:
        size = len(self.numa)
        island = {card: number for number, cards in enumerate(self.islands) for card in cards}
        return Topology(size, tuple(self._links(size, island)))

    def _links(self, size: int, island: dict[int, int]) -> Iterable[Link]:
        for a in range(size):
            for b in range(a + 1, size):
                pcie = self.near if self.numa[a] == self.numa[b] else self.far
                if island[a] == island[b]:
                    yield Link(a, b, self.link, pcie, self.lanes)
                else:
                    yield Link(a, b, LinkKind.NONE, pcie)
