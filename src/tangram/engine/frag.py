"""Placement that leaves the most room for the pods to come: the fragmentation gradient.

A node's fragments are the idle cards' worth that the expected demand could not use there, averaged over its typical
shapes. The policy puts a pod where it adds the fewest. Only nodes that changed since the same kind of pod was last
weighed are weighed again: a placement changes one node, so in steady state a decision costs a handful of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tangram.engine.choose import Choice, Floats
from tangram.engine.columns import VENDOR_NUMBER, Bools, CardFacts, Int32s, Int64s, Rows, rows_of
from tangram.engine.demand import NO_DEMAND, Demand, Shape
from tangram.engine.place import Placement, StepChoice
from tangram.engine.view import UNREMEMBERED, View
from tangram.model.pods import PodRef, Role
from tangram.model.requests import AskKind, Request
from tangram.model.verdicts import CardRule
from tangram.units.ids import Namespace, PodName, PodUid

_REMEMBERED_KINDS = 512
_NOBODY = PodRef(Namespace(""), PodName(""), PodUid(""))


class Room(NamedTuple):
    """What each card of some nodes has left."""

    memory: Int64s
    cores: Int32s
    slots: Int32s
    idle: Floats
    """Cards' worth nobody holds: the mean of free memory and free compute."""


class Fragments(NamedTuple):
    """How the demand's shapes find some nodes; the shape is on the last axis."""

    fits: Bools
    """Per node, card and shape."""
    fitting: Int32s
    """Per node and shape, how many cards fit."""
    unusable: Floats
    """Per node and shape, idle cards' worth on cards that do not fit."""
    idle: Floats
    """Per node, idle cards' worth in all."""
    amount: Floats
    """Per node, the expected idle cards' worth that the next pod cannot use."""


