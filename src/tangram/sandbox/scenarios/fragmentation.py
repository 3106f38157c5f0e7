"""Three policies place the same notebooks; only one of them leaves room for the four-card job that comes next."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage

CLUSTER: Final = """
tangram: cluster/v1
nodes:
  - {name: wide, product: C500, mode: sgpu, cards: 8, links: two-groups-of-four}
  - {name: narrow, product: C500, mode: sgpu, cards: 4, links: full-mesh}
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

NOTEBOOK: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {hami.io/node-scheduler-policy: POLICY}
spec:
  containers:
    - name: main
      image: notebook:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 60, metax-tech.com/vmemory: 32}
"""


async def _play(stage: Stage) -> None:
    await stage.submit(TRAIN.replace("NAME", "train-1"))
    await stage.until_running("train-1")
    h=await stage.held("train-1")
    stage.tell(f"{h.node} {h.cards}")
    for policy in ("binpack","spread","frag"):
        for i in range(4):
            await stage.submit(NOTEBOOK.replace("NAME",f"n{i}").replace("POLICY",policy))
            await stage.until_running(f"n{i}")
            h=await stage.held(f"n{i}")
            stage.tell(f"{policy} {h.node} {h.cards}")
        await stage.submit(TRAIN.replace("NAME", "train-2"))
        try:
            await stage.until("",lambda:_x(stage),within=1.5)
        except Exception as e: pass
        p=await stage.pod("train-2")
        stage.tell(p["status"].get("phase")+str(p["status"].get("conditions")[0].get('message')))
        await stage.delete("n0","n1","n2","n3","train-2")
async def _x(stage):
    p=await stage.pod("train-2")
    return p["status"]["phase"]=="Running" or None

SCENARIO: Final = Scenario(
    name="fragmentation",
    title="The frag policy keeps room for the four-card job.",
    why="Idle cards that nobody can use are the ones you pay for twice.",
    play=_play,
    namespaces=("fragmentation",),
    cluster=CLUSTER,
)
