"""What the figures about cards are made of, and the few words that all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from prometheus_client.core import GaugeMetricFamily, Metric

from tangram.engine.usage import Hold
from tangram.model.cards import Card
from tangram.model.grants import Grant
from tangram.services.gpu_device.card_readings import Reading
from tangram.services.gpu_device.holdings import Holding
from tangram.services.gpu_device.records import BoundPod, Inventory
from tangram.services.gpu_device.resources import WHOLE
from tangram.units.ids import CardUuid
from tangram.units.na import Maybe, NotAvailable

NOBODY: Final = ("", "", "")
"""Namespace, pod and container of what nobody holds."""

Row = tuple[tuple[str, ...], float]


class Scene(NamedTuple):
    """Everything at one moment."""

    inventory: Inventory
    usage: Mapping[CardUuid, Hold]
    holdings: Sequence[Holding]
    pods: Sequence[BoundPod]
    grants: Sequence[Grant]
    readings: Mapping[CardUuid, Reading]

    def read_cards(self) -> list[tuple[Card, Reading]]:
        """The cards whose figures were ever read."""
        return [
            (card, self.readings[card.uuid]) for card in self.inventory.cards if card.uuid in self.readings
        ]

    def owners(self) -> dict[tuple[CardUuid, str], tuple[str, ...]]:
        """By card and name of a slice, whose it is: namespace, pod and container."""
        return {
            (part.card, part.name): (str(grant.pod.namespace), str(grant.pod.name), grant.container)
            for grant in self.grants
            for part in grant.slices
        }

    def holders(self) -> dict[CardUuid, tuple[str, ...]]:
        """The one container that holds a card whole; a card in several hands has none here."""
        found: dict[CardUuid, set[tuple[str, ...]]] = {}
        for holding in self.holdings:
            if holding.resource not in WHOLE or holding.bound is None:
                continue
            ref = holding.bound.pod.ref
            for unit in holding.ids:
                card = self.inventory.card_behind(unit)
                if card is not None:
                    who = (str(ref.namespace), str(ref.name), holding.container)
                    found.setdefault(card.uuid, set()).add(who)
        return {uuid: next(iter(who)) for uuid, who in found.items() if len(who) == 1}


def family(name: str, sentence: str, labels: Sequence[str], rows: Iterable[Row]) -> Metric:
    """A gauge with its rows; one without rows is only its name."""
    made = GaugeMetricFamily(name, sentence, labels=labels)
    for row, value in rows:
        made.add_metric(row, float(value))
    return made


def known_rows(rows: Iterable[tuple[tuple[str, ...], Maybe[float]]]) -> list[Row]:
    """Without the figures that are not offered: zero degrees would be a lie."""
    return [(labels, value) for labels, value in rows if not isinstance(value, NotAvailable)]


def percent_of(card: Card, cores: int) -> float:
    """Compute units of a card as percent of it."""
    return 100.0 * cores / max(1, card.cores)


def text_of(figure: Maybe[object]) -> str:
    """A label; empty for what is not offered."""
    return "" if isinstance(figure, NotAvailable) else str(figure)
