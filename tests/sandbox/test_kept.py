"""A sandbox that keeps its state: what ran before runs again, on the same cards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from builders.sandboxes import sandbox
from builders.waiting import LIMIT_S
from tangram.daemon.running import Supervisor
from tangram.kube.api import Api
from tangram.kube.objects import Object
from tangram.sandbox.nodes.described import read_machines
from tangram.sandbox.starting import Options, Sandbox

PODS = "/api/v1/namespaces/default/pods"
ONE_NODE = {
    "tangram": "cluster/v1",
    "nodes": [{"name": "gpu", "product": "C500", "cards": 2, "mode": "sgpu"}],
}
MANY = 6
"""Slices on one card, in an order that is not that of their names, in which the next sandbox finds them."""


@asynccontextmanager
async def started(folder: Path) -> AsyncGenerator[Sandbox]:
    supervisor = Supervisor()
    options = Options(folder=folder, keep=True, machines=read_machines(ONE_NODE))
    async with sandbox(options, supervisor, lambda _line: None) as box:
        yield box
        supervisor.stop()
        await supervisor.until_stopped()


def a_slice(name: str) -> Object:
    limits = {"metax-tech.com/sgpu": 1, "metax-tech.com/vcore": 10, "metax-tech.com/vmemory": 4}
    container = {
        "name": "c",
        "image": "any",
        "command": ["sleep", "infinity"],
        "resources": {"limits": limits},
    }
    return {
        "metadata": {"name": name, "annotations": {"hami.io/gpu-scheduler-policy": "binpack"}},
        "spec": {"containers": [container]},
    }


async def until_ready(api: Api, restarts: int) -> list[str]:
    """The pods' cards once all of them run and their containers were begun again so often."""
    pods: list[Object] = []
    try:
        async with asyncio.timeout(LIMIT_S):
            while not (len(pods) == MANY and all(_ready(pod, restarts) for pod in pods)):
                await asyncio.sleep(0.05)
                pods = await api.list_all(PODS, {})
    except TimeoutError:
        raise AssertionError([pod["status"] for pod in pods]) from None
    return [pod["metadata"]["annotations"]["hami.io/metax-sgpu-devices-allocated"] for pod in pods]


def _ready(pod: Object, restarts: int) -> bool:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return [(each["ready"], each["restartCount"]) for each in statuses] == [(True, restarts)]


async def test_pods_run_again_on_the_slices_they_had(tmp_path: Path) -> None:
    async with started(tmp_path) as box:
        for number in reversed(range(MANY)):
            await box.api.create(PODS, a_slice(f"pod-{number}"))
        before = await until_ready(box.api, restarts=0)
    async with started(tmp_path) as box:
        assert await until_ready(box.api, restarts=1) == before
