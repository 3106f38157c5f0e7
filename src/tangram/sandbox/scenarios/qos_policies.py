"""Three ways to share compute: a card keeps one of them while it is in use, and pods of another go elsewhere or wait."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage

POLICIES: Final = ("best-effort", "fixed-share", "burst-share")
NODE: Final = "metax-b"

WORKER: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations:
    metax-tech.com/sgpu-qos-policy: POLICY
    hami.io/gpu-scheduler-policy: binpack
spec:
  nodeSelector: {kubernetes.io/hostname: metax-b}
  containers:
    - name: main
      image: worker:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 25, metax-tech.com/vmemory: 8}
"""

PICKY: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: picky
  annotations:
    metax-tech.com/sgpu-qos-policy: burst-share
    metax-tech.com/use-gpuuuid: CARD
spec:
  containers:
    - name: main
      image: worker:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 25, metax-tech.com/vmemory: 8}
"""


async def _play(stage: Stage) -> None:
    stage.tell("Six workers, two of each policy, want a quarter of a card each.")
    for number in (1, 2):
        for policy in POLICIES:
            name = f"{policy}-{number}"
            await stage.submit(WORKER.replace("NAME", name).replace("POLICY", policy))
            await stage.until_running(name)
    cards: dict[str, int] = {}
    for policy in POLICIES:
        first, second = await stage.held(f"{policy}-1"), await stage.held(f"{policy}-2")
        found = {each.policy for each in first.given + second.given}
        stage.check(
            f"{policy}: both on card {first.card}, which runs {policy}",
            holds=first.cards == second.cards and found == {policy},
            saw=(first, second),
        )
        cards[policy] = first.card
    stage.check("three policies, three cards", holds=len(set(cards.values())) == len(POLICIES), saw=cards)
    await _insist(stage, cards["fixed-share"])
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} picky")
    stage.look(f"kubectl describe pod -n {stage.namespace} picky")
    stage.look(f"tangram status --node {NODE}")


async def _insist(stage: Stage, number: int) -> None:
    stage.tell(f"A pod of burst-share insists on card {number}, where there is room and fixed-share is in force.")
    card = (await stage.node(NODE)).cards[number]
    await stage.submit(PICKY.replace("CARD", card.uuid))
    why = await stage.until_waiting("picky")
    stage.check("it waits, and is told why:", holds="qos" in why.lower(), saw=why)
    stage.quote(why)
    stage.tell("The two workers of fixed-share end.")
    await stage.delete("fixed-share-1", "fixed-share-2")
    await stage.until_running("picky")
    held = await stage.held("picky")
    stage.check(
        f"it runs on card {number}, which is burst-share's now",
        holds=held.cards == (number,) and held.given[0].policy == "burst-share",
        saw=held,
    )


SCENARIO: Final = Scenario(
    name="qos-policies",
    title="A card in use keeps its QoS policy.",
    why="A guaranteed share means nothing beside a neighbour without limits.",
    play=_play,
    namespaces=("qos-policies",),
)
