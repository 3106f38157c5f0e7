"""The cluster and the pods of the captured HAMi run, in the engine's words."""

import json
from pathlib import Path
from typing import Any

from builders.requests import request, slice_ask, whole_ask
from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.requests import Ask, NodePolicy, Request
from tangram.model.topology import Link, LinkKind, PublishedTopology, Topology
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import from_512mib_units, from_gib, from_mib

CAPTURE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "captures" / "hami.json").read_text()
)
PODS: dict[str, Any] = {placed["pod"]: placed for placed in CAPTURE["placement"]}


def node(name: str) -> Node:
    """The node as it was announced. HAMi counts 100 tenants per Moore Threads card."""
    said = CAPTURE["nodes"][name]
    capacity, notes = said["status.capacity"], said["metadata.annotations"]
    if "metax-tech.com/sgpu" in capacity:
        listed = json.loads(notes["metax-tech.com/node-gpu-devices"])
        links = tuple(
            Link(a, b, LinkKind.METAXLINK)
            for a, one in enumerate(listed)
            for b, other in enumerate(listed)
            if a < b and one["linkZone"] == other["linkZone"] > 0
        )
        cards = tuple(
            Card(
                uuid=CardUuid(each["uuid"]),
                index=index,
                vendor=Vendor.METAX,
                memory=from_mib(each["totalVRam"]),
                slots=each["totalDevCount"],
                numa=each["numa"],
            )
            for index, each in enumerate(listed)
        )
        return Node(name=NodeName(name), cards=cards, topology=Topology(len(cards), links))
    if "metax-tech.com/gpu" in capacity:
        figures = {
            kind: tuple(
                (int(n), worth)
                for n, worth in json.loads(notes[f"metax-tech.com/gpu.topology.{kind}"]).items()
            )
            for kind in ("scores", "losses")
        }
        cards = tuple(
            Card(
                uuid=CardUuid(f"{name}-metax-{index}"),
                index=index,
                vendor=Vendor.METAX,
                memory=from_gib(64),
                slots=1,
                mode=CardMode.WHOLE,
            )
            for index in range(int(capacity["metax-tech.com/gpu"]))
        )
        return Node(name=NodeName(name), cards=cards, published=PublishedTopology(**figures))
    count = int(capacity["mthreads.com/sgpu-core"]) // 16
    memory = from_512mib_units(int(capacity["mthreads.com/sgpu-memory"]) // count)
    return Node(
        name=NodeName(name),
        cards=tuple(
            Card(
                uuid=CardUuid(f"{name}-mthreads-{index}"),
                index=index,
                vendor=Vendor.MTHREADS,
                memory=memory,
                cores=16,
                slots=100,
            )
            for index in range(count)
        ),
    )


NODES = {name: node(name) for name in CAPTURE["nodes"]}


def ask(limits: dict[str, str]) -> Ask:
    """The container's limits in the engine's words, as admission reads them."""
    if "metax-tech.com/gpu" in limits:
        return whole_ask(int(limits["metax-tech.com/gpu"]))
    if "mthreads.com/vgpu" in limits:
        count = int(limits["mthreads.com/vgpu"])
        units, cores = int(limits["mthreads.com/sgpu-memory"]), int(limits["mthreads.com/sgpu-core"])
        memory = from_512mib_units(units // count)
        return slice_ask(count, memory=memory, cores=cores // count, vendor=Vendor.MTHREADS)
    memory = limits.get("metax-tech.com/vmemory")
    size = None
    if memory is not None:
        size = from_mib(int(memory.removesuffix("Mi"))) if "Mi" in memory else from_gib(int(memory))
    return slice_ask(
        int(limits["metax-tech.com/sgpu"]), memory=size, cores=int(limits.get("metax-tech.com/vcore", "100"))
    )


def asked(name: str) -> Request:
    said = PODS[name]
    qos = said["asked"].get("metax-tech.com/sgpu-qos-policy")
    policy = said["asked"].get("hami.io/node-scheduler-policy")
    return request(
        name,
        *(ask(limits) for limits in said["limits"]),
        qos=None if qos is None else QosPolicy(qos),
        node_policy=None if policy is None else NodePolicy(policy),
    )
