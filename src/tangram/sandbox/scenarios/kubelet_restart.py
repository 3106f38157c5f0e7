"""A kubelet restarts: containers go on with their cards, the agent offers them again, and new pods run."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from tangram.sandbox.nodes.machine import Machine
from tangram.sandbox.scenarios.stage import Held, Scenario, Stage
from tangram.sandbox.scenarios.things import listed

NODE: Final = "metax-b"
RESOURCES: Final = ("metax-tech.com/gpu", "metax-tech.com/sgpu")

WHOLE: Final = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeSelector: {kubernetes.io/hostname: metax-b}
  containers:
    - name: main
      image: train:1
      command: [sleep, infinity]
      resources: {limits: {metax-tech.com/gpu: 2}}
"""

SLICE: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {hami.io/gpu-scheduler-policy: binpack}
spec:
  nodeSelector: {kubernetes.io/hostname: metax-b}
  containers:
    - name: main
      image: serve:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: 30, metax-tech.com/vmemory: 16}
"""


class _Life(Struct, frozen=True):
    """A pod's one container, by what changes when it is started again."""

    id: str
    since: str
    restarts: int
    held: Held


async def _play(stage: Stage) -> None:
    await stage.submit(WHOLE.replace("NAME", "train"))
    await stage.submit(SLICE.replace("NAME", "serve"))
    await stage.until_running("train", "serve")
    before = {name: await _life(stage, name) for name in ("train", "serve")}
    whole, part = before["train"].held, before["serve"].held
    stage.tell(
        f"On {NODE}, train has cards {listed(whole.cards)} and serve 30 % of card {listed(part.cards)}. "
        "Its kubelet restarts."
    )
    machine = stage.machines.machine(NODE)
    await machine.stop_kubelet()
    stage.check("while it is away, nobody is given a card there", holds=not _offered(machine))
    await machine.start_kubelet()

    async def offered() -> bool:
        return _offered(machine) == RESOURCES

    await stage.becomes("the agent noticed, and offers them again", offered)
    await stage.submit(WHOLE.replace("NAME", "train-2"))
    await stage.submit(SLICE.replace("NAME", "serve-2"))
    await stage.until_running("train-2", "serve-2")
    after = {name: await _life(stage, name) for name in ("train", "serve")}
    stage.check("train and serve run on, in the same containers", holds=after == before, saw=(before, after))
    new_whole, new_part = await stage.held("train-2"), await stage.held("serve-2")
    stage.check(
        f"train-2 has the other whole cards, {listed(new_whole.cards)}",
        holds=not set(new_whole.cards) & set(whole.cards),
        saw=(whole, new_whole),
    )
    stage.check(
        f"serve-2 shares card {listed(new_part.cards)} with serve",
        holds=new_part.cards == part.cards,
        saw=(part, new_part),
    )
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} serve-2")
    stage.look(f"kubectl describe node {NODE}")
    stage.look(f"tangram status --node {NODE}")


def _offered(machine: Machine) -> tuple[str, ...]:
    return tuple(resource for resource in RESOURCES if machine.devices.registered(resource))


async def _life(stage: Stage, name: str) -> _Life:
    pod = await stage.pod(name)
    (status,) = pod["status"]["containerStatuses"]
    since = status["state"]["running"]["startedAt"]
    return _Life(status["containerID"], since, status["restartCount"], await stage.held_by(pod))


SCENARIO: Final = Scenario(
    name="kubelet-restart",
    title="A kubelet restarts, and nothing is lost.",
    why="Kubelets are upgraded while trainings run for weeks.",
    play=_play,
    namespaces=("kubelet-restart",),
)
