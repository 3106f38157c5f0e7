"""API objects as other programs write them, in a line or two."""

import json
from collections.abc import Mapping

GIB = 2**30

Json = dict[str, object]


def container(name: str = "main", limits: object = None, **more: object) -> Json:
    return {"name": name, "resources": {"limits": limits}, **more}


def pod(*containers: Json, annotations: object = None, metadata: Json | None = None, **spec: object) -> Json:
    named: Json = {"name": "demo", "namespace": "default", "uid": "uid-1", "annotations": annotations}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**named, **(metadata or {})},
        "spec": {"containers": list(containers), **spec},
    }


def node(
    name: str = "n1",
    *,
    capacity: object = None,
    allocatable: object = None,
    annotations: object = None,
    labels: object = None,
    **spec: object,
) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": annotations, "labels": labels},
        "spec": spec,
        "status": {"capacity": capacity, "allocatable": allocatable},
    }


def listed_card(index: int, **more: object) -> Json:
    return {
        "uuid": f"GPU-{index}",
        "bdf": f"0000:{index + 10:02x}:00.0",
        "model": "sgpu",
        "totalDevCount": 16,
        "totalCompute": 100,
        "totalVRam": 65536,
        "numa": index // 4,
        "healthy": True,
        "linkZone": 1 + index // 4,
        **more,
    }


def listing(*cards: Mapping[str, object]) -> str:
    return json.dumps(list(cards))


def device_entry(index: int, **more: object) -> Json:
    return {
        "type": "gpu",
        "id": f"GPU-{index}",
        "minor": index,
        "health": True,
        "resources": {
            "koordinator.sh/gpu-core": "100",
            "koordinator.sh/gpu-memory": "64Gi",
            "koordinator.sh/gpu-memory-ratio": "100",
        },
        **more,
    }


def device(*entries: Json, name: str = "n1", vendor: str = "metax", annotations: object = None) -> Json:
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {
            "name": name,
            "labels": {"node.koordinator.sh/gpu-vendor": vendor, "node.koordinator.sh/gpu-model": "C500"},
            "annotations": annotations,
        },
        "spec": {"devices": list(entries)},
    }
