"""Two tenants share a card: each has its slice, neither sees the other's, and a third is told what is left."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.units.memory import memory_text

RED: Final = "team-red"
BLUE: Final = "team-blue"

NOTEBOOK: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: notebook
  annotations: {hami.io/gpu-scheduler-policy: binpack}
spec:
  containers:
    - name: main
      image: notebook:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 40, metax-tech.com/vmemory: 16}
"""

SERVER: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: server
  annotations: {hami.io/gpu-scheduler-policy: binpack}
spec:
  containers:
    - name: main
      image: server:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 60, metax-tech.com/vmemory: 40}
"""


async def _play(stage: Stage) -> None:
    stage.tell("Team red wants 16 GiB and 40 % of a card, team blue 40 GiB and 60 %.")
    await stage.submit(NOTEBOOK, RED)
    await stage.submit(SERVER, BLUE)
    await stage.until_running("notebook", namespace=RED)
    await stage.until_running("server", namespace=BLUE)
    red, blue = await stage.held("notebook", RED), await stage.held("server", BLUE)
    stage.check(
        f"both run, on card {red.card} of node {red.node}",
        holds=(red.node, red.cards) == (blue.node, blue.cards),
        saw=(red, blue),
    )
    for team, found in ((RED, red.given), (BLUE, blue.given)):
        (slice_,) = found
        stage.tell(f"  {team} sees {memory_text(slice_.memory)} and {slice_.cores} % of {slice_.product}")
    parts = [(each.memory >> 30, each.cores) for each in red.given + blue.given]
    stage.check("each container has its own part and no more", holds=parts == [(16, 40), (40, 60)], saw=parts)
    stage.look("kubectl get pods -A -o wide")
    stage.look(f"kubectl logs -n {RED} notebook")
    stage.look(f"kubectl logs -n {BLUE} server")
    stage.look(f"tangram status --node {red.node}")


SCENARIO: Final = Scenario(
    name="shared-card",
    title="Two tenants share one card.",
    why="A notebook that idles on a card of its own is the dearest way to do nothing.",
    play=_play,
    namespaces=(RED, BLUE),
)
