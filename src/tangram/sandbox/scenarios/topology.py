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
      resources: {limits: {metax-tech.com/gpu: COUNT}}
"""

TRAIN: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {hami.io/node-scheduler-policy: POLICY}
spec:
  nodeSelector: {kubernetes.io/hostname: metax-a}
  containers:
    - name: main
      image: train:1
      command: [sleep, infinity]
      resources: {limits: {metax-tech.com/gpu: COUNT}}
"""

async def _play(stage: Stage) -> None:
    for busy in ([0,1],[0,1,2],[0,4],[0,1,4]):
        cards = (await stage.node(NODE)).cards
        await stage.submit(BUSY.replace("CARDS", ",".join(cards[i].uuid for i in busy)).replace("COUNT",str(len(busy))))
        await stage.until_running("busy")
        for policy in ("spread", "binpack"):
            for n in (1,2,3,4,5):
                await stage.submit(TRAIN.replace("NAME","x").replace("POLICY",policy).replace("COUNT",str(n)))
                await stage.until_running("x")
                h=await stage.held("x")
                stage.tell(f"{busy} {policy} {n} {h.node} {h.cards}")
                await stage.delete("x")
        await stage.delete("busy")

SCENARIO: Final = Scenario(
    name="topology",
    title="Eight cards, two groups: spread takes the best links, binpack keeps the rest whole.",
    why="Cards that talk over PCIe train at a fraction of the speed of linked ones.",
    play=_play,
    namespaces=("topology",),
)
