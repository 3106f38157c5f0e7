"""Forty pods at once: all of them run, and no card is sold twice, by three accounts that know nothing of each other."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from tangram.drivers.simulated.state import card_uuid
from tangram.sandbox.nodes.machines import Machines
from tangram.sandbox.scenarios.stage import Held, Scenario, Stage
from tangram.units.memory import GIB

COUNT: Final = 40
CORES: Final = 25

JOB: Final = """
apiVersion: batch/v1
kind: Job
metadata: {name: sweep}
spec:
  parallelism: 40
  completions: 40
  template:
    metadata: {labels: {app: sweep}}
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: sweep:1
          command: [sleep, infinity]
          resources:
            limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 25, metax-tech.com/vmemory: 12}
"""


class _Sold(Struct, frozen=True):
    """What was given of each card."""

    cores: Counter[str]
    memory: Counter[str]


async def _play(stage: Stage) -> None:
    stage.tell("A Job wants 40 pods at once, a quarter of a card and 12 GiB each. There is room for 48.")
    began = stage.clock()
    await stage.submit(JOB)
    pods = await stage.until_all_running("app=sweep", COUNT)
    took = stage.clock() - began
    held = await asyncio.gather(*(stage.held_by(pod) for pod in pods))
    stage.check(f"all {COUNT} run, {took:.1f} s after the Job was made", holds=len(held) == COUNT)
    by_node = Counter(each.node for each in held)
    stage.tell(f"  {', '.join(f'{count} on {node}' for node, count in sorted(by_node.items()))}")
    allotted = _sold((share.card, share.cores, share.memory) for each in held for share in each.shares)
    found = _sold((given.uuid, given.cores or 0, given.memory) for each in held for given in each.given)
    made = _made(stage.machines, held)
    stage.check(
        "scheduler, containers and cards agree on who has what",
        holds=allotted == found == made,
        saw=(allotted, found, made),
    )
    fullest, most = max(made.cores.values()), max(made.memory.values()) // GIB
    stage.check(
        f"no card is oversold: the fullest has given {fullest} % and {most} GiB of 63",
        holds=fullest <= 100 and most <= 63 and made.cores.total() == COUNT * CORES,
        saw=made,
    )
    stage.look(f"kubectl get job -n {stage.namespace} sweep")
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look("tangram status")


def _made(machines: Machines, held: Iterable[Held]) -> _Sold:
    """The slices that there really are, by the word of the cards themselves."""
    entries: list[tuple[str, int, int]] = []
    for name in {each.node for each in held}:
        world = machines.machine(name).world
        if world is None:
            continue
        for spec in world.description.cards:
            uuid = card_uuid(world.description, spec)
            entries += [(uuid, each.cores, each.memory) for each in world.slices(uuid)]
    return _sold(entries)


def _sold(entries: Iterable[tuple[str, int, int]]) -> _Sold:
    cores: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    for uuid, percent, size in entries:
        cores[uuid] += percent
        memory[uuid] += size
    return _Sold(cores, memory)


SCENARIO: Final = Scenario(
    name="burst-of-40",
    title="Forty pods at once.",
    why="Many at the same moment is when a scheduler sells a card twice, or falls asleep.",
    play=_play,
    namespaces=("burst-of-40",),
)
