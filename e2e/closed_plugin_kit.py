"""A vendor's closed plugin as the scheduler sees it: it serves the pod that the lock names and gives the lock back."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import aiohttp

from e2e.agent_view_kit import NODE_LOCK
from e2e.scheduler_kit import annotations_of
from testbed.api import ApiRefused, path_of
from testbed.cluster import Cluster
from testbed.manifests import is_bound

PHASE = "hami.io/bind-phase"


async def lock_of(cluster: Cluster, node: str) -> str:
    return annotations_of(await cluster.api.get(path_of("Node", node))).get(NODE_LOCK, "")


@asynccontextmanager
async def plugin(cluster: Cluster, node: str) -> AsyncGenerator[list[str]]:
    """The plugin of a node. The names of the pods it has served, in order.

    It fails the test if two pods wait for it at once, which is what the lock is for.
    """
    served: list[str] = []
    task = asyncio.create_task(_serve(cluster, node, served))
    try:
        yield served
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _serve(cluster: Cluster, node: str, served: list[str]) -> None:
    while True:
        # It outlives an API server that is away for a while.
        with suppress(ApiRefused, aiohttp.ClientError, OSError):
            name = (await lock_of(cluster, node)).rpartition(",")[2]
            if name and name in await _allocating(cluster, node):
                change = {"metadata": {"annotations": {PHASE: "success"}}}
                await cluster.api.patch(path_of("Pod", name), change)
                change = {"metadata": {"annotations": {NODE_LOCK: None}}}
                await cluster.api.patch(path_of("Node", node), change)
                served.append(name)
        await asyncio.sleep(0.05)


async def _allocating(cluster: Cluster, node: str) -> list[str]:
    """The bound pods that wait for the plugin: one, or none."""
    pods = await cluster.api.list(path_of("Pod"), fieldSelector=f"spec.nodeName={node}")
    waiting = [
        one["metadata"]["name"]
        for one in pods
        if is_bound(one) and annotations_of(one).get(PHASE) == "allocating"
    ]
    assert len(waiting) <= 1, f"{waiting} wait for the plugin at once"
    return waiting
