"""The expected demand as arrays: what each typical shape needs of each model of card."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np

from tangram.engine.choose import Floats
from tangram.engine.columns import Bools, CardModel, Int32s, Int64s
from tangram.engine.demand import Demand, Shape
from tangram.engine.stranding import STEPS, stranded
from tangram.model.cards import Vendor, names_product
from tangram.model.requests import AskKind

CPU_SHARE = 0.9
"""Of the processors a card's worth of typical pods asks for: with less than that, idle cards starve."""

NEVER_CORES = np.iinfo(np.int32).max
NEVER_MEMORY = np.iinfo(np.int64).max
"""What a shape needs of a model that it cannot use."""


class Room(NamedTuple):
    """What each card of some nodes has left. Cards nobody may use have less than nothing."""

    memory: Int64s
    cores: Int32s
    idle: Floats
    """Cards' worth nobody holds: the mean of free memory and free compute."""
    left: Floats
    """Cards' worth one slice could still take: the lesser of the two."""


class Idle(NamedTuple):
    """The cluster's cards by product: how many there are, and how many cards' worth nobody holds."""

    cards: Floats
    idle: Floats


class Needs(NamedTuple):
    """Of one card, by the number of its model and then by shape."""

    memory: Int64s
    cores: Int32s


class _Captive(NamedTuple):
    cards: Floats
    load: Floats


class Shapes:
    """One demand against the models of card a cluster has; the shape is on the last axis of every table."""

    def __init__(self, demand: Demand, models: tuple[CardModel, ...]) -> None:
        shapes = [shape for shape, _ in demand.shapes]
        self.models = models
        self.weight: Floats = np.array([weight for _, weight in demand.shapes], np.float64)
        self.count: Int32s = np.array([shape.count for shape in shapes], np.int32)
        self.cpu: Int64s = np.array([shape.cpu_milli for shape in shapes], np.int64)
        self._shapes = shapes
        self._captive: _Captive | None = None
        self.memory, self.cores = needs_of(shapes, models)
        self.share: Floats = np.array(
            [[_share(shape, model) for shape in shapes] for model in models], np.float64
        ).reshape(len(models), len(shapes))
        self.stranded: Floats = np.array([self._stranded(row) for row in self.share]).reshape(
            len(models), STEPS + 1
        )
        self.cpu_per_card = self._cpu_per_card()

    def fits(self, models: Int32s, room: Room) -> Bools:
        """Whether cards of those models with that room could serve each shape."""
        first = models.flat[0] if models.size else 0
        at = first if (models == first).all() else models
        return (room.memory[:, :, None] >= self.memory[at]) & (room.cores[:, :, None] >= self.cores[at])

    def fragments(self, fitting: Int32s, unusable: Floats, idle: Floats, cpu_left: Int64s) -> Floats:
        """Expected fragments. A shape the node cannot take, or that wants no card, can use none of the idle ones."""
        cpu = cpu_left.reshape(*cpu_left.shape, *([1] * (fitting.ndim - 1)))
        served = (fitting >= self.count) & (cpu >= self.cpu) & (self.count > 0)
        return np.where(served, unusable, idle[..., None]) @ self.weight

    def made_by(self, vendor: Vendor, products: Sequence[str]) -> Bools:
        """Which products the vendor makes."""
        own = {model.product for model in self.models if model.vendor is vendor}
        return np.array([product in own for product in products], np.bool_)

    def captive_load(self, products: Sequence[str], idle: Idle) -> Floats:
        """Per product, the share of demand that insists on it, as a multiple of the share of cards it is."""
        if not any(shape.products for shape in self._shapes):
            return np.zeros(len(products))
        if self._captive is None or not np.array_equal(self._captive.cards, idle.cards):
            self._captive = _Captive(idle.cards, self._work_out_load(products, idle.cards))
        return self._captive.load

    def _work_out_load(self, products: Sequence[str], installed: Floats) -> Floats:
        load = np.zeros(len(products))
        cards, everything = self._cards_asked(), float(installed.sum())
        for shape, asked in zip(self._shapes, cards.tolist(), strict=True):
            named = np.array([_names(shape, product) for product in products], np.bool_)
            capacity = float(installed[named].sum())
            if shape.products and 0 < capacity < everything:
                load[named] += asked * everything / (float(cards.sum()) * capacity)
        return load

    def _cards_asked(self) -> Floats:
        """Expected cards' worth per shape; a shape that no card serves asks for nothing."""
        served = self.share > 0
        mean = np.where(served, self.share, 0.0).sum(axis=0) / np.maximum(served.sum(axis=0), 1)
        return self.weight * self.count * mean

    def _cpu_per_card(self) -> float:
        asked = float(self._cards_asked().sum())
        return CPU_SHARE * float((self.weight * self.cpu)[self.count > 0].sum()) / asked if asked > 0 else 0.0

    def _stranded(self, shares: Floats) -> Floats:
        sizes = [ceil(share * STEPS - 1e-9) for share in shares.tolist()]
        return stranded(zip(sizes, (self.weight * self.count).tolist(), strict=True))


def needs_of(shapes: Sequence[Shape], models: Sequence[CardModel]) -> Needs:
    """What each shape needs of each model."""
    needs = [[_needs(shape, model) for shape in shapes] for model in models]
    table = len(models), len(shapes)
    return Needs(
        np.array([[memory for memory, _ in row] for row in needs], np.int64).reshape(table),
        np.array([[cores for _, cores in row] for row in needs], np.int32).reshape(table),
    )


def _needs(shape: Shape, model: CardModel) -> tuple[int, int]:
    if not _offers(shape, model) or not _names(shape, model.product):
        return NEVER_MEMORY, NEVER_CORES
    return _amounts(shape, model)


def _amounts(shape: Shape, model: CardModel) -> tuple[int, int]:
    memory = shape.memory if shape.memory is not None else model.memory * shape.memory_percent // 100
    return memory, model.cores if shape.cores is None else shape.cores


def _offers(shape: Shape, model: CardModel) -> bool:
    return shape.vendor is model.vendor and (model.whole if shape.kind is AskKind.WHOLE else model.sliced)


def _names(shape: Shape, product: str) -> bool:
    return not shape.products or names_product(shape.products, product)


def _share(shape: Shape, model: CardModel) -> float:
    """The part of a card one unit of the shape takes, whichever of memory and compute is more; 0 when it takes none."""
    if shape.count == 0 or not _offers(shape, model):
        return 0.0
    memory, cores = _amounts(shape, model)
    return max(memory / max(model.memory, 1), cores / max(model.cores, 1))
