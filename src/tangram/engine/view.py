"""A batch of nodes to decide about: the same arrays as the cluster's, cut to the candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tangram.engine.columns import Bools, CardFacts, CardModel, CardUse, Int64s, Interned, NodeFacts, Rows
from tangram.engine.topology import TopologyTables
from tangram.units.ids import CardUuid
from tangram.units.memory import Bytes

UNREMEMBERED = -1

Cell = tuple[int, int]
"""A card's place in the cluster's arrays: row and column."""


@dataclass(slots=True)
class View:
    """Row `i` of every array here is the cluster's row `rows[i]`.

    The arrays may be windows into live ones: read them at once, never write to them, never keep them.
    """

    rows: Rows
    facts: CardFacts
    use: CardUse
    nodes: NodeFacts
    clock: Int64s
    """Per row, when it last changed; -1 where this view differs from the cluster, so that nobody remembers it."""
    tables: TopologyTables
    products: Interned[str]
    tiers: Interned[tuple[Bytes, ...]]
    models: Interned[CardModel]
    cells: Mapping[CardUuid, tuple[Cell, ...]]
    """Where each card of the cluster is, by each of its ids; more than once if two nodes claim the same card."""

    @property
    def height(self) -> int:
        return self.rows.size

    @property
    def width(self) -> int:
        return self.facts.present.shape[1]

    def has_any(self, cards: Iterable[CardUuid]) -> bool:
        """Whether a node of the cluster, in this view or not, has a card of one of these ids."""
        return any(uuid in self.cells for uuid in cards)

    def where(self, cards: Iterable[CardUuid]) -> Bools:
        """True at every cell of this view that is one of the named cards."""
        found = np.zeros((self.height, self.width), np.bool_)
        position: dict[int, int] | None = None
        for uuid in cards:
            for row, column in self.cells.get(uuid, ()):
                if position is None:
                    position = {int(each): at for at, each in enumerate(self.rows)}
                if row in position:
                    found[position[row], column] = True
        return found