class _Shapes:
    """The demand's shapes as arrays."""

    def __init__(self, demand: Demand, products: list[str]) -> None:
        shapes = [shape for shape, _ in demand.shapes]
        self.weight: Floats = np.array([weight for _, weight in demand.shapes], np.float64)
        self.count: Int32s = np.array([shape.count for shape in shapes], np.int32)
        self.cpu: Int64s = np.array([shape.cpu_milli for shape in shapes], np.int64)
        self.vendor = np.array([-1 if s.vendor is None else VENDOR_NUMBER[s.vendor] for s in shapes], np.int8)
        self.whole: Bools = np.array([shape.kind is AskKind.WHOLE for shape in shapes], np.bool_)
        self.memory: Int64s = np.array([-1 if s.memory is None else s.memory for s in shapes], np.int64)
        self.percent: Int64s = np.array([shape.memory_percent for shape in shapes], np.int64)
        self.cores: Int32s = np.array([-1 if s.cores is None else s.cores for s in shapes], np.int32)
        self.allowed: Bools = np.array(
            [[_allows(shape, product) for shape in shapes] for product in products], np.bool_
        ).reshape(len(products), len(shapes))

    def fits(self, view: View, rows: Rows, room: Room) -> Bools:
        """Whether each card of the rows, with that room, could serve each shape."""
        facts = rows_of(view.facts, rows)
        offered = np.where(self.whole, facts.whole[:, :, None], facts.sliced[:, :, None])
        usable = facts.present & facts.healthy & ~facts.cordoned & (room.slots > 0)
        memory = np.where(self.memory >= 0, self.memory, facts.memory[:, :, None] * self.percent // 100)
        cores = np.where(self.cores >= 0, self.cores, facts.cores[:, :, None])
        fits = (
            offered
            & usable[:, :, None]
            & self.allowed[facts.product]
            & (facts.vendor[:, :, None] == self.vendor)
        )
        fits &= room.memory[:, :, None] >= memory
        fits &= room.cores[:, :, None] >= cores
        return fits


def _allows(shape: Shape, product: str) -> bool:
    return not shape.products or any(word.casefold() in product.casefold() for word in shape.products)


def room_of(view: View, rows: Rows) -> Room:
    """What the cards of the rows have left now."""
    facts, use = rows_of(view.facts, rows), rows_of(view.use, rows)
    return _room(facts, facts.memory - use.memory, facts.cores - use.cores, facts.slots - use.slots)


def _room(facts: CardFacts, memory: Int64s, cores: Int32s, slots: Int32s) -> Room:
    with np.errstate(divide="ignore", invalid="ignore"):
        idle = (memory / facts.memory + cores / facts.cores) / 2
    usable = facts.present & facts.healthy & np.isfinite(idle)
    return Room(memory, cores, slots, np.where(usable, idle, 0.0))


def fragments(view: View, rows: Rows, shapes: _Shapes) -> Fragments:
    """The fragments of the rows as they are."""
    room = room_of(view, rows)
    fits = shapes.fits(view, rows, room)
    fitting = fits.sum(axis=1, dtype=np.int32)
    unusable = (room.idle[:, :, None] * ~fits).sum(axis=1)
    idle = room.idle.sum(axis=1)
    served = _served(shapes, fitting, view.nodes.cpu_free[rows])
    return Fragments(fits, fitting, unusable, idle, _amount(shapes, served, unusable, idle))


def _served(shapes: _Shapes, fitting: Int32s, cpu_free: Int64s) -> Bools:
    """Which shapes a node could take at all. A shape without cards can use none of the idle ones."""
    room_for_cpu = cpu_free.reshape(*cpu_free.shape, *([1] * (fitting.ndim - cpu_free.ndim))) >= shapes.cpu
    return (shapes.count > 0) & (fitting >= shapes.count) & room_for_cpu


def _amount(shapes: _Shapes, served: Bools, unusable: Floats, idle: Floats) -> Floats:
    return np.where(served, unusable, idle[..., None]) @ shapes.weight


@dataclass(slots=True)
class _Kind:
    """What is remembered about one kind of pod: per row, its score, the card it would take, and when that was so."""

    clock: Int64s
    score: Floats
    column: NDArray[np.intp]

    @classmethod
    def unknown(cls, height: int) -> _Kind:
        return cls(np.full(height, UNREMEMBERED, np.int64), np.zeros(height), np.zeros(height, np.intp))


class FragScores:
    """Scores under the `frag` policy, remembered per kind of pod and row."""

    def __init__(self, demand: Demand = NO_DEMAND) -> None:
        self._demand = demand
        self._shapes: _Shapes | None = None
        self._kinds: dict[Request, _Kind] = {}
        self._products = 0

    def expect(self, demand: Demand) -> None:
        """Weigh against another demand from now on."""
        if demand != self._demand:
            self._demand = demand
            self._shapes = None

    def weigh(self, view: View, request: Request, placement: Placement) -> Floats:
        """Score every fitting row; a lone slice is moved to the card that leaves the fewest fragments."""
        shapes = self._shapes_for(view)
        kind = self._kind_of(request, int(view.rows.max(initial=0)) + 1)
        stale = placement.fits & ((view.clock > kind.clock[view.rows]) | (view.clock == UNREMEMBERED))
        positions = np.flatnonzero(stale)
        if positions.size:
            rows = view.rows[positions]
            kind.score[rows], kind.column[rows] = _weigh_rows(view, positions, shapes, request, placement)
            kind.clock[rows] = view.clock[positions]
        if _is_lone_slice(placement):
            _move_to(placement, kind.column[view.rows])
        return kind.score[view.rows]

    def _shapes_for(self, view: View) -> _Shapes:
        products = view.products.values
        if self._shapes is None or self._products != len(products):
            self._shapes = _Shapes(self._demand, products)
            self._products = len(products)
            self._kinds.clear()
        return self._shapes

    def _kind_of(self, request: Request, height: int) -> _Kind:
        key = msgspec.structs.replace(request, pod=_NOBODY)
        kind = self._kinds.pop(key, None)
        if kind is None:
            kind = _Kind.unknown(height)
        elif kind.clock.size < height:
            larger = _Kind.unknown(height)
            larger.clock[: kind.clock.size] = kind.clock
            larger.score[: kind.clock.size] = kind.score
            larger.column[: kind.clock.size] = kind.column
            kind = larger
        self._kinds[key] = kind
        if len(self._kinds) > _REMEMBERED_KINDS:
            del self._kinds[next(iter(self._kinds))]
        return kind


def _is_lone_slice(placement: Placement) -> bool:
    return (
        len(placement.choices) == 1
        and placement.choices[0].step.ask.kind is AskKind.SLICE
        and placement.choices[0].step.ask.count == 1
    )


def _move_to(placement: Placement, columns: NDArray[np.intp]) -> None:
    only = placement.choices[0]
    turn = np.zeros_like(only.choice.turn)
    turn[np.arange(columns.size), columns] = 1
    placement.choices[0] = only._replace(choice=Choice(only.choice.enough, turn, turn.astype(np.int64)))


def _weigh_rows(
    view: View, positions: Rows, shapes: _Shapes, request: Request, placement: Placement
) -> tuple[Floats, NDArray[np.intp]]:
    before = fragments(view, positions, shapes)
    cpu_left = view.nodes.cpu_free[positions] - request.host.cpu_milli
    if _is_lone_slice(placement):
        only = placement.choices[0]
        fits = only.rules[positions] == CardRule.FITS
        after = _after_each(view, positions, shapes, before, chosen=only, cpu_left=cpu_left)
        gain = np.where(fits, quantised(before.amount[:, None] - after), -np.inf)
        # Of the cards that leave equally few fragments, the fullest: it keeps the emptier ones for larger pods.
        idle = room_of(view, positions).idle
        best = gain == gain.max(axis=1)[:, None]
        column = np.where(best, -idle, -np.inf).argmax(axis=1)
        return gain.max(axis=1), column
    after_all = _after_all(view, positions, shapes, before, choices=placement.choices, cpu_left=cpu_left)
    return quantised(before.amount - after_all), np.zeros(positions.size, np.intp)


def quantised(gain: Floats) -> Floats:
    """Fragments saved as a whole number from 0 to 100.

    Coarse on purpose: gains that differ by less than a step are noise of the demand, and leaving them to the packing
    tie-breaker allocates more than following them does.
    """
    return np.floor(100 / (1 + np.exp(-gain)))


def _after_each(
    view: View, positions: Rows, shapes: _Shapes, before: Fragments, *, chosen: StepChoice, cpu_left: Int64s
) -> Floats:
    """Fragments of each node had the slice gone to each of its cards: per node and card."""
    now = room_of(view, positions)
    then = _room_after(view, positions, chosen, np.ones(now.idle.shape, np.int64))
    fits = shapes.fits(view, positions, then)
    fitting = before.fitting[:, None, :] - before.fits + fits
    unusable = (
        before.unusable[:, None, :] + then.idle[:, :, None] * ~fits - now.idle[:, :, None] * ~before.fits
    )
    idle = before.idle[:, None] - now.idle + then.idle
    return _amount(shapes, _served(shapes, fitting, cpu_left), unusable, idle)


def _after_all(
    view: View,
    positions: Rows,
    shapes: _Shapes,
    before: Fragments,
    *,
    choices: list[StepChoice],
    cpu_left: Int64s,
) -> Floats:
    """Fragments of each node with everything chosen in place. Only containers that stay count."""
    room = room_of(view, positions)
    for chosen in choices:
        if chosen.step.role is not Role.INIT:
            units = chosen.choice.units[positions]
            room = _room_less(view, positions, room, chosen, units)
    if not choices:
        served = _served(shapes, before.fitting, cpu_left)
        return _amount(shapes, served, before.unusable, before.idle)
    fits = shapes.fits(view, positions, room)
    unusable = (room.idle[:, :, None] * ~fits).sum(axis=1)
    served = _served(shapes, fits.sum(axis=1, dtype=np.int32), cpu_left)
    return _amount(shapes, served, unusable, room.idle.sum(axis=1))


def _room_after(view: View, positions: Rows, chosen: StepChoice, units: Int64s) -> Room:
    return _room_less(view, positions, room_of(view, positions), chosen, units)


def _room_less(view: View, positions: Rows, room: Room, chosen: StepChoice, units: Int64s) -> Room:
    memory, cores = (
        need if isinstance(need, int) else need[positions]
        for need in (chosen.needs.memory, chosen.needs.cores)
    )
    facts = rows_of(view.facts, positions)
    return _room(
        facts,
        room.memory - units * memory,
        room.cores - (units * cores).astype(np.int32),
        room.slots - units.astype(np.int32),
    )
