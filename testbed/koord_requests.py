"""What koord-scheduler makes of a pod's requests: how many cards, and how much of each.

It counts per pod: which container asked is lost on the way. Left out are the names of other makers' cards and Huawei's
templates: no test here has such cards.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tangram.units.quantity import parse_quantity
from testbed.api import Object

SCHEDULER: Final = "koord-scheduler"
GPU: Final = "koordinator.sh/gpu"
SHARED: Final = "koordinator.sh/gpu.shared"
CORE: Final = "koordinator.sh/gpu-core"
MEMORY: Final = "koordinator.sh/gpu-memory"
RATIO: Final = "koordinator.sh/gpu-memory-ratio"
NAMES: Final = (GPU, SHARED, CORE, MEMORY, RATIO)
HINT: Final = "scheduling.koordinator.sh/device-allocate-hint"
PARTITION_SPEC: Final = "scheduling.koordinator.sh/gpu-partition-spec"

Amounts = Mapping[str, int]
"""Resource names with whole values; memory in bytes."""

_LEVELS = {"Node": 1, "NUMANode": 2, "PCIe": 3, "Device": 4}
_PLAIN = ({MEMORY}, {RATIO}, {CORE, MEMORY}, {CORE, RATIO})


class Unschedulable(Exception):  # noqa: N818 - reads as what is the matter with the pod
    """No node can take the pod; the text is Koordinator's own."""


@dataclass(frozen=True, slots=True)
class Wish:
    """So many cards, and from each of them so much."""

    cards: int
    per_card: Amounts
    shared: bool
    """Below a whole card, or counted in bytes however many those are."""
    scope: int = 0
    """The level of the topology above which cards may not be gathered; 0 without a wish."""
    partitioned: bool = False
    """Only groups of the partition table will do."""


def pod_amounts(pod: Object) -> dict[str, int]:
    """Requests of the pod as a whole, zeros dropped: what runs at once is added, an init container runs alone."""
    spec = pod["spec"]
    running: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in spec.get("initContainers", []):
        alone = dict(running)
        _add(alone, container)
        for name, value in alone.items():
            most[name] = max(most.get(name, 0), value)
        if container.get("restartPolicy") == "Always":
            running = alone
    for container in spec["containers"]:
        _add(running, container)
    names = running.keys() | most.keys()
    summed = {name: max(running.get(name, 0), most.get(name, 0)) for name in names}
    return {name: value for name, value in summed.items() if value}


def wish_of(pod: Object) -> Wish | None:
    """What the pod wants of its node's cards; None for one that asks for none. Raises `Unschedulable`."""
    asked = {name: value for name, value in pod_amounts(pod).items() if name in NAMES}
    if not asked:
        return None
    _check(asked)
    if GPU in asked:
        asked = {CORE: asked[GPU], RATIO: asked[GPU]}
    ratio = asked.get(RATIO, 0)
    cards = asked.get(SHARED) or (ratio // 100 if ratio > 100 and ratio % 100 == 0 else 1)
    per_card = {name: asked[name] // cards for name in (CORE, RATIO, MEMORY) if name in asked}
    shared = per_card[RATIO] < 100 if RATIO in per_card else True
    annotations = pod["metadata"].get("annotations", {})
    hint = json.loads(annotations.get(HINT, "{}")).get("gpu", {})
    return Wish(
        cards,
        per_card,
        shared,
        scope=_LEVELS.get(hint.get("requiredTopologyScope", ""), 0),
        partitioned=PARTITION_SPEC in annotations,
    )


def _check(asked: Mapping[str, int]) -> None:
    if not _in_percent(asked.get(GPU, 0)):
        raise Unschedulable(f"invalid resource unit {GPU}: {asked[GPU]}")
    names = set(asked)
    shares = asked.get(SHARED, 0)
    if names == {GPU}:
        legal = True
    elif shares:
        legal = names - {SHARED} in _PLAIN and all(
            asked[name] % shares == 0 and asked[name] // shares <= 100
            for name in (CORE, RATIO)
            if name in asked
        )
    else:
        legal = names in _PLAIN and all(_in_percent(asked.get(name, 0)) for name in (CORE, RATIO))
    if not legal:
        raise Unschedulable(f"invalid resource device requests: [{' '.join(sorted(names))}]")


def _in_percent(value: int) -> bool:
    return value <= 100 or value % 100 == 0


def _add(total: dict[str, int], container: Object) -> None:
    resources = container.get("resources", {})
    for name, text in (resources.get("limits", {}) | resources.get("requests", {})).items():
        total[name] = total.get(name, 0) + parse_quantity(str(text)).value()
