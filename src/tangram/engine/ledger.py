"""Who holds what, kept up to date by events and never rebuilt per decision.

Bound pods are the truth; a reservation is a promise in memory that ends by itself. Both are holdings of the same kind,
so a card can be sold once only, whole, sliced or as virtual functions. Every change is undone exactly by its opposite:
a holding remembers what it charged rather than working it out again from an inventory that may have moved on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from tangram.engine.columns import Columns, Int64s, Rows, copy_of, rows_of
from tangram.engine.holdings import Holding, apply, charges_for
from tangram.engine.hostrules import PlacingRules
from tangram.engine.topology import TopologyTables
from tangram.engine.view import UNREMEMBERED, Cell, View
from tangram.engine.weights import DEFAULT_WEIGHTS, PairWeights
from tangram.model.allocations import Tenant
from tangram.model.cards import Vendor
from tangram.model.nodes import Node
from tangram.units.ids import CardUuid, NodeName, PodUid


class _Home(NamedTuple):
    node: Node
    row: int
    columns: dict[CardUuid, int]

    def ids(self) -> Iterator[tuple[CardUuid, int]]:
        """Every id that means a card of the node, with the card's column."""
        yield from self.columns.items()
        yield from ((made_up, self.columns[real]) for made_up, real in self.node.stand_ins.items())


