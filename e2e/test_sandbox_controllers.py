"""The same manifests under kube-controller-manager and under the sandbox's controllers: both must end alike."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest
import pytest_asyncio

from e2e.controllers_kit import BothTruths, Case, Scene, both_truths, is_going
from testbed.api import Object

pytestmark = pytest.mark.xdist_group("sandbox controllers")


@pytest_asyncio.fixture(scope="module")
async def truths() -> AsyncIterator[BothTruths]:
    async with both_truths() as running:
        yield running


def template(**spec: object) -> Object:
    made: Object = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
    }
    made["spec"] |= spec
    return made


def workload(kind: str, name: str = "x", **spec: object) -> Object:
    base: Object = {"selector": {"matchLabels": {"app": "x"}}, "template": template()}
    if kind == "StatefulSet":
        base["serviceName"] = "svc"
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": base | spec}


def job(name: str = "x", **spec: object) -> Object:
    body = {"template": {"spec": template(restartPolicy="Never")["spec"]}} | spec
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": body}


def has(kind: str) -> Callable[[Object], bool]:
    return lambda seen: any(
        each["type"] == kind and each["status"] == "True"
        for each in seen.get("status", {}).get("conditions", [])
    )


def progressed(reason: str) -> Callable[[Object], bool]:
    return lambda seen: any(
        each["type"] == "Progressing" and each["reason"] == reason
        for each in seen.get("status", {}).get("conditions", [])
    )


def waits(pod: Object) -> bool:
    return pod["status"]["phase"] == "Pending"


def of_image(image: str) -> Callable[[Object], bool]:
    return lambda pod: pod["spec"]["containers"][0]["image"] == image


def new_image(image: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}


# ---- Jobs


async def job_of_three(scene: Scene) -> None:
    await scene.create(job(completions=3, parallelism=2))
    for _ in range(2):
        first, *_rest = await scene.pods(2, waits)
        await scene.is_now([first], "Succeeded")
    await scene.is_now(await scene.pods(1, waits), "Succeeded")
    await scene.until("jobs", "x", has("Complete"))


async def job_fails(scene: Scene) -> None:
    await scene.create(job(backoffLimit=0))
    await scene.is_now(await scene.pods(1), "Failed")
    await scene.until("jobs", "x", has("Failed"))


async def job_fails_while_others_run(scene: Scene) -> None:
    await scene.create(job(completions=3, parallelism=3, backoffLimit=0))
    first, *rest = await scene.pods(3)
    await scene.run(rest)
    await scene.is_now([first], "Failed")
    await scene.until("jobs", "x", has("Failed"))


async def job_past_its_deadline(scene: Scene) -> None:
    await scene.create(job(activeDeadlineSeconds=1))
    await scene.run_all(1)
    await scene.until("jobs", "x", has("Failed"))


async def job_with_indexes(scene: Scene) -> None:
    await scene.create(job(completions=4, parallelism=2, completionMode="Indexed"))
    for _ in range(4):
        await scene.is_now((await scene.pods_of_any(waits))[:1], "Succeeded")
        await asyncio.sleep(0.3)
    await scene.until("jobs", "x", has("Complete"))


async def job_of_a_work_queue(scene: Scene) -> None:
    await scene.create(job(parallelism=2))
    first, second = await scene.pods(2)
    await scene.is_now([first], "Succeeded")
    await scene.until("jobs", "x", lambda seen: seen["status"].get("succeeded") == 1)
    await scene.is_now([second], "Succeeded")
    await scene.until("jobs", "x", has("Complete"))


async def job_suspended_and_resumed(scene: Scene) -> None:
    await scene.create(job(completions=2, parallelism=2))
    await scene.run_all(2)
    await scene.until("jobs", "x", lambda seen: seen["status"].get("ready") == 2)
    await scene.patch("jobs", "x", {"spec": {"suspend": True}})
    await scene.until("jobs", "x", has("Suspended"))
    await scene.pods(0)
    await scene.patch("jobs", "x", {"spec": {"suspend": False}})
    await scene.is_now(await scene.pods(2), "Succeeded")
    await scene.until("jobs", "x", has("Complete"))


async def job_made_smaller(scene: Scene) -> None:
    await scene.create(job(completions=5, parallelism=4))
    await scene.run_all(4)
    await scene.until("jobs", "x", lambda seen: seen["status"].get("ready") == 4)
    await scene.patch("jobs", "x", {"spec": {"parallelism": 1}})
    await scene.pods(1)
    await scene.until("jobs", "x", lambda seen: seen["status"].get("active") == 1)


async def job_that_does_not_stay(scene: Scene) -> None:
    await scene.create(job(ttlSecondsAfterFinished=1))
    await scene.is_now(await scene.pods(1), "Succeeded")
    await scene.until("jobs", "x", lambda seen: not seen)
    await scene.pods(0)


async def job_deleted_while_it_runs(scene: Scene) -> None:
    await scene.create(job(completions=2, parallelism=2))
    await scene.run_all(2)
    await scene.delete("jobs", "x")
    await scene.until("jobs", "x", lambda seen: not seen)
    await scene.pods(0)


async def job_that_leaves_its_pods(scene: Scene) -> None:
    await scene.create(job(completions=2, parallelism=2))
    await scene.run_all(2)
    await scene.until("jobs", "x", lambda seen: seen["status"].get("ready") == 2)
    await scene.delete("jobs", "x", how="Orphan")
    await scene.until("jobs", "x", lambda seen: not seen)
    await scene.pods(2, lambda pod: not pod["metadata"].get("ownerReferences"))
    await scene.pods(2, lambda pod: not pod["metadata"].get("finalizers"))


async def cron_job_at_every_minute(scene: Scene) -> None:
    body = job()["spec"]
    spec = {
        "schedule": "* * * * *",
        "jobTemplate": {"spec": body},
        "startingDeadlineSeconds": 100,
        "suspend": True,
    }
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}, "spec": spec}
    await scene.create(cron)


JOBS = {
    "three in turns": job_of_three,
    "one that fails": job_fails,
    "one that fails while others run": job_fails_while_others_run,
    "past its deadline": job_past_its_deadline,
    "with indexes": job_with_indexes,
    "of a work queue": job_of_a_work_queue,
    "suspended and resumed": job_suspended_and_resumed,
    "made smaller": job_made_smaller,
    "deleted after its time": job_that_does_not_stay,
    "deleted while it runs": job_deleted_while_it_runs,
    "deleted without its pods": job_that_leaves_its_pods,
    "a suspended CronJob": cron_job_at_every_minute,
}


@pytest.mark.parametrize("case", JOBS.values(), ids=JOBS)
async def test_jobs_end_alike(truths: BothTruths, case: Case, unique: Callable[[str], str]) -> None:
    await truths.agree(case, unique("jobs"))


# ---- ReplicaSets and Deployments


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
    await scene.run_until(lambda: _all_new(scene, "i:2", 3))
    await scene.until("deployments", "x", lambda seen: seen["status"].get("updatedReplicas") == 3)
    await scene.until("deployments", "x", progressed("NewReplicaSetAvailable"))


async def _all_new(scene: Scene, image: str, count: int) -> bool:
    pods = [pod for pod in await scene.all("pods") if not is_going(pod)]
    return len(pods) == count and all(map(of_image(image), pods)) and all(not waits(pod) for pod in pods)


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
    await scene.run_until(lambda: _all_new(scene, "i:1", 3))
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
    await scene.run_until(lambda: _all_new(scene, "i:2", 3))


async def deployment_forgets(scene: Scene) -> None:
    await scene.create(workload("Deployment", replicas=1, revisionHistoryLimit=1))
    await scene.run_all(1)
    for number in (2, 3, 4):
        await scene.patch("deployments", "x", new_image(f"i:{number}"))
        await scene.run_until(lambda image=f"i:{number}": _all_new(scene, image, 1))
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


@pytest.mark.parametrize("case", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
async def test_deployments_end_alike(truths: BothTruths, case: Case, unique: Callable[[str], str]) -> None:
    await truths.agree(case, unique("deployments"))


# ---- StatefulSets


async def stateful_set_in_order(scene: Scene) -> None:
    await scene.create(workload("StatefulSet", replicas=3))
    for count in (1, 2, 3):
        await scene.run_all(count)
    await scene.until("statefulsets", "x", lambda seen: seen["status"].get("readyReplicas") == 3)
    await scene.patch("statefulsets", "x", {"spec": {"replicas": 1}})
    await scene.pods(1)


async def stateful_set_at_once_with_claims(scene: Scene) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    await scene.create(
        workload("StatefulSet", replicas=3, podManagementPolicy="Parallel", volumeClaimTemplates=[claim])
    )
    await scene.run_all(3)
    await scene.until("statefulsets", "x", lambda seen: seen["status"].get("readyReplicas") == 3)


async def stateful_set_updated(scene: Scene) -> None:
    await scene.create(workload("StatefulSet", replicas=2))
    for count in (1, 2):
        await scene.run_all(count)
    await scene.until("statefulsets", "x", lambda seen: seen["status"].get("readyReplicas") == 2)
    await scene.patch("statefulsets", "x", new_image("i:2"))
    await scene.run_until(lambda: _all_new(scene, "i:2", 2))
    await scene.until("statefulsets", "x", lambda seen: seen["status"].get("updatedReplicas") == 2)


STATEFUL_SETS = {
    "in order": stateful_set_in_order,
    "at once, with claims": stateful_set_at_once_with_claims,
    "updated": stateful_set_updated,
}


@pytest.mark.parametrize("case", STATEFUL_SETS.values(), ids=STATEFUL_SETS)
async def test_stateful_sets_end_alike(truths: BothTruths, case: Case, unique: Callable[[str], str]) -> None:
    await truths.agree(case, unique("stateful"))


# ---- DaemonSets, whose nodes belong to one case at a time


async def daemon_set_on_some_nodes(scene: Scene) -> None:
    async with scene.nodes("a", "b", "c", tainted=("c",)):
        await scene.create(workload("DaemonSet"))
        await scene.run_all(2)
        await scene.until("daemonsets", "x", lambda seen: seen["status"].get("numberAvailable") == 2)


async def daemon_set_updated(scene: Scene) -> None:
    async with scene.nodes("a", "b"):
        await scene.create(workload("DaemonSet"))
        await scene.run_all(2)
        await scene.until("daemonsets", "x", lambda seen: seen["status"].get("numberAvailable") == 2)
        await scene.patch("daemonsets", "x", new_image("i:2"))
        await scene.run_until(lambda: _all_new(scene, "i:2", 2))
        await scene.until("daemonsets", "x", lambda seen: seen["status"].get("updatedNumberScheduled") == 2)


async def daemon_set_updated_with_surge(scene: Scene) -> None:
    async with scene.nodes("a", "b"):
        rolling = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        await scene.create(workload("DaemonSet", updateStrategy=rolling))
        await scene.run_all(2)
        await scene.until("daemonsets", "x", lambda seen: seen["status"].get("numberAvailable") == 2)
        await scene.patch("daemonsets", "x", new_image("i:2"))
        await scene.run_until(lambda: _all_new(scene, "i:2", 2))


DAEMON_SETS = {
    "on the nodes that fit": daemon_set_on_some_nodes,
    "updated": daemon_set_updated,
    "updated with surge": daemon_set_updated_with_surge,
}


@pytest.mark.parametrize("case", DAEMON_SETS.values(), ids=DAEMON_SETS)
async def test_daemon_sets_end_alike(truths: BothTruths, case: Case, unique: Callable[[str], str]) -> None:
    await truths.agree(case, unique("daemons"))


# ---- what else keeps a namespace in order


async def quota_is_counted(scene: Scene) -> None:
    hard = {
        "pods": "10",
        "requests.cpu": "4",
        "limits.memory": "4Gi",
        "requests.example.com/gpu": "8",
        "count/deployments.apps": "3",
        "configmaps": "5",
    }
    quota: Object = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": hard},
    }
    await scene.create(quota)
    await scene.until("resourcequotas", "q", lambda seen: "used" in seen.get("status", {}))
    amounts = {"cpu": "500m", "memory": "256Mi", "example.com/gpu": "1"}
    asked = {"name": "c", "image": "i:1", "resources": {"requests": amounts, "limits": amounts}}
    await scene.create(workload("Deployment", replicas=3, template=template(containers=[asked])))
    await scene.pods(3)
    await scene.until("resourcequotas", "q", lambda seen: seen["status"]["used"]["pods"] == "3")
    await scene.until(
        "resourcequotas", "q", lambda seen: seen["status"]["used"]["count/deployments.apps"] == "1"
    )
    await scene.is_now((await scene.pods(3))[:1], "Succeeded")
    await scene.until("resourcequotas", "q", lambda seen: seen["status"]["used"]["pods"] == "3")


async def owners_that_never_were(scene: Scene) -> None:
    nobody = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "nobody",
        "uid": "00000000-0000-4000-8000-000000000000",
    }
    await scene.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "ownerReferences": [nobody]}}
    )
    await scene.until("configmaps", "own", lambda seen: not seen)


async def one_of_two_owners_goes(scene: Scene) -> None:
    owners: list[Object] = []
    for name in ("one", "two"):
        await scene.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
        uid = (await scene.get("configmaps", name))["metadata"]["uid"]
        owners.append({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
    await scene.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "ownerReferences": owners}}
    )
    await asyncio.sleep(0.5)
    await scene.delete("configmaps", "one", how="Foreground")
    await scene.until("configmaps", "own", lambda seen: len(seen["metadata"].get("ownerReferences", [])) == 1)
    await scene.until("configmaps", "one", lambda seen: not seen)


OTHERS = {
    "a quota": quota_is_counted,
    "an owner that never was": owners_that_never_were,
    "one of two owners gone": one_of_two_owners_goes,
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
async def test_what_else_is_kept_in_order_ends_alike(
    truths: BothTruths, case: Case, unique: Callable[[str], str]
) -> None:
    await truths.agree(case, unique("others"))


async def test_a_namespace_with_pods_and_finalizers_ends_alike(
    truths: BothTruths, unique: Callable[[str], str]
) -> None:
    name = unique("ending")

    async def fill_and_delete(scene: Scene) -> None:
        held = {"name": "held", "finalizers": ["example.com/hold"]}
        await scene.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": held})
        await deployment_comes_up(scene)
        await scene.cluster.api.delete(f"/api/v1/namespaces/{name}")
        await scene.pods(0)

        async def told() -> Object | None:
            seen = await scene.cluster.api.get(f"/api/v1/namespaces/{name}")
            return seen if has("NamespaceFinalizersRemaining")(seen) else None

        seen = await scene.wait(told, "conditions of the namespace")
        conditions[scene.cluster.options.controllers] = [
            (each["type"], each["status"], each["reason"], each["message"])
            for each in seen["status"]["conditions"]
        ]
        await scene.patch("configmaps", "held", {"metadata": {"finalizers": None}})

        async def gone() -> bool | None:
            return not await scene.cluster.api.exists(f"/api/v1/namespaces/{name}") or None

        await scene.wait(gone, "the end of the namespace")

    conditions: dict[bool, list[tuple[str, ...]]] = {}
    await truths.agree(fill_and_delete, name)
    assert sorted(conditions[True]) == sorted(conditions[False])
