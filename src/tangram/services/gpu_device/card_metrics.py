"""What Prometheus is told about cards, slices and who holds them: HAMi's names, the exporter's of MetaX, and ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from tangram.services.gpu_device.card_readings import Reading
from tangram.services.gpu_device.metric_scene import Scene
from tangram.services.gpu_device.metrics_of_cards import of_cards
from tangram.services.gpu_device.metrics_of_hami import of_hami
from tangram.services.gpu_device.metrics_of_metax import of_metax


class CardMetrics(Collector):
    """Collects from memory alone: whoever serves it has the cards read before."""

    def __init__(self, scene: Callable[[], Scene], age: Callable[[Reading], float]) -> None:
        self._scene = scene
        self._age = age

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is depends on the node."""
        return ()

    def collect(self) -> Iterator[Metric]:
        scene = self._scene()
        yield from of_hami(scene)
        yield from of_metax(scene)
        yield from of_cards(scene, self._age)
