"""Placement that leaves the most room for the pods to come.

Four things about a placement are weighed, all in cards' worth, all against the expected demand:

- *fragments*: idle cards' worth that the typical shapes could not use on the node, the gradient of the FGD study;
- *stranding*: the part of the card's remainder expected to stay idle for good (`stranding`);
- *starvation*: idle cards' worth for which the node has no processors left;
- *price*: cards of a model that pods insist on are dearer, the fewer of them are idle.

A pod that asks for cards of one vendor is weighed against the demand for that vendor's cards, so that it is placed as
if the other vendors' cards and pods were not there.

The sum is cut into coarse steps, so that the packing tie-breaker decides between placements that are all but equal.
Policies of slices (QoS, app class) are not part of a shape: a card that runs another policy still counts as room.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from tangram.engine.choose import Floats
from tangram.engine.columns import Bools, CardModel, Int32s, Int64s, Interned, Rows, rows_of
from tangram.engine.demand import NO_DEMAND, Demand
from tangram.engine.place import Placement, StepChoice
from tangram.engine.shapes import Idle, Room, Shapes
from tangram.engine.stranding import STEPS
from tangram.engine.view import View
from tangram.model.cards import AppClass, Vendor
from tangram.model.pods import Role
from tangram.model.requests import AskKind, Request
from tangram.model.verdicts import CardRule

CHUNK = 256
"""Nodes weighed at a time: few enough that cards times shapes stay in the processor's cache."""


class Fragments(NamedTuple):
    """How the demand finds some nodes; the shape is on the last axis."""

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


FRAGMENT_WEIGHT = 3
STRANDING_WEIGHT = 20
STARVATION_WEIGHT = 2
PRICE_WEIGHT = 10
STEP = 0.06
"""Cards' worth. Gains that differ by less are noise of the demand; following them packs worse than ignoring them."""
DEAREST = 3.0


_generations = count()


