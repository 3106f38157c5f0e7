"""Three policies place the same services; only one of them leaves room for the four-card job that comes next."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.sandbox.scenarios.things import listed, reasons_in

CLUSTER: Final = """
tangram: cluster/v1
nodes:
  - {name: large, product: C500, mode: sgpu, cards: 8, links: two-groups-of-four}
  - {name: small, product: C500, mode: sgpu, cards: 3}
"""

TRAIN: Final = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  containers:
    - name: main
      image: train:1
      command: [sleep, infinity]
      resources: {limits: {metax-tech.com/sgpu: 4, metax-tech.com/vcore: 100}}
"""

SERVICE: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {hami.io/node-scheduler-policy: POLICY}
spec:
  containers:
    - name: main
      image: serve:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 80, metax-tech.com/vmemory: 56}
"""
SERVICES: Final = ("serve-1", "serve-2", "serve-3")


async def _play(stage: Stage) -> None:
    stage.tell("Two nodes: large with eight sliced cards, small with three.")
    await stage.submit(TRAIN.replace("NAME", "train-1"))
    await stage.until_running("train-1")
    first = await stage.held("train-1")
    stage.check(
        f"train-1 has four cards of large: {listed(first.cards)}",
        holds=first.node == "large" and len(first.cards) == 4,
        saw=first,
    )
    stage.tell("Three services come, each for most of a card, and then train-2, again for four.")
    for policy in ("binpack", "spread"):
        places = await _serve(stage, policy)
        why = await stage.until_waiting("train-2")
        stage.check(
            f"{policy}: services on {listed(places)}; train-2 waits",
            holds="large" in places,
            saw=(places, why),
        )
        stage.quote(reasons_in(why))
        await stage.delete(*SERVICES, "train-2")
    places = await _serve(stage, "frag")
    await stage.until_running("train-2")
    second = await stage.held("train-2")
    stage.check(
        f"frag: services on {listed(places)}; train-2 runs on cards {listed(second.cards)} of {second.node}",
        holds=places == ["small", "small", "small"] and len(second.cards) == 4,
        saw=(places, second),
    )
    stage.tell("frag weighs a place by the pods to expect, which it learns from those that came.")
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} train-2")
    stage.look("tangram status")


async def _serve(stage: Stage, policy: str) -> list[str]:
    """Have the services come one after the other, and the job after them; the nodes of the services."""
    places: list[str] = []
    for name in SERVICES:
        await stage.submit(SERVICE.replace("NAME", name).replace("POLICY", policy))
        await stage.until_running(name)
        places.append((await stage.held(name)).node)
    await stage.submit(TRAIN.replace("NAME", "train-2"))
    return places


SCENARIO: Final = Scenario(
    name="fragmentation",
    title="Room for a job of four cards, or only for its parts.",
    why="Idle cards that no pod can use cost as much as busy ones.",
    play=_play,
    namespaces=("fragmentation",),
    cluster=CLUSTER,
)
