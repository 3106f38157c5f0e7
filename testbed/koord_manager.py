"""A scripted koord-manager, for its part in reporting cards: a `Device` becomes amounts and labels of its node; and the
change that its webhook makes to pods, as a function.
"""

import asyncio
import copy
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from tangram.units.quantity import Quantity, parse_quantity
from testbed.api import ApiRefused, Object, path_of
from testbed.changes import cut_off
from testbed.koord_copies import Copies, Server
from testbed.koord_devices import MODEL, VENDOR
from testbed.koord_requests import CORE, GPU, MEMORY, RATIO, SHARED
from testbed.koord_scheduler import DEVICES, STRATEGIC_PATCH

MANAGER: Final = "koordinator-manager"
"""As the real one signs what it writes."""
KNOWN: Final = (
    GPU,
    CORE,
    "huawei.com/npu-core",
    "huawei.com/npu-cpu",
    "huawei.com/npu-dvpp",
    MEMORY,
    RATIO,
    SHARED,
)
"""Written or taken away; any other name is none of its business."""
_LABELS = (VENDOR, MODEL, "node.koordinator.sh/gpu-driver-version")
_THRESHOLD = 0.1


@dataclass
class KoordManager:
    """`serve` lets it work. `shares` is its gate EnableSyncGPUSharedResource, which is off unless somebody sets it."""

    server: Server
    shares: bool = True
    troubles: list[str] = field(default_factory=list[str])

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator["KoordManager"]:
        queue: asyncio.Queue[str] = asyncio.Queue()

        def heard(before: Object | None, after: Object | None) -> None:
            # A change of labels alone is not looked at.
            if before is None or after is None or before["spec"] != after["spec"]:
                queue.put_nowait((after or before or {})["metadata"]["name"])

        copies = Copies(self.server, DEVICES, heard)
        tasks = [asyncio.create_task(copies.run()), asyncio.create_task(self._follow(queue))]
        try:
            yield self
        finally:
            for task in tasks:
                await cut_off(task)

    async def _follow(self, queue: asyncio.Queue[str]) -> None:
        while True:
            name = await queue.get()
            try:
                await self.reconcile(name)
            except (OSError, ApiRefused) as error:
                self.troubles.append(str(error))

    async def reconcile(self, name: str) -> None:
        """Bring one node in line with its Device, or with there being none."""
        node = await self.server.get(path_of("Node", name))
        try:
            device = await self.server.get(f"{DEVICES}/{name}")
        except ApiRefused as refused:
            if refused.status != 404:
                raise
            device = None
        wanted = amounts_of(device, shares=self.shares)
        stated: Mapping[str, str] = node["status"].get("allocatable", {})
        if _differs(stated, wanted):
            change = {key: wanted.get(key) for key in KNOWN if key in wanted or not wanted}
            await self.server.patch(
                path_of("Node", name) + "/status",
                {"status": {"allocatable": change, "capacity": change}},
                content=STRATEGIC_PATCH,
                fieldManager=MANAGER,
            )
        labels = {key: value for key, value in _labels_of(device).items() if key in _LABELS}
        if any(node["metadata"].get("labels", {}).get(key) != value for key, value in labels.items()):
            change = {"metadata": {"labels": labels}}
            await self.server.patch(
                path_of("Node", name), change, content=STRATEGIC_PATCH, fieldManager=MANAGER
            )


def amounts_of(device: Object | None, *, shares: bool) -> dict[str, str]:
    """What the healthy cards add up to; nothing where there are none, which takes every name away."""
    cards = [
        card
        for card in (device or {"spec": {}})["spec"].get("devices", [])
        if card["type"] == "gpu" and card["health"]
    ]
    totals: dict[str, Quantity] = {}
    for card in cards:
        for name, text in card["resources"].items():
            amount = parse_quantity(str(text))
            totals[name] = totals[name] + amount if name in totals else amount
    if cards and _labels_of(device).get(VENDOR, "") in {"", "nvidia"}:
        totals[GPU] = totals.get(CORE, Quantity.whole(0))
    if cards and shares:
        totals[SHARED] = Quantity.whole(100 * len(cards))
    return {name: amount.canonical() for name, amount in totals.items() if name in KNOWN}


def _labels_of(device: Object | None) -> Mapping[str, str]:
    return (device or {"metadata": {}})["metadata"].get("labels", {})


def _differs(stated: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """A name that comes or goes, or an amount that moved by more than a tenth. The rest waits for the next round."""
    for name in KNOWN:
        if (name in stated) != (name in wanted):
            return True
        if name in stated:
            old, new = (parse_quantity(str(each[name])).value() for each in (stated, wanted))
            if abs(new - old) > old * _THRESHOLD:
                return True
    return False


# ---- the webhook


def mutated(pod: Object) -> Object:
    """The pod as the webhook would hand it on. Init containers are not looked at."""
    changed = copy.deepcopy(pod)
    for container in changed["spec"]["containers"]:
        resources = container.get("resources", {})
        requests = resources.get("requests", {}) or dict(resources.get("limits", {}))
        if not requests.keys() & {GPU, CORE, MEMORY, RATIO, SHARED}:
            continue
        limits = resources.setdefault("limits", {})
        for part in (requests, limits):
            if GPU in part:
                part |= {CORE: part[GPU], RATIO: part.pop(GPU)}
        if SHARED not in requests:
            requests[SHARED] = limits[SHARED] = str(_shares(requests))
        container["resources"] = {"requests": requests, "limits": limits}
    return changed


def _shares(requests: Mapping[str, str | int]) -> int:
    ratio = _value(requests, RATIO)
    if ratio is not None:
        return ratio // 100 if ratio > 100 and ratio % 100 == 0 else 1
    core = _value(requests, CORE)
    # Not a slip here: it divides the percentage that was not asked for, and so asks for no share at all.
    return 0 if core is not None and core > 100 and core % 100 == 0 else 1


def _value(requests: Mapping[str, str | int], name: str) -> int | None:
    return parse_quantity(str(requests[name])).value() if name in requests else None
