"""Which of the free units a container should get, where the kubelet asks.

It is advice, given without knowing for which pod: the scheduler's prediction is followed when one of the pods that wait
here was promised exactly units that are free; else the cards are chosen as the scheduler would, by the same exact
tables. Whatever comes of it, the kubelet's choice is the truth and is written back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tangram.engine.card_sets import best_set
from tangram.engine.layout import layout_of
from tangram.engine.weights import DEFAULT_WEIGHTS
from tangram.model.cards import CardMode
from tangram.model.nodes import Node
from tangram.services.gpu_device.records import Inventory
from tangram.units.ids import CardUuid


def preferred_units(
    inventory: Inventory,
    available: Sequence[str],
    must_include: Sequence[str],
    size: int,
    predictions: Iterable[frozenset[CardUuid]] = (),
) -> tuple[str, ...]:
    """So many of the available units, those that must be there among them; nothing when there is no telling.

    `predictions` are what the pods that wait for this many units were promised, the first bound first.
    """
    units = {unit: inventory.card_behind(unit) for unit in dict.fromkeys((*must_include, *available))}
    known = {unit: card.uuid for unit, card in units.items() if card is not None}
    if size <= 0 or len(known) < size or not set(must_include) <= known.keys():
        return ()
    modes = {card.mode for card in inventory.cards if card.uuid in known.values()}
    if modes != {CardMode.WHOLE}:
        return _several_per_card(known, must_include, size, spread=CardMode.SHARED in modes)
    for promised in predictions:
        if len(promised) == size and promised <= set(known.values()) and set(must_include) <= promised:
            return tuple(sorted(promised))
    return _best_connected(inventory, known, must_include, size)


def _several_per_card(
    known: dict[str, CardUuid], must_include: Sequence[str], size: int, *, spread: bool
) -> tuple[str, ...]:
    """Virtual functions fill the card with the fewest left; turns at shared cards go to different cards."""
    chosen = list(dict.fromkeys(must_include))
    left = {unit: card for unit, card in known.items() if unit not in chosen}
    while len(chosen) < size:
        counts = {card: sum(1 for each in left.values() if each == card) for card in set(left.values())}
        used = {known[unit] for unit in chosen}
        unit = min(
            left,
            key=lambda each: (
                (left[each] in used) is spread,
                -counts[left[each]] if spread else counts[left[each]],
                each,
            ),
        )
        chosen.append(unit)
        del left[unit]
    return tuple(chosen)


def _best_connected(
    inventory: Inventory, known: dict[str, CardUuid], must_include: Sequence[str], size: int
) -> tuple[str, ...]:
    layout = layout_of(
        Node(name=inventory.node, cards=inventory.cards, topology=inventory.topology), DEFAULT_WEIGHTS
    )
    if layout is None:
        return ()
    place = {card.uuid: number for number, card in enumerate(inventory.cards)}
    free = sum(1 << place[card] for card in known.values())
    must = sum(1 << place[known[unit]] for unit in dict.fromkeys(must_include))
    best = best_set(layout, free, size, must=must)
    if best is None:
        return ()
    return tuple(unit for unit, card in known.items() if best.mask >> place[card] & 1)
