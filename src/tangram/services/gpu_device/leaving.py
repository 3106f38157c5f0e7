"""The moment before the agent goes: whoever is on the way to this node is let arrive first.

A kubelet that admits a pod while nobody offers its resource ends it for good. Schedulers are told that the agent goes,
and send nobody from then on; but between a binding and the kubelet's Allocate lies a moment, on a busy node a long one,
and pods bound before the schedulers heard are in it. So the agent serves on until the kubelet has noted every pod that
holds cards here, and no longer than a limit: a kubelet that is away would never note any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from tangram.model.allocations import Tenant
from tangram.services.gpu_device.records import BoundPod
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint

HEARD_S: Final = 0.5
"""How long a scheduler may take to hear that this node takes nobody any more, and its last binding to be seen here."""
ARRIVE_S: Final = 5.0
LOOK_EVERY_S: Final = 0.1


async def until_arrived(
    pods: Callable[[], Iterable[BoundPod]], notes: Callable[[], Awaitable[Checkpoint | WireError]]
) -> tuple[str, ...]:
    """Wait; the pods that had not arrived when time was up, by name."""
    clock = asyncio.get_running_loop().time
    begun = clock()
    await asyncio.sleep(HEARD_S)
    while True:
        missing = on_the_way(pods(), await notes())
        if not missing or clock() - begun >= ARRIVE_S:
            return missing
        await asyncio.sleep(LOOK_EVERY_S)


def on_the_way(pods: Iterable[BoundPod], notes: Checkpoint | WireError) -> tuple[str, ...]:
    """Pods that hold cards of this node and that the kubelet has not asked for yet, as far as its notes can be read."""
    if isinstance(notes, WireError):
        return ()
    arrived = {each.pod_uid for each in notes.allocations}
    return tuple(
        str(bound.pod.ref)
        for bound in pods
        if isinstance(bound.holds, Tenant) and not bound.pod.ended and bound.kubelet_uid not in arrived
    )
