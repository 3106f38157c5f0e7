"""Moore Threads cards come in sizes: what the sizes are, how two pods share one card, and what has no size."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.sandbox.scenarios.things import listed
from tangram.units.memory import GIB, memory_text

POD: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {hami.io/gpu-scheduler-policy: binpack}
spec:
  containers:
    - name: main
      image: serve:1
      command: [sleep, infinity]
      resources:
        limits: {LIMITS}
"""


async def _play(stage: Stage) -> None:
    stage.tell("An S4000 has 48 GiB and 16 shares of compute. Memory is asked for in units of 512 MiB.")
    await stage.submit(_pod("serve-1", 1, memory=32, cores=8))
    await stage.submit(_pod("serve-2", 1, memory=32, cores=4))
    await stage.until_running("serve-1", "serve-2")
    first, second = await stage.held("serve-1"), await stage.held("serve-2")
    stage.check(
        f"two pods share card {first.card} of {first.node}",
        holds=(first.node, first.cards) == (second.node, second.cards),
        saw=(first, second),
    )
    for name, held, cores in (("serve-1", first, 8), ("serve-2", second, 4)):
        (given,) = held.given
        stage.check(
            f"{name} has {memory_text(given.memory)} and {given.cores} of 16 shares",
            holds=(given.memory, given.cores) == (16 * GIB, cores),
            saw=given,
        )
    stage.tell("16 GiB of the card are left, and the next pod wants 32.")
    await _beside(stage, first.card)
    odd = _pod("odd", 1, memory=33, cores=4)
    stage.refused("mthreads.com/sgpu-memory: 33", await stage.refusal_of(odd), "write 64")
    await stage.submit(_pod("two-cards", 2))
    await stage.until_running("two-cards")
    both = await stage.held("two-cards")
    stage.check(
        f"two without a size are two whole cards, {listed(both.cards)} of {both.node}",
        holds=[given.memory for given in both.given] == [48 * GIB] * 2 and first.card not in both.cards,
        saw=both,
    )
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} serve-1")
    stage.look(f"kubectl logs -n {stage.namespace} two-cards")
    stage.look(f"tangram status --node {first.node}")


async def _beside(stage: Stage, card: int) -> None:
    await stage.submit(_pod("large", 1, memory=64, cores=4))
    await stage.until_running("large")
    held = await stage.held("large")
    stage.check(f"it goes to card {held.card}", holds=held.card != card, saw=held)


def _pod(name: str, count: int, *, memory: int = 0, cores: int = 0) -> str:
    limits = f"mthreads.com/vgpu: {count}"
    if memory:
        limits += f", mthreads.com/sgpu-memory: {memory}, mthreads.com/sgpu-core: {cores}"
    return POD.replace("NAME", name).replace("LIMITS", limits)


SCENARIO: Final = Scenario(
    name="mthreads-tiers",
    title="Moore Threads cards in their sizes.",
    why="The driver makes seven sizes of slices and no other; better to hear that before a pod waits.",
    play=_play,
    namespaces=("mthreads-tiers",),
)
