"""What koord-scheduler believes about the cards of one node, built up from `Device` objects and `device-allocated`.

Whoever holds a card without that annotation is not seen. Cards that are sick or not described any more lose what they
have and keep what is used of them, so that a Device made again is not sold twice.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tangram.units.quantity import Format, Quantity, parse_quantity
from testbed.api import Object
from testbed.koord_requests import CORE, MEMORY, RATIO, Amounts

ALLOCATED: Final = "scheduling.koordinator.sh/device-allocated"
PARTITIONS: Final = "scheduling.koordinator.sh/gpu-partitions"
VENDOR: Final = "node.koordinator.sh/gpu-vendor"
MODEL: Final = "node.koordinator.sh/gpu-model"
POLICY: Final = "node.koordinator.sh/gpu-partition-policy"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a card sits."""

    numa: int
    pcie: str


@dataclass(frozen=True, slots=True)
class Given:
    """One card of an allocation."""

    minor: int
    amounts: Amounts
    uuid: str = ""

    def written(self) -> Object:
        units = {MEMORY: Format.BINARY_SI}
        resources = {
            name: Quantity.whole(value, units.get(name, Format.DECIMAL_SI)).canonical()
            for name, value in sorted(self.amounts.items())
        }
        return {"minor": self.minor, "resources": resources} | ({"id": self.uuid} if self.uuid else {})


@dataclass
class NodeCards:
    """By minor: what cards have, what is used of them and who uses it."""

    total: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    used: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    holders: dict[tuple[str, str], tuple[Given, ...]] = field(
        default_factory=dict[tuple[str, str], tuple[Given, ...]]
    )
    places: Mapping[int, Place] | None = None
    """None unless every card says where it is: then there is no topology to go by."""
    partitions: Mapping[int, Sequence[Sequence[int]]] | None = None
    """By size, the groups of cards that belong together."""
    honors: bool = False

    def describe(self, device: Object) -> None:
        """A Device came or changed."""
        cards = [card for card in device["spec"].get("devices", []) if card["type"] == "gpu"]
        self.total = {card["minor"]: _amounts(card["resources"]) if card["health"] else {} for card in cards}
        placed = {
            card["minor"]: Place(card["topology"]["nodeID"], card["topology"]["pcieID"])
            for card in cards
            if card.get("topology")
        }
        self.places = placed if cards and len(placed) == len(cards) else None
        table = json.loads(device["metadata"].get("annotations", {}).get(PARTITIONS, "null"))
        self.partitions = table and {
            int(size): [group["minors"] for group in groups] for size, groups in table.items()
        }
        self.honors = device["metadata"].get("labels", {}).get(POLICY) == "Honor"

    def invalidate(self) -> None:
        """The Device is gone: nothing can be given, what is used stays used."""
        self.total = {minor: {} for minor in self.total}

    def free(self, minor: int) -> dict[str, int]:
        total, used = self.total.get(minor, {}), self.used.get(minor, {})
        return {name: max(total.get(name, 0) - used.get(name, 0), 0) for name in total.keys() | used.keys()}

    def fits(self, minor: int, wanted: Amounts) -> bool:
        """Only names on both sides are compared; a card that has nothing fits nobody."""
        free = self.free(minor)
        return bool(self.total.get(minor)) and all(
            wanted[name] <= free[name] for name in wanted if name in free
        )

    def hold(self, pod: tuple[str, str], given: Sequence[Given]) -> None:
        """Count a pod, once: at Reserve, and again when it is heard of as bound."""
        if pod in self.holders or not given:
            return
        self.holders[pod] = tuple(given)
        for each in given:
            of_card = self.used.setdefault(each.minor, {})
            for name, value in each.amounts.items():
                of_card[name] = of_card.get(name, 0) + value

    def release(self, pod: tuple[str, str]) -> None:
        for each in self.holders.pop(pod, ()):
            of_card = self.used.get(each.minor, {})
            for name, value in each.amounts.items():
                of_card[name] = max(of_card.get(name, 0) - value, 0)
            if not any(of_card.values()):
                self.used.pop(each.minor, None)

    def filled(self, given: Given) -> Given:
        """The unit of memory that was not asked for, worked out from the card's size."""
        has = self.total[given.minor].get(MEMORY, 0)
        amounts = dict(given.amounts)
        if RATIO not in amounts:
            amounts[RATIO] = int(amounts.get(MEMORY, 0) / has * 100) if has else 0
        elif MEMORY not in amounts:
            amounts[MEMORY] = amounts[RATIO] * has // 100
        return Given(given.minor, amounts, given.uuid)


def given_to(pod: Object) -> tuple[Given, ...]:
    """What a pod's annotation says that it holds; nothing where it has none, or one that nobody can read."""
    text = pod["metadata"].get("annotations", {}).get(ALLOCATED, "")
    try:
        rows: list[Object] = json.loads(text).get("gpu", []) if text else []
        return tuple(Given(row["minor"], _amounts(row["resources"]), row.get("id", "")) for row in rows)
    except (ValueError, KeyError, AttributeError):
        return ()


def allocation_text(given: Sequence[Given]) -> str:
    """The annotation `device-allocated`, as Go's encoder writes it."""
    return json.dumps({"gpu": [each.written() for each in given]}, separators=(",", ":"))


def _amounts(resources: Mapping[str, str | int]) -> dict[str, int]:
    return {
        name: parse_quantity(str(text)).value()
        for name, text in resources.items()
        if name in (CORE, MEMORY, RATIO)
    }
