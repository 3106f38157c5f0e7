"""Eight cards in two linked groups: which cards a pod gets, and what it takes to put the other cards first.

The first two answers are the examples of the vendor's manual, which counts cards from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.sandbox.scenarios.things import listed

NODE: Final = "metax-a"

BUSY: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: busy
  annotations: {metax-tech.com/use-gpuuuid: "CARDS"}
spec:
  containers:
    - name: main
      image: train:1
      command: [sleep, infinity]
      resources: {limits: {metax-tech.com/gpu: COUNT}}
"""

TRAIN: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {hami.io/KIND-scheduler-policy: POLICY}
spec:
  nodeSelector: {kubernetes.io/hostname: metax-a}
  containers:
    - name: main
      image: train:1
      command: [sleep, infinity]
      resources: {limits: {metax-tech.com/gpu: COUNT}}
"""


async def _play(stage: Stage) -> None:
    stage.tell(f"{NODE} has cards 0 to 3 and 4 to 7, each four joined by MetaXLink. 0 and 1 are busy.")
    await _occupy(stage, (0, 1))
    await _ask(stage, "four", "node spread", (4, 5, 6, 7), "all linked")
    await _ask(stage, "two", "node binpack", (2, 3), "the other group stays whole")
    stage.tell("Now 0, 1 and 2 are busy: two linked cards can only come out of the whole group.")
    await stage.delete("busy")
    await _occupy(stage, (0, 1, 2))
    await _ask(stage, "two", "gpu binpack", (3, 7), "not linked, but three linked cards stay")
    await _ask(
        stage, "two", "node binpack", (6, 7), "linked: a policy for nodes chooses no cards", stays=True
    )
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} two")
    stage.look(f"tangram explain two -n {stage.namespace}")
    stage.look(f"tangram status --node {NODE}")


async def _occupy(stage: Stage, numbers: Sequence[int]) -> None:
    cards = (await stage.node(NODE)).cards
    uuids = ",".join(cards[number].uuid for number in numbers)
    await stage.submit(BUSY.replace("CARDS", uuids).replace("COUNT", str(len(numbers))))
    await stage.until_running("busy")
    held = await stage.held("busy")
    if (held.node, held.cards) != (NODE, tuple(numbers)):
        stage.check(f"cards {listed(numbers)} are busy", holds=False, saw=held)


async def _ask(
    stage: Stage, name: str, policy: str, cards: tuple[int, ...], why: str, *, stays: bool = False
) -> None:
    kind, word = policy.split()
    manifest = TRAIN.replace("NAME", name).replace("KIND", kind).replace("POLICY", word)
    await stage.submit(manifest.replace("COUNT", str(len(cards))))
    await stage.until_running(name)
    held = await stage.held(name)
    stage.check(f"{name}, {policy}: cards {listed(cards)} ({why})", holds=held.cards == cards, saw=held)
    if not stays:
        await stage.delete(name)


SCENARIO: Final = Scenario(
    name="topology",
    title="Eight cards, two groups: linked cards come first, then what stays whole.",
    why="Cards that meet over the bus train at a fraction of the speed of linked ones.",
    play=_play,
    namespaces=("topology",),
)
