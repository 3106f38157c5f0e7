"""The cluster as arrays: one row per node, one column per card, one array per fact.

A filter call looks at every card of every candidate node. As Python objects that is too slow by two orders of
magnitude; as arrays it is a few dozen passes over memory. Rows are reused when nodes leave, and grow by doubling.
Nothing here knows what the numbers mean for a decision: that is `fit`, `choose` and `score`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tangram.model.cards import AppClass, Card, CardMode, QosPolicy, Vendor, whole_unit
from tangram.model.counted import COUNTED
from tangram.model.nodes import Node
from tangram.units.memory import Bytes

Bools = NDArray[np.bool_]
Int8s = NDArray[np.int8]
Int16s = NDArray[np.int16]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Rows = NDArray[np.intp]

VENDOR_NUMBER: Final = {vendor: number for number, vendor in enumerate(Vendor)}
QOS_NUMBER: Final = {policy: number for number, policy in enumerate(QosPolicy)}
CLASS_NUMBER: Final[dict[AppClass | None, int]] = {AppClass.ONLINE: 0, AppClass.OFFLINE: 1, None: 2}

UNKNOWN_HOST: Final = np.iinfo(np.int64).max // 4
"""Stands for "nobody said": larger than any request, small enough to subtract from."""

PUBLISHED_SIZES: Final = 17
NOT_PUBLISHED: Final = -1

_Value = TypeVar("_Value", bound=Hashable)


class Interned(Generic[_Value]):
    """Small numbers for values that repeat, so that arrays can hold them."""

    def __init__(self) -> None:
        self._numbers: dict[_Value, int] = {}
        self.values: list[_Value] = []

    def number(self, value: _Value) -> int:
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found


class CardModel(NamedTuple):
    """What cards of one make and mode have in common, as far as room goes."""

    vendor: Vendor
    product: str
    memory: Bytes
    cores: int
    whole: bool
    sliced: bool


def model_of(card: Card) -> CardModel:
    """The model a card belongs to."""
    return CardModel(
        card.vendor, card.product, card.memory, card.cores, card.offered_whole, card.offered_sliced
    )


@dataclass(slots=True)
class CardFacts:
    """What is true of each card whoever uses it."""

    present: Bools
    vendor: Int8s
    whole: Bools
    sliced: Bools
    healthy: Bools
    cordoned: Bools
    counted: Bools
    """Its id is made up, so that no list of cards can name it."""
    memory: Int64s
    cores: Int32s
    slots: Int32s
    unit_memory: Int64s
    """What one unit of a whole-card ask takes: the card, a virtual function of it, or nothing but a slot."""
    unit_cores: Int32s
    several_units: Bools
    """One whole-card ask may take several units of this card."""
    numa: Int32s
    product: Int32s
    tiers: Int32s
    model: Int32s
    """Number of the card's `CardModel`."""


@dataclass(slots=True)
class CardUse:
    """What tenants hold of each card."""

    memory: Int64s
    cores: Int32s
    slots: Int32s
    qos: Int16s
    """Tenants per QoS policy on the last axis."""
    classes: Int16s
    """Tenants that are online, offline and unclassed on the last axis."""


@dataclass(slots=True)
class NodeFacts:
    """What is true of each node."""

    live: Bools
    managed: Bools
    """Tangram's agent serves its cards, container by container."""
    table: Int32s
    """Number of its topology table, -1 when it has none."""
    cpu_free: Int64s
    memory_free: Int64s
    pods_free: Int64s
    counted_free: Int64s
    """Koordinator's amounts on the last axis, as its kubelet counts them."""
    published_scores: Int32s
    published_losses: Int32s
    product: Int32s
    """Product of the first card: nodes with several are rare, and only prices look at it."""
    name_rank: Int32s
    """Position of the node's name in sorted order: the last tie-breaker."""


ArrayGroup = TypeVar("ArrayGroup", CardFacts, CardUse, NodeFacts)


def rows_of(group: ArrayGroup, rows: Rows | slice) -> ArrayGroup:
    """The given rows only: copies for a list of rows, windows for a slice."""
    return type(group)(*[getattr(group, name)[rows] for name in _field_names(type(group))])


def copy_of(group: ArrayGroup) -> ArrayGroup:
    """The same arrays, free to be changed."""
    return type(group)(*[getattr(group, name).copy() for name in _field_names(type(group))])


@cache
def _field_names(group: type[CardFacts | CardUse | NodeFacts]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(group))


def _resized(group: ArrayGroup, rows: int, width: int) -> ArrayGroup:
    """The same content in larger arrays; new cells are zero, which reads as absent."""

    def grown(old: NDArray[Any]) -> NDArray[Any]:
        shape = (rows, *old.shape[1:]) if isinstance(group, NodeFacts) else (rows, width, *old.shape[2:])
        new: NDArray[Any] = np.zeros(shape, dtype=old.dtype, order="F")
        new[tuple(slice(0, extent) for extent in old.shape)] = old
        return new

    return type(group)(**{field.name: grown(getattr(group, field.name)) for field in fields(group)})


_Scalar = TypeVar("_Scalar", bound=np.generic)


def _zeros(shape: tuple[int, ...], kind: type[_Scalar]) -> NDArray[_Scalar]:
    """Column by column in memory: sums over a node's cards then run along nodes, several times faster."""
    return np.zeros(shape, kind, order="F")


