"""The same manifests under kube-controller-manager and under the sandbox's controllers: both must end alike."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from e2e.controllers_deployment_cases import DEPLOYMENTS, deployment_comes_up
from e2e.controllers_job_cases import JOBS
from e2e.controllers_kit import BothTruths, Case, Scene, both_truths
from e2e.controllers_objects import all_new, has, new_image, template, workload
from testbed.api import Object

pytestmark = pytest.mark.xdist_group("sandbox controllers")


@pytest_asyncio.fixture(scope="module")
async def truths() -> AsyncIterator[BothTruths]:
    async with both_truths() as running:
        yield running


@pytest.mark.parametrize("case", JOBS.values(), ids=JOBS)
async def test_jobs_end_alike(truths: BothTruths, case: Case, unique: Callable[[str], str]) -> None:
    await truths.agree(case, unique("jobs"))


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
    await scene.run_until(lambda: all_new(scene, "i:2", 2))
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
        await scene.run_until(lambda: all_new(scene, "i:2", 2))
        await scene.until("daemonsets", "x", lambda seen: seen["status"].get("updatedNumberScheduled") == 2)


async def daemon_set_updated_with_surge(scene: Scene) -> None:
    async with scene.nodes("a", "b"):
        rolling = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
        await scene.create(workload("DaemonSet", updateStrategy=rolling))
        await scene.run_all(2)
        await scene.until("daemonsets", "x", lambda seen: seen["status"].get("numberAvailable") == 2)
        await scene.patch("daemonsets", "x", new_image("i:2"))
        await scene.run_until(lambda: all_new(scene, "i:2", 2))


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
