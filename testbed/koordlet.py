"""A scripted koordlet, for its part in reporting cards: every file of the device-info folder becomes the `Device`.

What it writes replaces what is there. A file that cannot be read leaves everything as it was; a folder without files
empties the Device, and with it the node.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tangram.units.quantity import QuantityError, parse_quantity
from testbed.api import ApiRefused, Object, path_of
from testbed.changes import cut_off
from testbed.koord_copies import Server
from testbed.koord_devices import MODEL, PARTITIONS, POLICY, VENDOR
from testbed.koord_requests import RATIO
from testbed.koord_scheduler import DEVICES

EVERY_S: Final = 3.0
MANAGER: Final = "koordlet"
_BARE = ("gpu-core", "gpu-memory")


@dataclass
class Koordlet:
    """`serve` lets it work; `folder` is the node's device-info folder as the test sees it."""

    server: Server
    node: str
    folder: Path
    every: float = EVERY_S
    troubles: list[str] = field(default_factory=list[str])
    """What it would have logged."""
    _known: list[Object] | None = None

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator["Koordlet"]:
        task = asyncio.create_task(self._run(), name=f"koordlet of {self.node}")
        try:
            yield self
        finally:
            await cut_off(task)

    async def _run(self) -> None:
        while True:
            with suppress(OSError):
                await self.report()
            await asyncio.sleep(self.every)

    async def report(self) -> None:
        """One look at the folder, and what follows from it."""
        try:
            self._known = read_folder(self.folder)
        except (OSError, ValueError) as error:
            self.troubles.append(str(error))
        try:
            node = await self.server.get(path_of("Node", self.node))
            await self._write(device_of(node, self._known or [], _now()))
        except ApiRefused as error:
            self.troubles.append(str(error))

    async def _write(self, device: Object) -> None:
        path = f"{DEVICES}/{self.node}"
        try:
            there = await self.server.get(path)
        except ApiRefused as refused:
            if refused.status != 404:
                raise
            await self.server.call("POST", DEVICES, device, fieldManager=MANAGER)
            return
        carry_over_times(there, device)
        metadata = there["metadata"]
        same = (
            there["spec"].get("devices", []) == device["spec"]["devices"]
            and metadata.get("labels", {}) == device["metadata"]["labels"]
            and metadata.get("annotations", {}) == device["metadata"]["annotations"]
        )
        if not same:
            metadata |= {key: device["metadata"][key] for key in ("labels", "annotations")}
            there["spec"]["devices"] = device["spec"]["devices"]
            await self.server.call("PUT", path, there, fieldManager=MANAGER)


def read_folder(folder: Path) -> list[Object]:
    """The cards of all files in the order of their names. Raises if one of them cannot be read."""
    found: list[Object] = []
    for file in sorted(folder.iterdir()):
        if not file.is_dir():
            found += json.loads(file.read_text("utf-8")) or []
    return found


def device_of(node: Object, cards: Sequence[Object], now: str) -> Object:
    """The `Device` of these cards."""
    devices = sorted((_entry(card, now) for card in cards), key=lambda entry: entry["minor"])
    owner: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": node["metadata"]["name"],
        "uid": node["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata: Object = {
        "name": node["metadata"]["name"],
        "ownerReferences": [owner],
        "labels": _labels(cards),
        "annotations": _partitions(cards),
    }
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": metadata,
        "spec": {"devices": devices},
    }


def carry_over_times(before: Object, after: Object) -> None:
    """A condition whose status is as it was keeps its time."""
    old = {
        (card["id"], each["type"]): each
        for card in before["spec"].get("devices", [])
        for each in card.get("conditions", [])
    }
    for card in after["spec"]["devices"]:
        for each in card.get("conditions", []):
            known = old.get((card["id"], each["type"]))
            if known is not None and known["status"] == each["status"]:
                each["lastTransitionTime"] = known["lastTransitionTime"]


def _entry(card: Object, now: str) -> Object:
    status: Mapping[str, object] | None = card.get("status")
    healthy = status is None or bool(status.get("healthy"))
    entry: Object = {
        "type": "gpu",
        "id": card["uuid"],
        "minor": int(card["minor"]) if card["minor"].isdigit() else 0,
        "health": healthy,
        "resources": _resources(card.get("resources", {})),
    }
    if (place := card.get("topology")) is not None:
        entry["topology"] = {
            "socketID": -1,
            "nodeID": int(place.get("nodeID") or -1),
            "pcieID": place.get("pcieID", ""),
        } | ({"busID": place["busID"]} if place.get("busID") else {})
    if status is not None:
        entry["conditions"] = [
            {
                "type": "Healthy",
                "status": "True" if healthy else "False",
                "reason": "DeviceHealthy" if healthy else status.get("errCode") or "Unknown",
                "message": "device is healthy"
                if healthy
                else status.get("errMessage") or "device is unhealthy",
                "lastTransitionTime": now,
            }
        ]
    return entry


def _resources(stated: Mapping[str, str]) -> dict[str, str]:
    resources = {RATIO: "100"}
    for name, text in stated.items():
        with suppress(QuantityError):
            resources[f"koordinator.sh/{name}" if name in _BARE else name] = parse_quantity(text).canonical()
    return resources


def _labels(cards: Sequence[Object]) -> dict[str, str]:
    """The first card speaks for all."""
    if not cards:
        return {}
    first, place = cards[0], _place(cards[0])
    labels = {MODEL: first["model"], VENDOR: first["vendor"]}
    if place.get("p2pLinks") is not None:
        labels[POLICY] = "Honor" if place.get("mustHonorPartition") else "Prefer"
    return labels


def _partitions(cards: Sequence[Object]) -> dict[str, str]:
    table: dict[str, list[Object]] = {}
    seen: set[tuple[int, ...]] = set()
    for card in cards:
        links: list[Object] = _place(card).get("p2pLinks") or []
        for link in links:
            minors = tuple(sorted({int(each) for each in [*link["peerMinor"].split(","), card["minor"]]}))
            if minors not in seen:
                seen.add(minors)
                group: Object = {"minors": minors, "gpuLinkType": link["type"], "allocationScore": 1}
                table.setdefault(str(len(minors)), []).append(group)
    return {PARTITIONS: json.dumps(dict(sorted(table.items())), separators=(",", ":"))} if table else {}


def _place(card: Object) -> Object:
    return card.get("topology") or {}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
