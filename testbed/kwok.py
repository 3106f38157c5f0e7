"""Nodes that exist only as objects, with pods that only seem to run: load for the scheduler, none for the machine."""

import asyncio
from pathlib import Path

from testbed.api import Api, Object, path_of
from testbed.controlplane import Programs
from testbed.places import ClusterFolder

LABEL = "type"
VALUE = "kwok"
AT_ONCE = 32


def command(programs: Programs, folder: ClusterFolder) -> list[str | Path]:
    """It plays the kubelet of every node with our label, and of no other."""
    return [
        programs.path("kwok"),
        f"--kubeconfig={folder.admin_kubeconfig}",
        f"--manage-nodes-with-label-selector={LABEL}={VALUE}",
        "--cidr=10.245.0.0/16",
        "--node-lease-duration-seconds=40",
        f"--config={_no_configuration(folder)}",
        "--server-address=127.0.0.1:10247",
    ]


def _no_configuration(folder: ClusterFolder) -> Path:
    """An empty file: kwok otherwise reads the home folder of whoever runs the tests."""
    file = folder.path / "kwok.yaml"
    file.touch()
    return file


def fake_node(number: int) -> Object:
    """A large node that nothing real can be scheduled on unless it tolerates the taint."""
    name = f"kwok-{number:05d}"
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "250"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {LABEL: VALUE, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"taints": [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


async def create_nodes(api: Api, count: int) -> None:
    """Some at a time: the API server refuses nothing then, and one refusal would be an error here."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def create(number: int) -> None:
        async with gate:
            await api.create(fake_node(number))

    async with asyncio.TaskGroup() as together:
        for number in range(1, count + 1):
            together.create_task(create(number))


async def ready(api: Api) -> int:
    """How many of them are Ready and lack the taints of a node that has just come."""
    nodes = await api.list(path_of("Node"), labelSelector=f"{LABEL}={VALUE}")
    return sum(_is_ready(node) for node in nodes)


def _is_ready(node: Object) -> bool:
    conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions", [])}
    fresh = [
        taint for taint in node["spec"].get("taints", []) if taint["key"].startswith("node.kubernetes.io/")
    ]
    return conditions.get("Ready") == "True" and not fresh
