"""What can become of a Deployment or a ReplicaSet."""

import asyncio
from functools import partial

from e2e.controllers_kit import Scene
from e2e.controllers_objects import all_new, new_image, of_image, progressed, template, workload
from testbed.api import Object


async def replica_set_grows_and_shrinks(scene: Scene) -> None:
    await scene.create(workload("ReplicaSet", replicas=3))
    await scene.run_all(3)
    await scene.until("replicasets", "x", lambda seen: seen["status"].get("availableReplicas") == 3)
    await scene.patch("replicasets", "x", {"spec": {"replicas": 1}})
    await scene.pods(1)
    await scene.until("replicasets", "x", lambda seen: seen["status"]["replicas"] == 1)


async def replica_set_takes_and_lets_go(scene: Scene) -> None:
    stray: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stray", "labels": {"app": "x"}}}
    await scene.create(stray | {"spec": template()["spec"]})
    await scene.create(workload("ReplicaSet", replicas=2))
    await scene.pods(2, lambda pod: bool(pod["metadata"].get("ownerReferences")))
    await scene.patch("pods", "stray", {"metadata": {"labels": {"app": "another"}}})
    await scene.pods(3)
    await scene.until("pods", "stray", lambda seen: not seen["metadata"].get("ownerReferences"))


async def deployment_comes_up(scene: Scene) -> None:
    await scene.create(workload("Deployment", replicas=3))
    await scene.run_all(3)
    await scene.until("deployments", "x", progressed("NewReplicaSetAvailable"))


async def deployment_waits(scene: Scene) -> None:
    await scene.create(workload("Deployment", replicas=2, progressDeadlineSeconds=600))
    await scene.pods(2)
    await scene.until("deployments", "x", lambda seen: seen["status"].get("replicas") == 2)


async def deployment_gets_stuck(scene: Scene) -> None:
    await scene.create(workload("Deployment", replicas=1, progressDeadlineSeconds=2, minReadySeconds=0))
    await scene.pods(1)
    await scene.until("deployments", "x", progressed("ProgressDeadlineExceeded"))


async def deployment_rolls(scene: Scene) -> None:
    await deployment_comes_up(scene)
    await scene.patch("deployments", "x", new_image("i:2"))
    await scene.run_until(lambda: all_new(scene, "i:2", 3))
    await scene.until("deployments", "x", lambda seen: seen["status"].get("updatedReplicas") == 3)
    await scene.until("deployments", "x", progressed("NewReplicaSetAvailable"))


async def deployment_rolls_as_far_as_allowed(scene: Scene) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    await scene.create(workload("Deployment", replicas=4, strategy=strategy))
    await scene.run_all(4)
    await scene.until("deployments", "x", progressed("NewReplicaSetAvailable"))
    await scene.patch("deployments", "x", new_image("i:2"))
    # Nobody starts the new pods, so the rollout stands still where it must.
    await scene.pods(3, of_image("i:1"))
    await scene.pods(2, of_image("i:2"))
    await scene.until("deployments", "x", lambda seen: seen["status"].get("updatedReplicas") == 2)


async def deployment_rolls_back(scene: Scene) -> None:
    await deployment_rolls(scene)
    await scene.patch("deployments", "x", new_image("i:1"))
    await scene.run_until(lambda: all_new(scene, "i:1", 3))
    await scene.until("deployments", "x", lambda seen: seen["status"].get("updatedReplicas") == 3)


async def deployment_is_recreated(scene: Scene) -> None:
    await scene.create(workload("Deployment", replicas=2, strategy={"type": "Recreate"}))
    await scene.run_all(2)
    await scene.until("deployments", "x", progressed("NewReplicaSetAvailable"))
    await scene.patch("deployments", "x", new_image("i:2"))
    await scene.run(await scene.pods(2, of_image("i:2")))
    await scene.until("deployments", "x", lambda seen: seen["status"].get("availableReplicas") == 2)
    await scene.pods(2)


