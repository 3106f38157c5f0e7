"""Eight cards in two linked groups: which cards a pod gets when it wants the best links, or wants to do least damage."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage

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
      resources: {limits: {metax-tech.com/gpu: 2}}
"""

TRAIN: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {hami.io/node-scheduler-policy: POLICY}
spec:
  containers:
    - name: main
      image: train:1
      command: [sleep, infinity]
      resources: {limits: {metax-tech.com/gpu: COUNT}}
"""


async def _play(stage: Stage) -> None:
    for policy in ("spread", "binpack"):
        cards = (await stage.node(NODE)).cards
        await stage.submit(BUSY.replace("CARDS", f"{cards[0].uuid},{cards[1].uuid}"))
        await stage.until_running("busy")
        print(await stage.held("busy"))
        for n in (1,2,3,4):
            await stage.submit(TRAIN.replace("NAME","x").replace("POLICY",policy).replace("COUNT",str(n)))
            await stage.until_running("x")
            h=await stage.held("x")
            stage.tell(f"{policy} {n} {h.node} {h.cards}")
            await stage.delete("x")
        for n in (2,2,4):
            await stage.submit(TRAIN.replace("NAME",f"x{n}{policy}").replace("POLICY",policy).replace("COUNT",str(n)).replace("name: x","generateName: x") )
        await stage.delete("busy")


SCENARIO: Final = Scenario(
    name="topology",
    title="Eight cards, two groups: spread takes the best links, binpack keeps the rest whole.",
    why="Cards that talk over PCIe train at a fraction of the speed of linked ones.",
    play=_play,
    namespaces=("topology",),
)
