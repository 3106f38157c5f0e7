"""Three ways to share compute: a card in use keeps the one it has, and pods of another go elsewhere or wait."""

from __future__ import annotations

from typing import Final

from tangram.sandbox.scenarios.stage import Held, Scenario, Stage
from tangram.sandbox.scenarios.things import reasons_in

NODE: Final = "metax-b"

POD: Final = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {metax-tech.com/sgpu-qos-policy: POLICY}
spec:
  nodeSelector: {kubernetes.io/hostname: metax-b}
  containers:
    - name: main
      image: worker:1
      command: [sleep, infinity]
      resources:
        limits: {metax-tech.com/sgpu: 1, metax-tech.com/vcore: CORES, metax-tech.com/vmemory: 8}
"""
ANYWHERE: Final = POD.replace("  nodeSelector: {kubernetes.io/hostname: metax-b}\n", "")

WORKERS: Final = (
    ("best-effort-1", "best-effort"),
    ("best-effort-2", "best-effort"),
    ("fixed-share-1", "fixed-share"),
    ("fixed-share-2", "fixed-share"),
)


async def _play(stage: Stage) -> None:
    stage.tell(f"Four workers want 60 % of a card each on {NODE}, which has four sliced cards.")
    held: dict[str, Held] = {}
    for name, policy in WORKERS:
        await stage.submit(_pod(POD, name, policy, 60))
        await stage.until_running(name)
        held[name] = await stage.held(name)
    cards = {each.card for each in held.values()}
    stage.check("each has a card, with 40 % to spare", holds=len(cards) == len(WORKERS), saw=held)
    for policy in ("best-effort", "fixed-share"):
        both = [held[name] for name, kept in WORKERS if kept == policy]
        stage.check(
            f"cards {' and '.join(str(each.card) for each in both)} run {policy}",
            holds=all(given.policy == policy for each in both for given in each.given),
            saw=both,
        )
    stage.tell("Smaller pods come, for 25 %.")
    await _join(stage, held)
    await _elsewhere(stage)
    await _insist(stage, held["best-effort-1"].card)
    stage.look(f"kubectl get pods -n {stage.namespace} -o wide")
    stage.look(f"kubectl logs -n {stage.namespace} burst-2")
    stage.look(f"kubectl get events -n {stage.namespace} --field-selector involvedObject.name=burst-2")
    stage.look(f"tangram status --node {NODE}")


async def _join(stage: Stage, held: dict[str, Held]) -> None:
    await stage.submit(_pod(POD, "fixed-3", "fixed-share", 25))
    await stage.until_running("fixed-3")
    joined = await stage.held("fixed-3")
    friends = {held["fixed-share-1"].card, held["fixed-share-2"].card}
    stage.check(
        f"one of fixed-share joins its kind on card {joined.card}", holds=joined.card in friends, saw=joined
    )


async def _elsewhere(stage: Stage) -> None:
    await stage.submit(_pod(ANYWHERE, "burst-1", "burst-share", 25))
    await stage.until_running("burst-1")
    away = await stage.held("burst-1")
    stage.check(
        f"one of burst-share goes to another node, {away.node}",
        holds=away.node != NODE and away.given[0].policy == "burst-share",
        saw=away,
    )


async def _insist(stage: Stage, card: int) -> None:
    await stage.submit(_pod(POD, "burst-2", "burst-share", 25))
    why = await stage.until_waiting("burst-2")
    stage.check(f"one of burst-share that must be on {NODE} waits, because", holds="Qos" in why, saw=why)
    stage.quote(reasons_in(why))
    stage.tell("best-effort-1 ends.")
    await stage.delete("best-effort-1")
    await stage.until_running("burst-2")
    held = await stage.held("burst-2")
    stage.check(
        f"it runs on card {card}, which is burst-share's now",
        holds=held.cards == (card,) and held.given[0].policy == "burst-share",
        saw=held,
    )


def _pod(manifest: str, name: str, policy: str, cores: int) -> str:
    return manifest.replace("NAME", name).replace("POLICY", policy).replace("CORES", str(cores))


SCENARIO: Final = Scenario(
    name="qos-policies",
    title="A card in use keeps its QoS policy.",
    why="A guaranteed share means nothing beside a neighbour without limits.",
    play=_play,
    namespaces=("qos-policies",),
)
