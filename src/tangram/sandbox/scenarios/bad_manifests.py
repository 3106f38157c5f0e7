"""A dozen manifests that cannot be meant so, each refused with what to write instead; one that waits, with advice."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from tangram.kube.objects import Object
from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.sandbox.scenarios.things import reasons_in, without_gate

POD: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: wrong
  annotations: {ANNOTATIONS}
spec:
  containers:
    - name: main
      image: work:1
      command: [sleep, infinity]
      resources: {limits: {LIMITS}}
"""

HUGE: Final = """
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  containers:
    - name: main
      image: train:1
      command: [sleep, infinity]
      resources: {limits: {metax-tech.com/gpu: 9}}
"""

JOB: Final = """
apiVersion: batch/v1
kind: Job
metadata: {name: typo}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: work:1
          resources: {limits: {mthreads.com/vgpu: 2, mthreads.com/sgpu-memory: 32}}
"""


class Wrong(Struct, frozen=True, kw_only=True):
    limits: str
    annotations: str = ""
    instead: str
    """Words that the answer must have: what to write."""

    @property
    def manifest(self) -> str:
        return POD.replace("ANNOTATIONS", self.annotations).replace("LIMITS", self.limits)


SLICE: Final = "metax-tech.com/sgpu: 1, metax-tech.com/vcore: 25, metax-tech.com/vmemory: 8"
WRONGS: Final = (
    Wrong(limits="metax-tech.com/sgpu: 1, metax-tech.com/vcore: 150", instead="write for example 50"),
    Wrong(limits="metax-tech.com/vcore: 25", instead="add metax-tech.com/sgpu: 1"),
    Wrong(limits="metax-tech.com/sgpu: 1, metax-tech.com/vmemory: 1500m", instead="write 1536Mi"),
    Wrong(limits="metax-tech.com/sgpu: 1, metax-tech.com/vmemory: 512Ki", instead="write 1Mi or more"),
    Wrong(limits="metax-tech.com/sgpu: 1, metax-tech.com/gpu: 1", instead="remove metax-tech.com/gpu"),
    Wrong(limits="metax-tech.com/sgpu: 1, mthreads.com/vgpu: 1", instead="one container for each vendor"),
    Wrong(limits="mthreads.com/vgpu: 1, mthreads.com/sgpu-memory: 33", instead="write 64"),
    Wrong(limits="mthreads.com/vgpu: 0", instead="write 1"),
    Wrong(
        limits="koordinator.sh/gpu-core: 10, koordinator.sh/gpu-memory: 1Gi",
        instead="add metax-tech.com/sgpu",
    ),
    Wrong(
        limits=SLICE,
        annotations="hami.io/node-scheduler-policy: bin-pack",
        instead="binpack, spread or frag",
    ),
    Wrong(
        limits=SLICE,
        annotations="metax-tech.com/sgpu-qos-policy: fast",
        instead="best-effort, fixed-share or burst-share",
    ),
    Wrong(limits=SLICE, annotations="hami.io/vgpu-node: metax-a", instead="remove it from the manifest"),
)


async def _play(stage: Stage) -> None:
    stage.tell(f"{len(WRONGS)} pods that cannot be meant so. Each is refused when it is made:")
    for wrong in WRONGS:
        stage.refused(
            wrong.annotations or wrong.limits, await stage.refusal_of(wrong.manifest), wrong.instead
        )
    stage.tell("A Job with such pods is taken, and told by an event:")
    await stage.submit(JOB)
    told = await stage.until("the Job has an event", lambda: _event(stage, "typo"))
    stage.refused(
        "mthreads.com/vgpu: 2, mthreads.com/sgpu-memory: 32", without_gate(told["message"]), "write"
    )
    stage.tell("One is well written, and wants nine cards of one node:")
    await stage.submit(HUGE)
    why = await stage.until_waiting("huge")
    stage.check("it waits", holds="metax-tech.com/gpu" in why, saw=why)
    stage.quote(reasons_in(why))
    advice = await stage.advice("huge")
    stage.check(f"what would help: {advice[0] if advice else ''}", holds="8 cards" in advice[0], saw=advice)
    stage.look(f"tangram explain huge -n {stage.namespace}")
    stage.look(f"kubectl describe pod -n {stage.namespace} huge")
    stage.look(f"kubectl describe job -n {stage.namespace} typo")


async def _event(stage: Stage, name: str) -> Object | None:
    path = f"/api/v1/namespaces/{stage.namespace}/events"
    for event in await stage.api.list_all(path, {"fieldSelector": f"involvedObject.name={name}"}):
        if event["reason"] == "FailedCreate":
            return event
    return None


SCENARIO: Final = Scenario(
    name="bad-manifests",
    title="A dozen wrong manifests, and what each is told.",
    why="A wrong number should cost a sentence, not an afternoon.",
    play=_play,
    namespaces=("bad-manifests",),
)
