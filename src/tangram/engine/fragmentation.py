"""Fragmentation as people read it: idle cards' worth that the expected pods cannot use.

Each kind of expected pod is measured only against cards that it could use if nothing ran on their node: cards of its
vendor, of a product it accepts, offered whole or sliced as it asks, large enough, and enough of them on one node. Among
the pods that could use a card, the share that cannot have it now is the fragmented share of what is idle on it. So an
empty node is not fragmented, and free cards of one vendor are not waste because pods of another vendor exist. Idle
cards that no expected pod could use even on an empty node are without demand, which is counted apart.

This measure guides no placement: the policy `frag` compares a node before and after a pod (`frag`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tangram.engine.choose import Floats
from tangram.engine.columns import Bools, CardFacts, Int32s, Int64s
from tangram.engine.demand import Demand
from tangram.engine.shapes import NEVER_MEMORY, Needs, needs_of
from tangram.engine.view import View
from tangram.model.requests import AskKind


class CardRoom(NamedTuple):
    """Cards' worth, per node and card of a view."""

    usable: Bools
    """Cards that take pods, idle or not."""
    idle: Floats
    fragmented: Floats
    """Of `idle`, what the expected pods that could use the card on an empty node cannot use now."""
    without_demand: Floats
    """Of `idle`, what is on cards that no expected pod could use even on an empty node."""


class _Amounts(NamedTuple):
    """What cards have: all of it, or what is left."""

    memory: Int64s
    cores: Int32s
    slots: Int32s


class Fragmentation:
    """Measures the cards of views against one demand."""

    def __init__(self, demand: Demand) -> None:
        kept = [(shape, weight) for shape, weight in demand.shapes if shape.count > 0]
        self._shapes = [shape for shape, _ in kept]
        self._weight: Floats = np.array([weight for _, weight in kept], np.float64)
        self._count: Int32s = np.array([shape.count for shape in self._shapes], np.int32)
        self._cpu: Int64s = np.array([shape.cpu_milli for shape in self._shapes], np.int64)
        self._whole: Bools = np.array([shape.kind is AskKind.WHOLE for shape in self._shapes], np.bool_)
        self._needs = needs_of(self._shapes, ())

    def measure(self, view: View) -> CardRoom:
        """Every card of the view."""
        facts, use = view.facts, view.use
        usable = facts.present & facts.healthy & ~facts.cordoned & view.nodes.live[:, None]
        memory = 1 - use.memory / np.maximum(facts.memory, 1)
        cores = 1 - use.cores / np.maximum(facts.cores, 1)
        idle = np.where(usable & (facts.slots > use.slots), np.clip((memory + cores) / 2, 0, 1), 0.0)
        if len(self._needs.memory) != len(view.models.values):
            self._needs = needs_of(self._shapes, view.models.values)
        if not view.models.values:
            return CardRoom(usable, idle, np.zeros_like(idle), idle)
        # A card of unknown size serves no pod.
        sized = usable & (facts.memory > 0) & (facts.cores > 0)
        demand = self._demand_for(facts, sized, _Amounts(facts.memory, facts.cores, facts.slots))
        left = _Amounts(facts.memory - use.memory, facts.cores - use.cores, facts.slots - use.slots)
        served = self._demand_for(facts, sized, left, view.nodes.cpu_free)
        wanted = demand > 0
        lost = np.clip(1 - served / np.where(wanted, demand, 1), 0, 1)
        return CardRoom(usable, idle, np.where(wanted, idle * lost, 0), np.where(wanted, 0, idle))

    def _demand_for(self, facts: CardFacts, sized: Bools, has: _Amounts, cpu: Int64s | None = None) -> Floats:
        """Per card, the share of demand that could use it if the cards of its node had these amounts."""
        units = self._units(facts, self._needs, has._replace(slots=np.where(sized, has.slots, 0)))
        placed = units.sum(axis=1, dtype=np.int32) >= self._count
        if cpu is not None:
            placed &= cpu[:, None] >= self._cpu
        return ((units > 0) & placed[:, None, :]) @ self._weight

    def _units(self, facts: CardFacts, needs: Needs, has: _Amounts) -> Int32s:
        """Per node, card and shape, how many units of the shape the card can give."""
        first = facts.model.flat[0] if facts.model.size else 0
        at = first if (facts.model == first).all() else facts.model
        memory, cores, slots = (amount[:, :, None] for amount in has)
        fits = (memory >= needs.memory[at]) & (cores >= needs.cores[at]) & (slots > 0)
        if not facts.several_units.any():
            return fits.astype(np.int32)
        # A whole-card ask takes virtual functions or shared places of such a card, several of one if need be.
        several = facts.several_units[:, :, None] & self._whole & (needs.memory[at] < NEVER_MEMORY)
        fits |= several & (memory >= facts.unit_memory[:, :, None]) & (cores >= facts.unit_cores[:, :, None])
        return np.where(several & fits, np.maximum(slots, 0), fits).astype(np.int32)
