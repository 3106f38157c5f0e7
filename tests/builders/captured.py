"""The cluster and the pods of the captured HAMi run, in the engine's words."""

import json
from pathlib import Path
from typing import Any

from builders.requests import request, slice_ask, whole_ask
from builders.tenants import Part, tenant
from tangram.engine.ledger import Ledger
from tangram.model.allocations import Tenant
from tangram.model.cards import Card, CardMode, QosPolicy, Vendor
from tangram.model.nodes import Node
from tangram.model.requests import Ask, NodePolicy, Request
from tangram.model.topology import Link, LinkKind, PublishedTopology, Topology
from tangram.units.ids import CardUuid, NodeName
from tangram.units.memory import MIB, Bytes, from_512mib_units, from_gib, from_mib

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


LEFT_OUT: dict[str, Tenant] = {
    "s4-two-cards": tenant("s3", NODES["sgpu-b"], Part(1, from_gib(8), 20)),
    "m3-two": tenant("m2", NODES["mt-a"], Part(6, from_gib(48), 16), qos=None),
}
"""Keyed by the pod that came next.

The capture leaves out some pods of the run. Two of them show in what HAMi did next and are put back: `s3` (the base
score of `sgpu-b` before `s5` is 3.27, of which s1 and s2 explain 2.30; one slot, 20 % and 8 GiB are the rest, and the
reasons given to `s8` say that its policy was best-effort) and `m2` (the base score of `mt-a` before `m3` is 3.57, of
which m1 explains 1.05; an exclusive card is the rest).
"""


def put_cluster_before(name: str, ledger: Ledger) -> None:
    """The cluster as HAMi saw it when the pod came, every earlier pod where HAMi put it."""
    for each in NODES.values():
        ledger.put_node(each)
    for earlier, said in PODS.items():
        if earlier in LEFT_OUT:
            ledger.put_tenant(LEFT_OUT[earlier])
        if earlier == name:
            break
        if said["node"] is not None:
            parts = [
                Part(at, Bytes(mib * MIB), cores)
                for shares in given_by_hami(said)
                for at, mib, cores in shares
            ]
            ledger.put_tenant(tenant(earlier, NODES[said["node"]], *parts, qos=asked(earlier).qos))


def given_by_hami(said: dict[str, Any]) -> list[list[tuple[int, int, int]]]:
    """Per container the card's number, MiB and compute, from the allocation string."""
    (text,) = [
        text
        for key, text in said["annotations"].items()
        if key.endswith("devices-allocated") and ":" in text and "hami" in key
    ]
    uuids = [card.uuid for card in NODES[said["node"]].cards]
    return [
        [
            (uuids.index(CardUuid(uuid)), int(mib), int(cores))
            for uuid, _, mib, cores in (share.split(",") for share in container.split(":") if share)
        ]
        for container in text.split(";")
        if container
    ]
