"""A card dies under load: its pod is told, nobody is given it any more, and it comes back when it is well."""

from __future__ import annotations

from typing import Final

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
    await _start(stage, "train", 2, (6, 7))
    stage.tell(f"Card {BROKEN} reports memory errors that cannot be corrected.")
    await machine.order(f"fail {BROKEN} ecc")
    try:
        await _broken(stage)
    finally:
        # Whatever becomes of the story, the next one finds a node in good order.
        await machine.order(f"recover {BROKEN}")
    stage.tell(f"Card {BROKEN} was repaired.")
    await stage.becomes(f"{NODE} offers 8 of 8 cards", lambda: _offers(stage, 8))
    await stage.until_running("six")
    held = await stage.held("six")
    stage.check(
        f"the job runs, on cards {listed(held.cards)}", holds=held.cards == (0, 1, 2, 3, 4, BROKEN), saw=held
    )
    stage.look(f"kubectl get events -n default --field-selector involvedObject.name={NODE}")
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} six")
    stage.look(f"tangram status --node {NODE}")
    stage.look(f"tangram simulate-cards ctl --socket {stage.cards_of(NODE)} list")


async def _broken(stage: Stage) -> None:
    uuid = str((await stage.node(NODE)).cards[BROKEN].uuid)
    await stage.becomes(
        "train goes on, and its status says which card is not well", lambda: _sick(stage, "train", uuid)
    )
    await stage.becomes(f"{NODE} offers 7 of 8 cards", lambda: _offers(stage, 7))
    stage.tell("The training is started anew.")
    await stage.delete("train")
    await _start(stage, "train", 2, (5, 7))
    stage.tell("A job for six cards comes; five are free and well.")
    await stage.submit(TRAIN.replace("NAME", "six").replace("COUNT", "6"))
    why = await stage.until_waiting("six")
    stage.check("it waits", holds=f"Insufficient {GPU}" in why, saw=why)
    stage.quote(reasons_in(why))


async def _start(stage: Stage, name: str, count: int, cards: tuple[int, ...]) -> None:
    await stage.submit(TRAIN.replace("NAME", name).replace("COUNT", str(count)))
    await stage.until_running(name)
    held = await stage.held(name)
    stage.check(f"{name} runs on cards {listed(held.cards)} of {NODE}", holds=held.cards == cards, saw=held)


async def _sick(stage: Stage, name: str, uuid: str) -> bool:
    pod = await stage.pod(name)
    (status,) = pod["status"]["containerStatuses"]
    sick = [
        unit["resourceID"]
        for resource in status.get("allocatedResourcesStatus", ())
        for unit in resource["resources"]
        if unit["health"] == "Unhealthy"
    ]
    return phase_of(pod) == "Running" and sick == [uuid]


async def _offers(stage: Stage, count: int) -> bool:
    node = await stage.api.get(f"/api/v1/nodes/{NODE}")
    return node["status"]["allocatable"][GPU] == str(count)


SCENARIO: Final = Scenario(
    name="card-dies",
    title="A card dies under load, and comes back.",
    why="A broken card must stop being sold at once, and the rest of its node must go on.",
    play=_play,
    namespaces=("card-dies",),
)
