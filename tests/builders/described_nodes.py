"""Nodes that Koordinator has a `Device` for, and pods in its words."""

from __future__ import annotations

from collections.abc import Iterable

from builders.scheduling import Object, World
from tangram.units.ids import NodeName
from tangram.wire.koordinator.device import Device, read_device
from tangram.wire.nodelock import NODE_LOCK

DEVICE_ALLOCATED = "scheduling.koordinator.sh/device-allocated"
SLICE: dict[str, str | int] = {
    "koordinator.sh/gpu.shared": 1,
    "koordinator.sh/gpu-core": 10,
    "koordinator.sh/gpu-memory": "4Gi",
    "metax-tech.com/sgpu": 1,
}


def device_manifest(
    node: str, cards: int = 2, *, sick: Iterable[int] = (), vendor: str = "metax", memory: str = "64Gi"
) -> Object:
    """As koordlet writes it; the ids are those of `builders.scheduling`'s cards."""
    entries = [
        {
            "type": "gpu",
            "id": f"{'MT' if vendor == 'mthreads' else 'GPU'}-{node}-{minor}",
            "minor": minor,
            "health": minor not in sick,
            "resources": {
                "koordinator.sh/gpu-core": "100",
                "koordinator.sh/gpu-memory": memory,
                "koordinator.sh/gpu-memory-ratio": "100",
            },
        }
        for minor in range(cards)
    ]
    labels = {"node.koordinator.sh/gpu-vendor": vendor, "node.koordinator.sh/gpu-model": "C500"}
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": node, "labels": labels},
        "spec": {"devices": entries},
    }


def read(manifest: Object) -> Device:
    return read_device(manifest)[0]


def bare_node(name: str, **amounts: str | int) -> Object:
    """A node of which nothing is known but amounts; its cards are its `Device`'s to tell."""
    host = {"cpu": "64", "memory": "512Gi", "pods": "110", "metax-tech.com/sgpu": "32"}
    stated = {f"koordinator.sh/{word.replace('_', '-')}": str(amount) for word, amount in amounts.items()}
    return {
        "metadata": {"name": name, "annotations": {}, "labels": {}},
        "spec": {},
        "status": {"allocatable": {**host, **stated}},
    }


def serve(world: World, name: str = "a") -> None:
    """The vendor's plugin has given the last pod its cards, and takes the lock away."""
    world.nodes[name]["metadata"]["annotations"].pop(NODE_LOCK, None)


def describe(world: World, manifest: Object) -> None:
    """The scheduler hears of a `Device`."""
    world.state.put_device(NodeName(manifest["metadata"]["name"]), read(manifest))
