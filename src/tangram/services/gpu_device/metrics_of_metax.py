"""Figures under the names of MetaX's exporter, in its units: kilobytes, milliwatts, percent, degrees and MHz."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import Metric

from tangram.model.cards import Card, Vendor
from tangram.model.devices import Slice
from tangram.services.gpu_device.card_readings import Reading
from tangram.services.gpu_device.metric_scene import NOBODY, Row, Scene, family, known_rows, text_of
from tangram.units.memory import KIB
from tangram.units.na import NA, Maybe, NotAvailable

_CARD: Final = ("deviceId", "uuid", "modelName", "driver_version", "Hostname")
_HOLDER: Final = ("exported_namespace", "exported_pod", "exported_container")
_CLOCK: Final = "XCORE"
_VRAM: Final = "vram"


def of_metax(scene: Scene) -> Iterator[Metric]:
    """Every family, in a fixed order."""
    holders = scene.holders()
    labels = (*_CARD, *_HOLDER)

    def told(card: Card, *more: str) -> tuple[str, ...]:
        return (*_labels(scene, card), *holders.get(card.uuid, NOBODY), *more)

    metax = [(card, reading) for card, reading in scene.read_cards() if card.vendor is Vendor.METAX]
    for name, (sentence, value) in _FIGURES.items():
        yield family(name, sentence, labels, known_rows((told(card), value(each)) for card, each in metax))
    for name, (sentence, value) in _MEMORY.items():
        rows = known_rows((told(card, _VRAM), value(each)) for card, each in metax)
        yield family(name, sentence, (*labels, "type"), rows)
    states: list[Row] = [
        (told(card, "" if card.healthy else card.health_reason), card.healthy)
        for card in scene.inventory.cards
        if card.vendor is Vendor.METAX
    ]
    yield family("mx_gpu_state", "1 while a card can be used.", (*labels, "unavailable_reason"), states)
    owners = scene.owners()
    parts = [
        (
            part,
            (
                *_labels(scene, card),
                str(part.id),
                text_of(part.minor),
                *owners.get((card.uuid, text_of(part.name)), NOBODY),
            ),
        )
        for card, reading in metax
        for part in reading.slices
    ]
    for name, (sentence, value) in _SLICE.items():
        yield family(
            name,
            sentence,
            (*_CARD, "sgpuId", "minor", *_HOLDER),
            known_rows((row, value(part)) for part, row in parts),
        )


def _labels(scene: Scene, card: Card) -> tuple[str, ...]:
    device = scene.inventory.device(card.uuid)
    version = "" if device is None else text_of(device.driver_version)
    return (str(card.index), str(card.uuid), card.product, version, str(scene.inventory.node))


def _milliwatts(reading: Reading) -> Maybe[float]:
    power = reading.figures.power_watts
    return NA if isinstance(power, NotAvailable) else power * 1000


def _kib(figure: Maybe[int]) -> Maybe[float]:
    return NA if isinstance(figure, NotAvailable) else figure // KIB


def _memory_percent(reading: Reading) -> Maybe[float]:
    used, total = reading.figures.memory_used, reading.figures.memory_total
    if isinstance(used, NotAvailable) or isinstance(total, NotAvailable) or not total:
        return NA
    return round(100.0 * used / total, 2)


def _free(part: Slice) -> Maybe[float]:
    used = part.memory_used
    return NA if isinstance(used, NotAvailable) else (part.memory - used) // KIB


def _clock(reading: Reading) -> Maybe[float]:
    return reading.figures.clocks_mhz.get(_CLOCK, NA)


_FIGURES: Final[dict[str, tuple[str, Callable[[Reading], Maybe[float]]]]] = {
    "mx_gpu_usage": ("Use of a card in percent.", lambda each: each.figures.utilisation_percent),
    "mx_board_power": ("Power of a board in mW.", _milliwatts),
    "mx_chip_hotspot_temp": (
        "Hottest spot of a chip in degrees Celsius.",
        lambda each: each.figures.temperature_celsius,
    ),
    "mx_gpu_clock": ("Clock of a card in MHz.", _clock),
}
_MEMORY: Final[dict[str, tuple[str, Callable[[Reading], Maybe[float]]]]] = {
    "mx_memory_total": ("Memory of a card in KB.", lambda each: _kib(each.figures.memory_total)),
    "mx_memory_used": ("Used memory of a card in KB.", lambda each: _kib(each.figures.memory_used)),
    "mx_memory_usage": ("Used memory of a card in percent.", _memory_percent),
}
_SLICE: Final[dict[str, tuple[str, Callable[[Slice], Maybe[float]]]]] = {
    "mx_sgpu_compute_quota": ("Compute of a slice in percent.", lambda part: part.cores),
    "mx_sgpu_usage": ("Use of a slice in percent.", lambda part: part.utilisation_percent),
    "mx_sgpu_total_memory": ("Memory of a slice in KB.", lambda part: _kib(part.memory)),
    "mx_sgpu_used_memory": ("Used memory of a slice in KB.", lambda part: _kib(part.memory_used)),
    "mx_sgpu_free_memory": ("Free memory of a slice in KB.", _free),
}