class Columns:
    """The arrays of a cluster and the bookkeeping of their rows."""

    def __init__(self, rows: int = 64, width: int = 8) -> None:
        cards = (rows, width)
        self.facts = CardFacts(
            present=_zeros(cards, np.bool_),
            vendor=_zeros(cards, np.int8),
            whole=_zeros(cards, np.bool_),
            sliced=_zeros(cards, np.bool_),
            healthy=_zeros(cards, np.bool_),
            cordoned=_zeros(cards, np.bool_),
            counted=_zeros(cards, np.bool_),
            memory=_zeros(cards, np.int64),
            cores=_zeros(cards, np.int32),
            slots=_zeros(cards, np.int32),
            unit_memory=_zeros(cards, np.int64),
            unit_cores=_zeros(cards, np.int32),
            several_units=_zeros(cards, np.bool_),
            numa=_zeros(cards, np.int32),
            product=_zeros(cards, np.int32),
            tiers=_zeros(cards, np.int32),
            model=_zeros(cards, np.int32),
        )
        self.use = CardUse(
            memory=_zeros(cards, np.int64),
            cores=_zeros(cards, np.int32),
            slots=_zeros(cards, np.int32),
            qos=_zeros((*cards, len(QOS_NUMBER)), np.int16),
            classes=_zeros((*cards, len(CLASS_NUMBER)), np.int16),
        )
        self.nodes = NodeFacts(
            live=np.zeros(rows, np.bool_),
            managed=np.zeros(rows, np.bool_),
            table=np.full(rows, -1, np.int32),
            cpu_free=np.zeros(rows, np.int64),
            memory_free=np.zeros(rows, np.int64),
            pods_free=np.zeros(rows, np.int64),
            counted_free=np.zeros((rows, len(COUNTED)), np.int64),
            published_scores=np.full((rows, PUBLISHED_SIZES), NOT_PUBLISHED, np.int32),
            published_losses=np.full((rows, PUBLISHED_SIZES), NOT_PUBLISHED, np.int32),
            product=np.zeros(rows, np.int32),
            name_rank=np.zeros(rows, np.int32),
        )
        self.products: Interned[str] = Interned()
        self.tiers: Interned[tuple[Bytes, ...]] = Interned()
        self.models: Interned[CardModel] = Interned()
        self.height = 0
        """Rows ever used; rows beyond are untouched."""
        self._vacant: list[int] = []

    @property
    def width(self) -> int:
        return self.facts.present.shape[1]

    def take_row(self, cards: int) -> int:
        """A free row with room for that many cards."""
        rows = self.facts.present.shape[0]
        if cards > self.width or (not self._vacant and self.height == rows):
            width = max(self.width, cards)
            rows = rows if self._vacant or self.height < rows else rows * 2
            self.facts = _resized(self.facts, rows, width)
            self.use = _resized(self.use, rows, width)
            self.nodes = _resized(self.nodes, rows, width)
        if self._vacant:
            return self._vacant.pop()
        self.height += 1
        return self.height - 1

    def give_back(self, row: int) -> None:
        """The node is gone: its row reads as empty until it is taken again."""
        self.facts.present[row] = False
        self.nodes.live[row] = False
        self._vacant.append(row)

    def write_node(self, row: int, node: Node, table: int) -> None:
        """Put a node's facts into a row and reset its use; tenants are charged again by the caller."""
        for group in (self.facts, self.use):
            for field in fields(group):
                getattr(group, field.name)[row] = 0
        for column, card in enumerate(node.cards):
            self._write_card(row, column, card)
        nodes = self.nodes
        nodes.live[row] = True
        nodes.managed[row] = node.managed
        nodes.table[row] = table
        nodes.product[row] = self.products.number(node.cards[0].product if node.cards else "")
        nodes.cpu_free[row] = UNKNOWN_HOST if node.host.cpu_milli is None else node.host.cpu_milli
        nodes.memory_free[row] = UNKNOWN_HOST if node.host.memory is None else node.host.memory
        nodes.pods_free[row] = UNKNOWN_HOST if node.host.pods is None else node.host.pods
        nodes.counted_free[row] = UNKNOWN_HOST
        for at, stated in enumerate(node.host.counted):
            if stated is not None:
                nodes.counted_free[row, at] = stated
        nodes.published_scores[row] = NOT_PUBLISHED
        nodes.published_losses[row] = NOT_PUBLISHED
        if node.published is not None:
            for array, table_text in (
                (nodes.published_scores, node.published.scores),
                (nodes.published_losses, node.published.losses),
            ):
                for count, figure in table_text:
                    if 0 < count < PUBLISHED_SIZES:
                        array[row, count] = figure

    def _write_card(self, row: int, column: int, card: Card) -> None:
        facts = self.facts
        at = (row, column)
        facts.present[at] = True
        facts.vendor[at] = VENDOR_NUMBER[card.vendor]
        facts.whole[at] = card.offered_whole
        facts.sliced[at] = card.offered_sliced
        facts.healthy[at] = card.healthy
        facts.cordoned[at] = card.cordoned
        facts.counted[at] = card.counted
        facts.memory[at] = card.memory
        facts.cores[at] = card.cores
        facts.slots[at] = card.slots
        facts.several_units[at] = card.mode in (CardMode.VIRTUAL, CardMode.SHARED)
        unit_memory, unit_cores = whole_unit(card)
        facts.unit_memory[at] = unit_memory
        facts.unit_cores[at] = unit_cores
        facts.numa[at] = card.numa
        facts.product[at] = self.products.number(card.product)
        facts.tiers[at] = self.tiers.number(card.memory_tiers)
        facts.model[at] = self.models.number(model_of(card))