async def deployment_is_scaled(scene: Scene) -> None:
    await deployment_comes_up(scene)
    await scene.patch("deployments", "x", {"spec": {"replicas": 5}})
    await scene.run_all(5)
    await scene.until("deployments", "x", lambda seen: seen["status"].get("availableReplicas") == 5)
    await scene.patch("deployments", "x", {"spec": {"replicas": 0}})
    await scene.pods(0)


async def deployment_is_scaled_in_the_midst_of_a_rollout(scene: Scene) -> None:
    await deployment_rolls_as_far_as_allowed(scene)
    await scene.patch("deployments", "x", {"spec": {"replicas": 10}})
    await scene.pods(11)


async def deployment_is_paused(scene: Scene) -> None:
    await deployment_comes_up(scene)
    await scene.patch("deployments", "x", {"spec": {"paused": True}})
    await scene.until("deployments", "x", progressed("DeploymentPaused"))
    await scene.patch("deployments", "x", new_image("i:2"))
    await asyncio.sleep(1)
    await scene.patch("deployments", "x", {"spec": {"paused": False}})
    await scene.run_until(lambda: all_new(scene, "i:2", 3))


async def deployment_forgets(scene: Scene) -> None:
    await scene.create(workload("Deployment", replicas=1, revisionHistoryLimit=1))
    await scene.run_all(1)
    for number in (2, 3, 4):
        await scene.patch("deployments", "x", new_image(f"i:{number}"))
        await scene.run_until(lambda image=f"i:{number}": all_new(scene, image, 1))
        await scene.until("deployments", "x", progressed("NewReplicaSetAvailable"))

    async def two() -> bool | None:
        return len(await scene.all("replicasets")) == 2 or None

    await scene.wait(two, "two ReplicaSets")


async def deployment_is_deleted(scene: Scene, how: str) -> None:
    await deployment_comes_up(scene)
    await scene.delete("deployments", "x", how=how)
    await scene.until("deployments", "x", lambda seen: not seen)
    if how != "Orphan":
        await scene.pods(0)
    else:
        (left,) = await scene.all("replicasets")
        await scene.until(
            "replicasets", left["metadata"]["name"], lambda seen: not seen["metadata"].get("ownerReferences")
        )


async def budgeted_deployment(scene: Scene, allowed: int, spec: Object) -> None:
    await deployment_comes_up(scene)
    budget: Object = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    await scene.create(budget | {"spec": {"selector": {"matchLabels": {"app": "x"}}} | spec})
    await scene.until(
        "poddisruptionbudgets", "b", lambda seen: seen.get("status", {}).get("disruptionsAllowed") == allowed
    )
    await scene.is_now((await scene.pods(3))[:1], "Running", ready=False)
    await scene.until("poddisruptionbudgets", "b", lambda seen: seen["status"]["currentHealthy"] == 2)


DEPLOYMENTS = {
    "ReplicaSet of another size": replica_set_grows_and_shrinks,
    "ReplicaSet takes a pod and lets it go": replica_set_takes_and_lets_go,
    "comes up": deployment_comes_up,
    "waits for its pods": deployment_waits,
    "gets stuck": deployment_gets_stuck,
    "rolls": deployment_rolls,
    "rolls as far as allowed": deployment_rolls_as_far_as_allowed,
    "rolls back": deployment_rolls_back,
    "replaced at once": deployment_is_recreated,
    "of another size": deployment_is_scaled,
    "of another size in the midst of a rollout": deployment_is_scaled_in_the_midst_of_a_rollout,
    "paused": deployment_is_paused,
    "forgets old templates": deployment_forgets,
    "deleted": partial(deployment_is_deleted, how="Background"),
    "deleted after its pods": partial(deployment_is_deleted, how="Foreground"),
    "deleted without its pods": partial(deployment_is_deleted, how="Orphan"),
    "with a budget of the most that may be missing": partial(
        budgeted_deployment, allowed=2, spec={"maxUnavailable": "50%"}
    ),
    "with a budget of the fewest that must work": partial(
        budgeted_deployment, allowed=0, spec={"minAvailable": 3}
    ),
    "with a budget of a share that must work": partial(
        budgeted_deployment, allowed=1, spec={"minAvailable": "40%"}
    ),
}
