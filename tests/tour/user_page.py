"""Koordinator's user page for MetaX, as far as objects can show it: all of the `Device`, and the amounts of the node.

A field that the page has and the object lacks, one that it has otherwise, and one that the page does not have are told
alike. What only hardware decides (uuid, bus, NUMA node, root) comes from whoever has the card.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from tangram.kube.objects import Object

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ROOT: Final = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}")


class PageCard(Struct, frozen=True):
    """What the hardware says of the one card of the page's node."""

    uuid: str
    bus: str
    numa: int
    memory: str = "63Gi"
    """The page shows 64Gi, the memory of the card. A driver slices 63 GiB of it, and pods are placed on that."""
    model: str = "C500"


def page_differences(device: Object, node: Object, card: PageCard) -> list[str]:
    """Everything in which the two are not what the page shows; each with the number of the page's promise."""
    return [*_of_device(device, node, card), *_of_node(node, card)]


def _of_device(device: Object, node: Object, card: PageCard) -> Iterator[str]:
    metadata = device["metadata"]
    yield from _differs("S2-1 apiVersion", device["apiVersion"], "scheduling.koordinator.sh/v1alpha1")
    yield from _differs("S2-1 kind", device["kind"], "Device")
    yield from _differs("S2-1 name", metadata["name"], node["metadata"]["name"])
    yield from _differs("S2-1 namespace", metadata.get("namespace"), None)
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": node["metadata"]["name"],
        "uid": node["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    yield from _differs("S2-1 ownerReferences", metadata["ownerReferences"], [owner])
    labels = {"node.koordinator.sh/gpu-model": card.model, "node.koordinator.sh/gpu-vendor": "metax"}
    yield from _differs("S2-6 labels", metadata["labels"], labels)
    yield from _differs("spec", sorted(device["spec"]), ["devices"])
    entries = device["spec"]["devices"]
    yield from _differs("S2-1 number of entries", len(entries), 1)
    for entry in entries[:1]:
        yield from _of_entry(entry, card)


def _of_entry(entry: Object, card: PageCard) -> Iterator[str]:
    fields = ["conditions", "health", "id", "minor", "resources", "topology", "type"]
    yield from _differs("fields of an entry", sorted(entry), fields)
    yield from _differs("S2-7 health", entry["health"], expected=True)
    yield from _differs("S2-7 id", entry["id"], card.uuid)
    yield from _differs("S2-7 minor", entry["minor"], 0)
    yield from _differs("S2-7 type", entry["type"], "gpu")
    resources = {
        "koordinator.sh/gpu-core": "100",
        "koordinator.sh/gpu-memory": card.memory,
        "koordinator.sh/gpu-memory-ratio": "100",
    }
    yield from _differs("S2-8 resources", entry["resources"], resources)
    place = dict(entry["topology"])
    root = str(place.pop("pcieID"))
    expected = {"busID": card.bus, "nodeID": card.numa, "socketID": -1}
    yield from _differs("S2-9 topology", place, expected)
    yield from _differs("S2-9 pcieID", bool(_ROOT.fullmatch(root)), expected=True)
    (condition,) = [dict(each) for each in entry["conditions"]]
    since = str(condition.pop("lastTransitionTime"))
    healthy = {
        "type": "Healthy",
        "status": "True",
        "reason": "DeviceHealthy",
        "message": "device is healthy",
    }
    yield from _differs("S2-10 condition", condition, healthy)
    yield from _differs("S2-10 lastTransitionTime", bool(_TIME.fullmatch(since)), expected=True)


def _of_node(node: Object, card: PageCard) -> Iterator[str]:
    amounts = {
        "koordinator.sh/gpu-core": "100",
        "koordinator.sh/gpu-memory": card.memory,
        "koordinator.sh/gpu-memory-ratio": "100",
        "koordinator.sh/gpu.shared": "100",
        "metax-tech.com/sgpu": "16",
    }
    for side in ("capacity", "allocatable"):
        stated: Mapping[str, str] = node["status"][side]
        ours = {
            name: amount
            for name, amount in stated.items()
            # A kubelet keeps the name of a resource that is offered no more.
            if "koordinator.sh/" in name or ("metax-tech.com/" in name and amount != "0")
        }
        yield from _differs(f"S2-11 {side}", ours, amounts)
    labels: Mapping[str, str] = node["metadata"]["labels"]
    for key, value in (("gpu-vendor", "metax"), ("gpu-model", card.model)):
        yield from _differs(f"S2-6 node label {key}", labels.get(f"node.koordinator.sh/{key}"), value)


def _differs(what: str, found: object, expected: object) -> Iterator[str]:
    if found != expected:
        yield f"{what}: {found!r}, on the page {expected!r}"
