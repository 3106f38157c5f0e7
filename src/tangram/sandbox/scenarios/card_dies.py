"""A card dies under load: its pod is told, nobody is given it any more, and it comes back when it is well."""

from __future__ import annotations

from typing import Final

from tangram.kube.objects import Object
from tangram.sandbox.scenarios.stage import Scenario, Stage
from tangram.sandbox.scenarios.things import listed, phase_of, reasons_in

NODE: Final = "metax-a"
GPU: Final = "metax-tech.com/gpu"
BROKEN: Final = 6

TRAIN: Final = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeSelector: {kubernetes.io/hostname: metax-a}
  containers:
    - name: main
      image: train:1
      command: [sleep, infinity]
      resources: {limits: {metax-tech.com/gpu: COUNT}}
"""


async def _play(stage: Stage) -> None:
    machine = stage.machines.machine(NODE)
    uuid = str((await stage.node(NODE)).cards[BROKEN].uuid)
    await _start(stage, "train", 2, (6, 7))
    stage.tell(f"Card {BROKEN} reports memory errors that cannot be corrected.")
    await machine.order(f"fail {BROKEN} ecc")
    await stage.until("the pod's status names its sick card", lambda: _sick(stage, "train", uuid))
    stage.check(
        "train goes on, and its status names the card that is not well",
        holds=phase_of(await stage.pod("train")) == "Running",
    )
    await _until_offered(stage, 7)
    stage.check(f"{NODE} offers 7 of 8 cards", holds=True)
    stage.tell("The training is started anew.")
    await stage.delete("train")
    await _start(stage, "train", 2, (5, 7))
    stage.tell("A job for six cards comes; five are free and well.")
    await stage.submit(TRAIN.replace("NAME", "six").replace("COUNT", "6"))
    why = await stage.until_waiting("six")
    stage.check("it waits", holds=f"Insufficient {GPU}" in why, saw=why)
    stage.quote(reasons_in(why))
    stage.tell(f"Card {BROKEN} was repaired.")
    await machine.order(f"recover {BROKEN}")
    await _until_offered(stage, 8)
    await stage.until_running("six")
    held = await stage.held("six")
    stage.check(
        f"the job runs, on cards {listed(held.cards)}", holds=held.cards == (0, 1, 2, 3, 4, BROKEN), saw=held
    )
    stage.look(f"kubectl get events -n default --field-selector involvedObject.name={NODE}")
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} six")
    stage.look(f"tangram status --node {NODE}")


async def _start(stage: Stage, name: str, count: int, cards: tuple[int, ...]) -> None:
    await stage.submit(TRAIN.replace("NAME", name).replace("COUNT", str(count)))
    await stage.until_running(name)
    held = await stage.held(name)
    stage.check(f"{name} runs on cards {listed(held.cards)} of {NODE}", holds=held.cards == cards, saw=held)


async def _sick(stage: Stage, name: str, uuid: str) -> Object | None:
    (status,) = (await stage.pod(name))["status"]["containerStatuses"]
    for resource in status.get("allocatedResourcesStatus", ()):
        for unit in resource["resources"]:
            if (unit["resourceID"], unit["health"]) == (uuid, "Unhealthy"):
                return unit
    return None


async def _until_offered(stage: Stage, count: int) -> None:
    async def offered() -> bool | None:
        node = await stage.api.get(f"/api/v1/nodes/{NODE}")
        return node["status"]["allocatable"][GPU] == str(count) or None

    await stage.until(f"node {NODE} offers {count} cards", offered)


SCENARIO: Final = Scenario(
    name="card-dies",
    title="A card dies under load, and comes back.",
    why="A broken card must stop being sold at once, and nobody else must notice.",
    play=_play,
    namespaces=("card-dies",),
)