class Ledger:
    """The state of a cluster's cards, changed one event at a time."""

    def __init__(self, weights: Mapping[Vendor, PairWeights] = DEFAULT_WEIGHTS) -> None:
        self.columns = Columns()
        self.tables = TopologyTables(weights)
        self.placing = PlacingRules()
        self._clock = 0
        self._row_clock = np.zeros(self.columns.facts.present.shape[0], np.int64)
        self._homes: dict[NodeName, _Home] = {}
        self._row_of: dict[NodeName, int] = {}
        self._name_at: list[NodeName] = []
        self._cells: dict[CardUuid, tuple[Cell, ...]] = {}
        self._holdings: dict[PodUid, Holding] = {}
        self._on_node: dict[NodeName, dict[PodUid, None]] = {}
        self._reserved: dict[PodUid, float] = {}
        self._attempts = 0
        self.moved: Callable[[Tenant, int], None] = _nobody
        """Told of every tenant that begins (1) or ceases (-1) to hold something, bound or promised."""
        self._names_moved = False
        self.roster = 0
        """Grows with every node that comes or goes."""

    # --- nodes ---------------------------------------------------------------------------------------------------

    def put_node(self, node: Node) -> None:
        """Add a node, or replace all that is known of it; whoever holds its cards keeps them."""
        home = self._homes.get(node.name)
        if home is not None and home.node == node:
            return
        if home is not None:
            self._forget_cells(home)
        else:
            self.roster += 1
        if home is not None and len(node.cards) <= self.columns.width:
            row = home.row
        else:
            if home is not None:
                self._vacate(home)
            row = self.columns.take_row(len(node.cards))
            self._names_moved = True
        self._note_row(row, node.name)
        columns = {card.uuid: column for column, card in enumerate(node.cards)}
        home = self._homes[node.name] = _Home(node, row, columns)
        self._row_of[node.name] = row
        for uuid, column in home.ids():
            self._cells[uuid] = (*self._cells.get(uuid, ()), (row, column))
        self.columns.write_node(row, node, self.tables.number_for(node))
        self.placing.put_node(row, node)
        for uid in self._on_node.get(node.name, ()):
            holding = self._holdings[uid]
            self._holdings[uid] = self._charged(holding.tenant, holding.expires_at, holding.attempt)
        self._touch(row)

    def remove_node(self, name: NodeName) -> None:
        """Forget a node's cards. Its tenants stay known until their own events, and are charged again if it returns."""
        home = self._homes.pop(name, None)
        if home is None:
            return
        self.roster += 1
        del self._row_of[name]
        self._forget_cells(home)
        self._vacate(home)
        self._names_moved = True
        for uid in self._on_node.get(name, ()):
            holding = self._holdings[uid]
            self._holdings[uid] = msgspec.structs.replace(holding, charges=())

    def node(self, name: NodeName) -> Node | None:
        home = self._homes.get(name)
        return None if home is None else home.node

    def nodes(self) -> Iterator[Node]:
        return (home.node for home in self._homes.values())

    # --- tenants -------------------------------------------------------------------------------------------------

    def put_tenant(self, tenant: Tenant) -> None:
        """A bound pod, as the API server has it now. It replaces any reservation or earlier state of the same pod."""
        known = self._holdings.get(tenant.pod.uid)
        if known is not None:
            if known.tenant == tenant:
                # Nothing moves: whoever remembers what the node is like may go on remembering.
                self._holdings[tenant.pod.uid] = msgspec.structs.replace(known, expires_at=None)
                self._reserved.pop(tenant.pod.uid, None)
                return
            self._drop(known)
        self._keep(tenant, None, known.attempt if known is not None else 0)

    def remove(self, uid: PodUid) -> Tenant | None:
        """The pod ended, was deleted, or its reservation is no longer wanted."""
        known = self._holdings.get(uid)
        if known is None:
            return None
        self._drop(known)
        return known.tenant

    def begin_attempt(self) -> int:
        """A number for one try at placing a pod; later tries have larger ones."""
        self._attempts += 1
        return self._attempts

    def reserve(self, tenant: Tenant, *, expires_at: float, attempt: int) -> bool:
        """Promise cards to a pod that is not bound yet. False when a later try or the bind itself was faster."""
        known = self._holdings.get(tenant.pod.uid)
        if known is not None:
            if known.bound or known.attempt > attempt:
                return False
            self._drop(known)
        self._keep(tenant, expires_at, attempt)
        return True

    def extend(self, uid: PodUid, *, expires_at: float) -> bool:
        """Let a reservation end at another time. False when there is none."""
        known = self._holdings.get(uid)
        if known is None or known.bound:
            return False
        self._holdings[uid] = msgspec.structs.replace(known, expires_at=expires_at)
        self._reserved[uid] = expires_at
        return True

    def release(self, uid: PodUid) -> bool:
        """Give up a reservation; a bound pod is not touched."""
        known = self._holdings.get(uid)
        if known is None or known.bound:
            return False
        self._drop(known)
        return True

    def expire(self, now: float) -> list[Tenant]:
        """End the reservations whose time is over, and say whose they were."""
        ended = [uid for uid, at in self._reserved.items() if at <= now]
        return [tenant for uid in ended if (tenant := self.remove(uid)) is not None]

    def holding(self, uid: PodUid) -> Holding | None:
        return self._holdings.get(uid)

    def holdings(self) -> Iterator[Holding]:
        return iter(self._holdings.values())

    def holdings_on(self, name: NodeName) -> list[Holding]:
        return [self._holdings[uid] for uid in self._on_node.get(name, ())]

    def reservations(self) -> list[PodUid]:
        return list(self._reserved)

    # --- reading -------------------------------------------------------------------------------------------------

    def view(self, names: Iterable[NodeName] | None = None, *, without: Iterable[PodUid] = ()) -> View:
        """The state of the named nodes (all when None), as if the pods in `without` held nothing.

        The view may be a window into live arrays: decide from it at once, do not keep it.
        """
        rows = self.rows(names)
        view = self.view_of_rows(rows)
        removed = [holding for uid in without if (holding := self._holdings.get(uid)) is not None]
        if removed:
            view.use, view.nodes, view.clock = copy_of(view.use), copy_of(view.nodes), view.clock.copy()
            position = {int(row): at for at, row in enumerate(rows)}
            for holding in removed:
                home = self._homes.get(holding.tenant.allocation.node)
                if home is not None and home.row in position:
                    apply(holding, view.use, view.nodes, position[home.row], sign=-1)
                    view.clock[position[home.row]] = UNREMEMBERED
        return view

    def rows(self, names: Iterable[NodeName] | None = None) -> Rows:
        """The rows of the named nodes that are known, or of every row in use."""
        if names is None:
            return np.arange(self.columns.height, dtype=np.intp)
        row_of = self._row_of.get
        return np.array([row for name in names if (row := row_of(name)) is not None], dtype=np.intp)

    def view_of_rows(self, rows: Rows) -> View:
        """The state of those rows; windows instead of copies where they follow each other without a gap."""
        self._rank_names()
        columns = self.columns
        gapless = rows.size > 0 and rows[-1] - rows[0] == rows.size - 1 and bool((np.diff(rows) == 1).all())
        chosen = slice(int(rows[0]), int(rows[-1]) + 1) if gapless else rows
        return View(
            rows=rows,
            facts=rows_of(columns.facts, chosen),
            use=rows_of(columns.use, chosen),
            nodes=rows_of(columns.nodes, chosen),
            clock=self._row_clock[chosen],
            tables=self.tables,
            products=columns.products,
            tiers=columns.tiers,
            models=columns.models,
            cells=self._cells,
        )

    def stale(self, rows: Rows, seen: Int64s) -> Rows:
        """Those of the rows that changed after the clock readings in `seen`, which is indexed by row."""
        return rows[self._row_clock[rows] > seen[rows]]

    def has_any(self, cards: Iterable[CardUuid]) -> bool:
        """Whether a node of the cluster has a card of one of these ids."""
        return any(uuid in self._cells for uuid in cards)

    @property
    def clock(self) -> int:
        """Grows with whatever changes what a node has or who holds it."""
        return self._clock

    def changed_after(self, clock: int) -> list[NodeName]:
        """Nodes that changed after that reading of the clock. Those that are gone are not among them."""
        rows = np.flatnonzero(self._row_clock[: len(self._name_at)] > clock).tolist()
        return [name for row in rows if self._row_of.get(name := self._name_at[row]) == row]

    def node_at(self, row: int) -> Node:
        """The node of a live row."""
        return self._homes[self._name_at[row]].node

    def row_of(self, name: NodeName) -> int | None:
        return self._row_of.get(name)

    # --- inside --------------------------------------------------------------------------------------------------

    def _keep(self, tenant: Tenant, expires_at: float | None, attempt: int) -> None:
        uid = tenant.pod.uid
        self._holdings[uid] = self._charged(tenant, expires_at, attempt)
        self._on_node.setdefault(tenant.allocation.node, {})[uid] = None
        if expires_at is not None:
            self._reserved[uid] = expires_at
        self.moved(tenant, 1)

    def _drop(self, holding: Holding) -> None:
        uid, name = holding.tenant.pod.uid, holding.tenant.allocation.node
        del self._holdings[uid]
        self._reserved.pop(uid, None)
        mates = self._on_node[name]
        del mates[uid]
        if not mates:
            del self._on_node[name]
        home = self._homes.get(name)
        if home is not None:
            self._apply(home.row, holding, sign=-1)
        self.moved(holding.tenant, -1)

    def _charged(self, tenant: Tenant, expires_at: float | None, attempt: int) -> Holding:
        """A holding for the tenant, charged to its node if the node is known.

        A card the node does not have (any more) is passed over here and charged when the card is back.
        """
        home = self._homes.get(tenant.allocation.node)
        charges = () if home is None else charges_for(tenant, home.node, home.columns)
        holding = Holding(tenant, charges, expires_at, attempt)
        if home is not None:
            self._apply(home.row, holding, sign=1)
        return holding

    def _apply(self, row: int, holding: Holding, *, sign: int) -> None:
        apply(holding, self.columns.use, self.columns.nodes, row, sign=sign)
        self._touch(row)

    def _touch(self, row: int) -> None:
        self._clock += 1
        self._row_clock[row] = self._clock

    def _note_row(self, row: int, name: NodeName) -> None:
        rows = self.columns.facts.present.shape[0]
        if rows > self._row_clock.size:
            self._row_clock = np.concatenate(
                [self._row_clock, np.zeros(rows - self._row_clock.size, np.int64)]
            )
        while len(self._name_at) <= row:
            self._name_at.append(NodeName(""))
        self._name_at[row] = name

    def _forget_cells(self, home: _Home) -> None:
        for uuid, _ in home.ids():
            left = tuple(cell for cell in self._cells[uuid] if cell[0] != home.row)
            if left:
                self._cells[uuid] = left
            else:
                del self._cells[uuid]

    def _vacate(self, home: _Home) -> None:
        self.columns.give_back(home.row)
        self.placing.remove_node(home.row)
        self._touch(home.row)

    def _rank_names(self) -> None:
        if self._names_moved:
            for rank, name in enumerate(sorted(self._homes)):
                self.columns.nodes.name_rank[self._homes[name].row] = rank
            self._names_moved = False


def _nobody(_tenant: Tenant, _sign: int) -> None:
    return None
