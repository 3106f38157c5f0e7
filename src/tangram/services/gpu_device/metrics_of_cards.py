"""Figures of every vendor's cards and slices under one name each, in base units."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import Metric

from tangram.model.cards import Card
from tangram.model.devices import Slice
from tangram.services.gpu_device.card_readings import Reading
from tangram.services.gpu_device.metric_scene import NOBODY, Scene, family, known_rows, text_of
from tangram.units.na import Maybe

_CARD: Final = ("node", "uuid", "index", "vendor", "product")
_SLICE: Final = (*_CARD, "slice", "name", "namespace", "pod", "container")

_STATES: Final[dict[str, tuple[str, Callable[[Card], bool]]]] = {
    "healthy": ("1 while new pods may be given the card.", lambda card: card.healthy),
    "cordoned": ("1 while an administrator keeps new pods away.", lambda card: card.cordoned),
}
_FIGURES: Final[dict[str, tuple[str, Callable[[Reading], Maybe[float]]]]] = {
    "usage_percent": ("Use of a card.", lambda each: each.figures.utilisation_percent),
    "memory_bytes": ("Memory of a card.", lambda each: each.figures.memory_total),
    "memory_used_bytes": ("Used memory of a card.", lambda each: each.figures.memory_used),
    "temperature_celsius": ("Temperature of a card.", lambda each: each.figures.temperature_celsius),
    "power_watts": ("Power of a card.", lambda each: each.figures.power_watts),
    "ecc_uncorrected_errors": (
        "Memory errors nobody could correct.",
        lambda each: each.figures.ecc_uncorrected,
    ),
}
_PARTS: Final[dict[str, tuple[str, Callable[[Slice], Maybe[float]]]]] = {
    "cores": ("Compute of a slice: percent, or sixteenths of Moore Threads.", lambda each: each.cores),
    "usage_percent": ("Use of a slice.", lambda each: each.utilisation_percent),
    "memory_bytes": ("Memory of a slice.", lambda each: each.memory),
    "memory_used_bytes": ("Used memory of a slice.", lambda each: each.memory_used),
}


def of_cards(scene: Scene, age: Callable[[Reading], float]) -> Iterator[Metric]:
    """Every family, in a fixed order."""
    cards, read = scene.inventory.cards, scene.read_cards()
    for name, (sentence, holds) in _STATES.items():
        yield family(
            f"tangram_card_{name}", sentence, _CARD, [(_labels(scene, each), holds(each)) for each in cards]
        )
    for name, (sentence, value) in _FIGURES.items():
        rows = known_rows((_labels(scene, card), value(reading)) for card, reading in read)
        yield family(f"tangram_card_{name}", sentence, _CARD, rows)
    yield family(
        "tangram_card_figures_age_seconds",
        "How old the figures of a card are.",
        _CARD,
        [(_labels(scene, card), age(reading)) for card, reading in read],
    )
    owners = scene.owners()
    parts = [
        (
            part,
            (
                *_labels(scene, card),
                str(part.id),
                text_of(part.name),
                *owners.get((card.uuid, text_of(part.name)), NOBODY),
            ),
        )
        for card, reading in read
        for part in reading.slices
    ]
    for name, (sentence, value) in _PARTS.items():
        yield family(
            f"tangram_slice_{name}", sentence, _SLICE, known_rows((row, value(part)) for part, row in parts)
        )


def _labels(scene: Scene, card: Card) -> tuple[str, ...]:
    return (str(scene.inventory.node), str(card.uuid), str(card.index), card.vendor.value, card.product)
