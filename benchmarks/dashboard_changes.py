"""A busy cluster: cards that fail and recover, pods that come and go, pods that begin to wait and are given up."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from cluster_manifests import CARDS
from dashboard_bed import Bed
from dashboard_cluster import (
    NAMESPACES,
    Object,
    announced,
    bound_pod,
    kind_of,
    node_object,
    waiting_pods,
)
from tangram.model.cards import CardMode

SEED: Final = 13
SHOWN: Final = 60
"""Nodes that stand on the first screen are left to those who measure there."""


class Changes:
    """How much has happened."""

    def __init__(self, bed: Bed, nodes: int) -> None:
        self.nodes = 0
        self.waiting = 0
        self._bed = bed
        self._count = nodes
        self._chance = random.Random(SEED)  # noqa: S311 - the same on every run
        self._sick: dict[int, int] = {}
        self._pods: deque[Object] = deque()
        self._queued: deque[Object] = deque()

    def on_node(self) -> None:
        """One node becomes another, by its health or by a pod that comes or goes."""
        self.nodes += 1
        if self.nodes % 2:
            number = self._chance.randrange(SHOWN, self._count)
            if number in self._sick:
                del self._sick[number]
            else:
                self._sick[number] = self._chance.randrange(CARDS)
            fail(self._bed, number, self._sick.get(number))
        elif len(self._pods) > 100:
            self._bed.remove_pod(self._pods.popleft())
        else:
            number = self._chance.randrange(SHOWN, self._count)
            while kind_of(number).mode is CardMode.WHOLE:
                number = self._chance.randrange(SHOWN, self._count)
            pod = bound_pod(
                NAMESPACES[self.nodes % len(NAMESPACES)],
                f"new-{self.nodes:06d}",
                number,
                self._chance.randrange(CARDS),
                self.nodes,
            )
            self._bed.put_pod(pod)
            self._pods.append(pod)

    async def in_the_queue(self) -> None:
        """A pod begins to wait, or one is given up."""
        self.waiting += 1
        if len(self._queued) > 20:
            self._bed.remove_pod(self._queued.popleft())
            return
        pod, name = next(waiting_pods(1)), f"late-{self.waiting:05d}"
        home = NAMESPACES[self.waiting % len(NAMESPACES)]
        metadata = {**pod["metadata"], "name": name, "namespace": home, "uid": name}
        pod = {**pod, "metadata": metadata}
        self._bed.put_pod(pod)
        self._queued.append(pod)
        await self._bed.ask_about(pod, self._count)


def fail(bed: Bed, number: int, card: int | None) -> None:
    """Write of a node what its agent would: this card is unhealthy now, or none but those that always are."""
    thing = node_object(number)
    annotations, labels = announced(number, sick=card)
    metadata = thing["metadata"]
    metadata["annotations"] |= annotations
    metadata["labels"] |= labels
    bed.put_node(thing)


@asynccontextmanager
async def changing(
    bed: Bed, nodes: int, *, a_second: float, waiting_a_second: float
) -> AsyncGenerator[Changes]:
    """A cluster in which so much happens, meanwhile."""
    changes = Changes(bed, nodes)

    async def on_nodes() -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            changes.on_node()
            due += 1 / a_second
            # Behind time it catches up.
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def in_the_queue() -> None:
        while True:
            await changes.in_the_queue()
            await asyncio.sleep(1 / waiting_a_second)

    tasks = [asyncio.create_task(on_nodes()), asyncio.create_task(in_the_queue())]
    try:
        yield changes
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended
