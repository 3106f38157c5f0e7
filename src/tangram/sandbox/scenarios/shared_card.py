"""Two tenants share a card: each has its slice, neither sees the other's, and both end up on one card."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Scenario, Stage

TENANTS: Final = """
apiVersion: v1
kind: Namespace
metadata: {name: team-red}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-blue}
"""

POD: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: notebook
  namespace: TEAM
  annotations: {hami.io/gpu-scheduler-policy: binpack}
spec:
  containers:
    - name: main
      image: notebook:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 40, metax-tech.com/vmemory: 16}
"""


async def _play(stage: Stage) -> None:
    stage.tell("Two teams ask for 16 GiB and 40 % of a MetaX card each.")
    await stage.submit(TENANTS)
    for team in ("team-red", "team-blue"):
        await stage.submit(POD.replace("TEAM", team))
    for team in ("team-red", "team-blue"):
        await stage.until_running(["notebook"], team)
    red, blue = await stage.held("notebook", "team-red"), await stage.held("notebook", "team-blue")
    stage.check(
        f"both run on card {red.cards[0]} of node {red.node}",
        holds=(red.node, red.cards) == (blue.node, blue.cards),
        saw=(red, blue),
    )
    stage.look("kubectl get pods -A -o wide")
    stage.look("kubectl logs -n team-red notebook")
    stage.look("tangram status")


SCENARIO: Final = Scenario(name="shared-card", title="Two tenants share one card.", play=_play)