class FragScores:
    """Scores under the `frag` policy, against one demand at a time."""

    def __init__(self, demand: Demand = NO_DEMAND) -> None:
        self.expect(demand)

    def expect(self, demand: Demand) -> None:
        """Weigh against another demand from now on."""
        self._demand = demand
        self._shapes: dict[Vendor | None, Shapes] = {}
        self.generation = next(_generations)
        """Differs whenever the demand may: what was weighed in another generation is not to be reused."""

    @property
    def demand(self) -> Demand:
        return self._demand

    def weigh(self, view: View, request: Request, placement: Placement) -> Floats:
        """Steps gained on every fitting row; a lone slice is moved to the card that gains most."""
        if not view.models.values:
            # Nobody has ever had a card: there is nothing to keep room on.
            return np.zeros(view.height)
        shapes = self._shapes_for(view.models, vendor_of(request))
        score = np.zeros(view.height)
        fitting = np.flatnonzero(placement.fits)
        lone = slice_to_move(request, placement)
        for begin in range(0, fitting.size, CHUNK):
            positions = fitting[begin : begin + CHUNK]
            batch = Batch(view, positions, shapes, request.host.cpu_milli)
            score[positions] = (
                _steps(batch.gain_of_all(placement.choices))
                if lone is None
                else _move_lone_slice(batch, lone)
            )
        return score

    def prices(
        self,
        models: Interned[CardModel],
        products: Sequence[str],
        idle: Idle,
        cards_asked: float,
        vendor: Vendor | None = None,
    ) -> Floats:
        """Per product, the steps a pod of that size is charged for taking such cards.

        With a vendor, the cards of others count neither as capacity nor as idle.
        """
        shapes = self._shapes_for(models, vendor)
        if vendor is not None:
            own = shapes.made_by(vendor, products)
            idle = Idle(np.where(own, idle.cards, 0.0), np.where(own, idle.idle, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            scarcity = (idle.idle.sum() / idle.cards.sum()) / (idle.idle / idle.cards)
        wanted = shapes.captive_load(products, idle)
        dearness = np.minimum(wanted * np.where(idle.idle > 0, scarcity, 0.0), DEAREST)
        return _steps(PRICE_WEIGHT * dearness * cards_asked)

    def _shapes_for(self, models: Interned[CardModel], vendor: Vendor | None) -> Shapes:
        found = self._shapes.get(vendor)
        if found is None or len(found.models) != len(models.values):
            demand = self._demand if vendor is None else self._demand.of_vendor(vendor)
            found = self._shapes[vendor] = Shapes(demand, tuple(models.values))
        return found


def vendor_of(request: Request) -> Vendor | None:
    """Whose cards the pod asks for; None for a pod without cards, or with cards of several vendors."""
    vendors = {ask.vendor for container in request.containers for ask in container.asks}
    return vendors.pop() if len(vendors) == 1 else None


def _steps(gain: Floats) -> Floats:
    # What is equal on paper must be equal here, whatever the last bit says.
    return np.floor(gain / STEP + 1e-9)


class Batch:
    """Some nodes as they are, ready to be asked what a pod would make of them."""

    def __init__(self, view: View, positions: Rows, shapes: Shapes, cpu_asked: int) -> None:
        self.positions = positions
        self.shapes = shapes
        everything = positions.size == view.height
        self.facts = view.facts if everything else rows_of(view.facts, positions)
        use = view.use if everything else rows_of(view.use, positions)
        # A card that nobody said the size of is left out.
        sized = (self.facts.memory > 0) & (self.facts.cores > 0)
        self.usable = self.facts.present & self.facts.healthy & ~self.facts.cordoned & sized
        self.slots_left = self.facts.slots - use.slots
        self.memory_left = self.facts.memory - use.memory
        self.cores_left = self.facts.cores - use.cores
        self.cpu_before: Int64s = view.nodes.cpu_free[positions]
        self.cpu_after = self.cpu_before - cpu_asked
        self.now = self.room(self.memory_left, self.cores_left, self.slots_left)
        fits = shapes.fits(self.facts.model, self.now)
        fitting = fits.sum(axis=1, dtype=np.int32)
        unusable = (self.now.idle[:, :, None] * ~fits).sum(axis=1)
        idle = self.now.idle.sum(axis=1)
        amount = shapes.fragments(fitting, unusable, idle, self.cpu_before)
        self.before = Fragments(fits, fitting, unusable, idle, amount)

    def room(self, memory: Int64s, cores: Int32s, slots: Int32s) -> Room:
        """What cards with that much left can still offer."""
        facts = self.facts
        memory_share = memory / np.maximum(facts.memory, 1)
        cores_share = cores / np.maximum(facts.cores, 1)
        open_to_pods = self.usable & (slots > 0)
        return Room(
            np.where(open_to_pods, memory, -1),
            np.where(open_to_pods, cores, -1).astype(np.int32),
            np.where(self.usable, (memory_share + cores_share) / 2, 0.0),
            np.where(self.usable, np.minimum(memory_share, cores_share), 0.0),
        )

    def gain_of_each(self, chosen: StepChoice) -> Floats:
        """What each card of each node would gain by the slice going there."""
        memory, cores = self._needs(chosen)
        now, before = self.now, self.before
        then = self.room(self.memory_left - memory, self.cores_left - cores, self.slots_left - 1)
        fits = self.shapes.fits(self.facts.model, then)
        fitting = before.fitting[:, None, :] - before.fits + fits
        unusable = (
            before.unusable[:, None, :] + then.idle[:, :, None] * ~fits - now.idle[:, :, None] * ~before.fits
        )
        idle = before.idle[:, None] - now.idle + then.idle
        saved = before.amount[:, None] - self.shapes.fragments(fitting, unusable, idle, self.cpu_after)
        starved = self._starved(idle, self.cpu_after) - self._starved(before.idle, self.cpu_before)[:, None]
        freed = self._stranded(now) - self._stranded(then)
        return FRAGMENT_WEIGHT * saved - STARVATION_WEIGHT * starved + STRANDING_WEIGHT * freed

    def gain_of_all(self, choices: list[StepChoice]) -> Floats:
        """What each node would gain with everything chosen in place. Only containers that stay count."""
        memory, cores, slots = self.memory_left, self.cores_left, self.slots_left
        for chosen in choices:
            if chosen.step.role is not Role.INIT:
                units = chosen.choice.units[self.positions]
                need_memory, need_cores = self._needs(chosen)
                memory = memory - units * need_memory
                cores = cores - (units * need_cores).astype(np.int32)
                slots = slots - units.astype(np.int32)
        then, before = self.room(memory, cores, slots), self.before
        fits = self.shapes.fits(self.facts.model, then)
        unusable, idle = (then.idle[:, :, None] * ~fits).sum(axis=1), then.idle.sum(axis=1)
        fitting = fits.sum(axis=1, dtype=np.int32)
        saved = before.amount - self.shapes.fragments(fitting, unusable, idle, self.cpu_after)
        starved = self._starved(idle, self.cpu_after) - self._starved(before.idle, self.cpu_before)
        freed = (self._stranded(self.now) - self._stranded(then)).sum(axis=1)
        return FRAGMENT_WEIGHT * saved - STARVATION_WEIGHT * starved + STRANDING_WEIGHT * freed

    def _starved(self, idle: Floats, cpu: Int64s) -> Floats:
        """Idle cards' worth for which no processors are left."""
        if self.shapes.cpu_per_card <= 0:
            return np.zeros_like(idle)
        fed = cpu / self.shapes.cpu_per_card
        return np.maximum(0.0, idle - fed.reshape(*fed.shape, *([1] * (idle.ndim - 1))))

    def _stranded(self, room: Room) -> Floats:
        """Cards' worth of each remainder expected to stay idle. A card all free or all taken strands nothing."""
        left = np.rint(room.left * STEPS).astype(np.int64)
        part = np.where((left > 0) & (left < STEPS), left, 0)
        return self.shapes.stranded[self.facts.model, part] / STEPS

    def _needs(self, chosen: StepChoice) -> tuple[Int64s | int, Int32s | int]:
        memory, cores = chosen.needs
        return (
            memory if isinstance(memory, int) else memory[self.positions],
            cores if isinstance(cores, int) else cores[self.positions],
        )


def slice_to_move(request: Request, placement: Placement) -> StepChoice | None:
    """The one ask whose card is chosen by the room it leaves, whatever order cards were tried in."""
    return None if _has_card_wishes(request) else _lone_slice(placement)


def _has_card_wishes(request: Request) -> bool:
    """Whether more than room decides the card: the person's own order, or whom an online slice would suspend."""
    return bool(request.card_order) or request.numa_first or request.app_class is AppClass.ONLINE


def _lone_slice(placement: Placement) -> StepChoice | None:
    """The one ask of a pod that wants a part of one card; only such a pod can be moved card by card."""
    if len(placement.choices) != 1:
        return None
    ask = placement.choices[0].step.ask
    return placement.choices[0] if ask.kind is AskKind.SLICE and ask.count == 1 else None


def _move_lone_slice(batch: Batch, chosen: StepChoice) -> Floats:
    """Put the slice where it gains most, of those on the fullest card; the gain is the node's."""
    positions = batch.positions
    fits = chosen.rules[positions] == CardRule.FITS
    gain = np.where(fits, _steps(batch.gain_of_each(chosen)), -np.inf)
    best = gain.max(axis=1)
    # The fullest card keeps the emptier ones for larger pods.
    column = np.where(gain == best[:, None], -batch.now.idle, -np.inf).argmax(axis=1)
    for array in (chosen.choice.turn, chosen.choice.units):
        array[positions] = 0
        array[positions, column] = 1
    return best
