"""Figures under HAMi's names, so that its dashboards go on working: who was given how much of which card.

Its ratios of compute are percent from 0 to 100, and every series says that its zone is vGPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import Metric

from tangram.engine.usage import NOTHING, Hold
from tangram.model.allocations import Tenant
from tangram.model.cards import Card
from tangram.services.gpu_device.metric_scene import Row, Scene, family, percent_of

_CARD: Final = ("zone", "node", "device_uuid", "device_index", "device_type")
_CONTAINER: Final = ("zone", "namespace", "node", "pod", "container_index", "device_uuid")
_ZONE: Final = "vGPU"

_FIGURES: Final[dict[str, tuple[str, Callable[[Card, Hold], float]]]] = {
    "memory_limit_bytes": ("Memory of a card.", lambda card, _: card.memory),
    "core_limit_ratio": ("Compute of a card in percent.", lambda _card, _hold: 100),
    "core_allocated_ratio": (
        "Compute of a card that containers were given, in percent.",
        lambda card, hold: percent_of(card, hold.cores),
    ),
    "shared_count": ("Containers that hold a part of a card.", lambda _, hold: hold.slots),
}


def of_hami(scene: Scene) -> Iterator[Metric]:
    """Every family, in a fixed order."""
    cards = [(card, scene.usage.get(card.uuid, NOTHING)) for card in scene.inventory.cards]
    for name, (sentence, value) in _FIGURES.items():
        rows: list[Row] = [(_labels(scene, card), value(card, hold)) for card, hold in cards]
        yield family(f"hami_gpu_{name}", sentence, _CARD, rows)
    yield family(
        "hami_gpu_memory_allocated_bytes",
        "Memory of a card that containers were given.",
        (*_CARD, "device_cores"),
        [((*_labels(scene, card), str(hold.cores)), hold.memory) for card, hold in cards],
    )
    given = _given(scene)
    yield family(
        "hami_vgpu_memory_allocated_bytes",
        "Memory of a card that a container was given.",
        _CONTAINER,
        [(row, memory) for row, (memory, _) in given.items()],
    )
    yield family(
        "hami_vgpu_core_allocated_ratio",
        "Compute of a card that a container was given, in percent.",
        _CONTAINER,
        [(row, cores) for row, (_, cores) in given.items()],
    )


def _labels(scene: Scene, card: Card) -> tuple[str, ...]:
    return (_ZONE, str(scene.inventory.node), str(card.uuid), str(card.index), card.product)


def _given(scene: Scene) -> dict[tuple[str, ...], tuple[float, float]]:
    """By the labels of a container and a card, memory and percent."""
    found: dict[tuple[str, ...], tuple[float, float]] = {}
    node = str(scene.inventory.node)
    for bound in scene.pods:
        if bound.pod.ended or not isinstance(bound.holds, Tenant):
            continue
        ref = bound.pod.ref
        for position, container in enumerate(bound.holds.allocation.containers):
            for share in container.shares:
                card = scene.inventory.card(share.card)
                if card is None:
                    continue
                row = (_ZONE, str(ref.namespace), node, str(ref.name), str(position), str(card.uuid))
                memory, cores = found.get(row, (0.0, 0.0))
                found[row] = (memory + share.memory, cores + percent_of(card, share.cores))
    return found
