"""The moment before the agent goes: whoever is on the way to this node is let arrive first.

A kubelet that admits a pod while nobody offers its resource ends it for good. Schedulers are told that the agent goes,
and send nobody from then on; but between a binding and the kubelet's Allocate lies a moment, on a busy node a long one,
and pods bound before the schedulers heard are in it. A pod that was admitted and whose first container is not made yet
cannot start without the agent either, and an upgrade that waits for the node's pods to end never gets its turn. So the
agent serves on until the kubelet has noted every pod that holds cards here and has had its devices made, and no longer
than a limit: a kubelet that is away would never note any, and an image may take minutes to come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Final

from tangram.model.pods import Phase
from tangram.services.gpu_device.records import BoundPod
from tangram.units.ids import PodUid
from tangram.wire.errors import WireError
from tangram.wire.kubelet.checkpoint import Checkpoint

HEARD_S: Final = 0.5
"""How long a scheduler may take to hear that this node takes nobody any more, and its last binding to be seen here."""
ARRIVE_S: Final = 5.0
LOOK_EVERY_S: Final = 0.1


async def until_arrived(
    pods: Callable[[], Iterable[BoundPod]],
    notes: Callable[[], Awaitable[Checkpoint | WireError]],
    begun_pods: Callable[[], Collection[PodUid] | None] = lambda: None,
) -> tuple[str, ...]:
    """Wait; the pods that had not arrived when time was up, by name.

    `begun_pods` are those for which devices were made when a container began; None where none are made then.
    """
    clock = asyncio.get_running_loop().time
    begun = clock()
    await asyncio.sleep(HEARD_S)
    while True:
        missing = on_the_way(pods(), await notes(), begun_pods())
        if not missing or clock() - begun >= ARRIVE_S:
            return missing
        await asyncio.sleep(LOOK_EVERY_S)


def on_the_way(
    pods: Iterable[BoundPod], notes: Checkpoint | WireError, begun_pods: Collection[PodUid] | None = None
) -> tuple[str, ...]:
    """Pods that hold cards of this node and that the kubelet has not asked for yet, as far as its notes can be read, or
    none of whose containers has begun.
    """
    if isinstance(notes, WireError):
        return ()
    arrived = {each.pod_uid for each in notes.allocations}

    def is_here(bound: BoundPod) -> bool:
        begun = begun_pods is None or bound.pod.phase is not Phase.PENDING or bound.pod.ref.uid in begun_pods
        return bound.kubelet_uid in arrived and begun

    return tuple(
        str(bound.pod.ref)
        for bound in pods
        # Whole cards that the kubelet chooses by itself are held too, though no annotation says which.
        if bound.holds is not None and not bound.pod.ended and not is_here(bound)
    )
