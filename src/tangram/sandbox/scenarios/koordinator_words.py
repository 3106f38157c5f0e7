"""Manifests in Koordinator's words are served as they are, slices and whole cards, of either vendor."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.sandbox.scenarios.things import listed
from tangram.units.memory import GIB, memory_text

SLICE: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: slice
  annotations: {metax-tech.com/sgpu-qos-policy: fixed-share}
spec:
  containers:
    - name: main
      image: sleep:1
      command: [sh, -c, "ls /dev; sleep infinity"]
      resources:
        limits: &slice
          koordinator.sh/gpu.shared: 1
          koordinator.sh/gpu-core: 10
          koordinator.sh/gpu-memory: 1Gi
          metax-tech.com/sgpu: 1
        requests: *slice
"""

RATIO: Final = """
apiVersion: v1
kind: Pod
metadata: {name: ratio}
spec:
  containers:
    - name: main
      image: sleep:1
      command: [sleep, infinity]
      resources:
        limits: {koordinator.sh/gpu-core: 25, koordinator.sh/gpu-memory-ratio: 50, metax-tech.com/sgpu: 1}
"""

MOORE: Final = """
apiVersion: v1
kind: Pod
metadata: {name: moore}
spec:
  containers:
    - name: main
      image: sleep:1
      command: [sleep, infinity]
      resources:
        limits: {koordinator.sh/gpu-core: 25, koordinator.sh/gpu-memory: 16Gi, mthreads.com/vgpu: 1}
"""

WHOLE: Final = """
apiVersion: v1
kind: Pod
metadata: {name: whole}
spec:
  containers:
    - name: main
      image: sleep:1
      command: [sleep, infinity]
      resources:
        limits: {koordinator.sh/gpu: 200, metax-tech.com/sgpu: 2}
"""

TWO_PARTS: Final = """
apiVersion: v1
kind: Pod
metadata: {name: two-parts}
spec:
  containers:
    - name: main
      image: sleep:1
      command: [sleep, infinity]
      resources:
        limits:
          koordinator.sh/gpu.shared: 2
          koordinator.sh/gpu-core: 20
          koordinator.sh/gpu-memory: 2Gi
          metax-tech.com/sgpu: 2
"""


async def _play(stage: Stage) -> None:
    stage.tell("Pods written for Koordinator come as they are.")
    for manifest in (SLICE, RATIO, MOORE, WHOLE):
        await stage.submit(manifest)
    await stage.until_running("slice", "ratio", "moore", "whole")
    await _slice(stage)
    await _parts(stage)
    await _whole(stage)
    stage.refused("parts of two cards at once", await stage.refusal_of(TWO_PARTS), "ask for one card")
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} slice")
    stage.look(f"kubectl get pod -n {stage.namespace} slice -o yaml")
    stage.look("tangram status")


async def _slice(stage: Stage) -> None:
    held = await stage.held("slice")
    (given,) = held.given
    stage.check(
        f"slice has 10 % and 1 GiB of a MetaX card, {given.policy}",
        holds=(given.cores, given.memory, given.policy) == (10, GIB, "fixed-share"),
        saw=given,
    )
    log = await stage.log("slice")
    stage.check("in its /dev is mxcd, by which the vendor tells", holds="\nmxcd\n" in log, saw=log)


async def _parts(stage: Stage) -> None:
    (given,) = (await stage.held("ratio")).given
    stage.check(
        f"ratio has 25 % and, for half of its memory, {memory_text(given.memory)} of a MetaX card",
        # Of the 64 GiB of a C500 the driver slices 63.
        holds=(given.cores, given.memory) == (25, 63 * GIB // 2),
        saw=given,
    )
    (given,) = (await stage.held("moore")).given
    stage.check(
        "moore has 4 of 16 shares and 16 GiB of a Moore Threads card",
        holds=(given.cores, given.memory, given.product) == (4, 16 * GIB, "MTT S4000"),
        saw=given,
    )


async def _whole(stage: Stage) -> None:
    held = await stage.held("whole")
    stage.check(
        f"whole has cards {listed(held.cards)} of {held.node} to itself",
        holds=[given.cores for given in held.given] == [100, 100],
        saw=held,
    )


SCENARIO: Final = Scenario(
    name="koordinator-words",
    title="Koordinator's vocabulary, Tangram's placement.",
    why="Nobody should rewrite a thousand manifests to change a scheduler.",
    play=_play,
    namespaces=("koordinator-words",),
)
