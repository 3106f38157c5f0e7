"""All controllers together on the embedded API server. How each kind ends is compared with the real ones in e2e."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from builders.controlled import (
    Controlled,
    controlled,
    controllers_on,
    eventually,
    job,
    node,
    template,
    uncontrolled,
    workload,
)
from tangram.kube.objects import Object

_number = itertools.count(1)


@pytest_asyncio.fixture(scope="module")
async def shared() -> AsyncIterator[Controlled]:
    async with controlled() as cluster:
        yield cluster


@pytest_asyncio.fixture
async def cluster(shared: Controlled) -> Controlled:
    """A namespace of its own for each test."""
    return await shared.elsewhere(f"test-{next(_number)}")


def has(kind: str, thing: Object) -> bool:
    conditions = thing.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


async def test_a_deployment_rolls_to_a_new_template_and_back(cluster: Controlled) -> None:
    await cluster.create("deployments", workload("Deployment", replicas=2))
    await cluster.run(await cluster.pods(2))
    await cluster.until("deployments", "x", lambda seen: seen["status"].get("availableReplicas") == 2)
    for image, revision in (("i:2", "2"), ("i:1", "3")):
        await cluster.change("deployments", "x", {"spec": {"template": template(image)}})

        async def all_new(image: str = image) -> list[Object] | None:
            pods = [pod for pod in await cluster.all("pods") if "deletionTimestamp" not in pod["metadata"]]
            await cluster.run([pod for pod in pods if pod["status"]["phase"] == "Pending"])
            of_image = [pod for pod in pods if pod["spec"]["containers"][0]["image"] == image]
            return pods if len(pods) == len(of_image) == 2 else None

        await eventually(all_new)
        seen = await cluster.until(
            "deployments", "x", lambda seen: seen["status"].get("updatedReplicas") == 2
        )
        assert seen["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == revision
    assert len(await cluster.all("replicasets")) == 2


async def test_a_job_counts_every_pod_once_though_its_controllers_come_and_go() -> None:
    async with uncontrolled() as cluster:
        finished = 0
        while finished < 6:
            async with controllers_on(cluster.api, cluster.clock):
                if not finished:
                    await cluster.until("serviceaccounts", "default", bool)
                    await cluster.create("jobs", job(completions=6, parallelism=2))
                pods = await cluster.pods(2, lambda pod: pod["status"]["phase"] == "Pending")
            # Nobody looks while they end.
            await cluster.is_now(pods, "Succeeded")
            finished += 2
        async with controllers_on(cluster.api, cluster.clock):
            seen = await cluster.until("jobs", "x", lambda seen: has("Complete", seen))
        assert (seen["status"]["succeeded"], seen["status"]["uncountedTerminatedPods"]) == (6, {})
        assert len(await cluster.pods(6)) == 6
        assert not any(pod["metadata"].get("finalizers") for pod in await cluster.all("pods"))


async def test_a_job_that_asks_for_what_is_not_carried_out_is_told_so_and_gets_no_pods(
    cluster: Controlled,
) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    await cluster.create("jobs", job(podFailurePolicy={"rules": [rule]}))

    async def told() -> list[tuple[str, str]] | None:
        return await cluster.events("x") or None

    ((reason, message),) = await eventually(told)
    assert reason == "UnsupportedField"
    assert message.startswith("spec.podFailurePolicy is not carried out")
    assert await cluster.all("pods") == []


async def test_a_cron_job_starts_a_job_for_the_moment_that_has_passed(cluster: Controlled) -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}, "concurrencyPolicy": "Forbid"}
    body: Object = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}, "spec": spec}
    await cluster.create("cronjobs", body)
    cluster.clock.ahead += dt.timedelta(minutes=2)
    try:
        await cluster.change("cronjobs", "x", {"metadata": {"labels": {"looked": "at"}}})
        seen = await cluster.until("cronjobs", "x", lambda seen: bool(seen.get("status", {}).get("active")))
        (made,) = await cluster.all("jobs")
        assert made["metadata"]["name"] == seen["status"]["active"][0]["name"]
        assert made["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
        assert ("SuccessfulCreate", f"Created job {made['metadata']['name']}") in await eventually(
            lambda: _some_events(cluster)
        )
    finally:
        cluster.clock.ahead = dt.timedelta()


async def _some_events(cluster: Controlled) -> list[tuple[str, str]] | None:
    return await cluster.events("x") or None


@pytest.mark.parametrize("how", ["Background", "Foreground", "Orphan"])
async def test_a_deleted_deployment_takes_its_pods_with_it_unless_told_otherwise(
    cluster: Controlled, how: str
) -> None:
    await cluster.create("deployments", workload("Deployment", replicas=2))
    await cluster.pods(2)
    await cluster.delete("deployments", "x", how)
    await cluster.until("deployments", "x", lambda seen: not seen)
    if how != "Orphan":
        await cluster.pods(0)
        assert await cluster.all("replicasets") == []
        return
    (left,) = await cluster.all("replicasets")
    name = left["metadata"]["name"]
    await cluster.until("replicasets", name, lambda seen: not seen["metadata"].get("ownerReferences"))
    await cluster.pods(2)


async def test_objects_of_a_kind_that_came_later_are_collected_too(cluster: Controlled) -> None:
    plural = f"widgets{next(_number)}"
    schema = {"openAPIV3Schema": {"type": "object"}}
    names = {
        "plural": plural,
        "singular": plural[:-1],
        "kind": plural.capitalize(),
        "listKind": f"{plural.capitalize()}List",
    }
    definition: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    await cluster.create("customresourcedefinitions", definition)
    await cluster.until(
        "customresourcedefinitions", f"{plural}.example.com", lambda seen: has("Established", seen)
    )
    path = f"/apis/example.com/v1/namespaces/{cluster.namespace}/{plural}"
    kind = {"apiVersion": "example.com/v1", "kind": names["kind"]}
    owner = await cluster.api.create(path, {**kind, "metadata": {"name": "owner"}})
    reference = {**kind, "name": "owner", "uid": owner["metadata"]["uid"]}
    await cluster.create("configmaps", {"metadata": {"name": "own", "ownerReferences": [reference]}})
    await cluster.api.create(path, {**kind, "metadata": {"name": "own", "ownerReferences": [reference]}})
    await cluster.api.delete(f"{path}/owner")
    await cluster.until("configmaps", "own", lambda seen: not seen)

    async def gone() -> bool | None:
        return not await cluster.api.list_all(path) or None

    await eventually(gone)


async def test_a_namespace_goes_with_all_it_holds_and_says_what_it_waits_for(cluster: Controlled) -> None:
    await cluster.create("deployments", workload("Deployment", replicas=2))
    held = {"name": "held", "finalizers": ["example.com/hold"]}
    await cluster.create("configmaps", {"metadata": held})
    await cluster.pods(2)
    await cluster.delete("namespaces", cluster.namespace)
    seen = await cluster.until(
        "namespaces", cluster.namespace, lambda seen: has("NamespaceFinalizersRemaining", seen)
    )
    messages = {each["type"]: each["message"] for each in seen["status"]["conditions"]}
    assert (
        messages["NamespaceContentRemaining"]
        == "Some resources are remaining: configmaps. has 1 resource instances"
    )
    await cluster.change("configmaps", "held", {"metadata": {"finalizers": None}})
    await cluster.until("namespaces", cluster.namespace, lambda seen: not seen)


async def test_what_every_namespace_has_comes_back(cluster: Controlled) -> None:
    await cluster.delete("serviceaccounts", "default")
    await cluster.change("configmaps", "kube-root-ca.crt", {"data": {"ca.crt": "forged"}})
    await cluster.until("serviceaccounts", "default", bool)
    await cluster.until("configmaps", "kube-root-ca.crt", lambda seen: seen["data"]["ca.crt"] != "forged")


async def test_a_budget_and_a_quota_follow_the_pods(cluster: Controlled) -> None:
    budget: Object = {
        "metadata": {"name": "b"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    }
    await cluster.create("poddisruptionbudgets", budget)
    await cluster.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "9"}}})
    # A quota that nobody has counted yet refuses everything.
    await cluster.until("resourcequotas", "q", lambda seen: "used" in seen.get("status", {}))
    await cluster.create("deployments", workload("Deployment", replicas=2))
    await cluster.run(await cluster.pods(2))
    await cluster.until("poddisruptionbudgets", "b", lambda seen: seen["status"]["disruptionsAllowed"] == 1)
    await cluster.until("resourcequotas", "q", lambda seen: seen["status"]["used"] == {"pods": "2"})
    first, _ = await cluster.pods(2)
    await cluster.is_now([first], "Running", ready=False)
    await cluster.until("poddisruptionbudgets", "b", lambda seen: seen["status"]["disruptionsAllowed"] == 0)


async def test_a_daemon_follows_nodes_as_they_come_and_are_tainted() -> None:
    async with controlled() as cluster:
        await cluster.create("nodes", node("a"))
        await cluster.until("serviceaccounts", "default", bool)
        await cluster.create("daemonsets", workload("DaemonSet"))
        await cluster.pods(1)
        await cluster.create("nodes", node("b"))
        await cluster.pods(2)
        taint = {"key": "k", "effect": "NoExecute"}
        await cluster.change("nodes", "b", {"spec": {"taints": [taint]}})
        await cluster.pods(1)
        seen = await cluster.until(
            "daemonsets", "x", lambda seen: seen["status"]["desiredNumberScheduled"] == 1
        )
        assert seen["status"]["currentNumberScheduled"] == 1


async def test_a_silent_node_is_marked_and_its_pods_go_when_their_patience_ends() -> None:
    async with controlled() as cluster:
        await cluster.create("nodes", node("a"))
        await cluster.until("serviceaccounts", "default", bool)
        patient = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
        pod: Object = {
            "metadata": {"name": "p"},
            "spec": template(nodeName="a", tolerations=[patient | {"tolerationSeconds": 1}])["spec"],
        }
        await cluster.create("pods", pod)
        stays: Object = {
            "metadata": {"name": "stays"},
            "spec": template(nodeName="a", tolerations=[patient])["spec"],
        }
        await cluster.create("pods", stays)
        cluster.clock.ahead += dt.timedelta(seconds=61)
        await cluster.create("nodes", node("b"))
        seen = await cluster.until("nodes", "a", lambda seen: bool(seen["spec"].get("taints")))
        assert seen["status"]["conditions"][0]["reason"] == "NodeStatusUnknown"

        def unreachable(seen: Object) -> bool:
            effects = {each["effect"] for each in seen["spec"]["taints"] if each["key"] == patient["key"]}
            return effects == {"NoSchedule", "NoExecute"}

        await cluster.until("nodes", "a", unreachable)
        await cluster.until("pods", "p", lambda seen: "deletionTimestamp" in seen.get("metadata", {}))
        leaving = await cluster.get("pods", "p")
        assert {
            each["reason"] for each in leaving["status"]["conditions"] if each["type"] == "DisruptionTarget"
        } == {"DeletionByTaintManager"}
        assert "deletionTimestamp" not in (await cluster.get("pods", "stays"))["metadata"]


async def test_pods_and_the_lease_of_a_node_that_is_gone_go_after_a_while() -> None:
    async with controlled() as cluster:
        made = await cluster.create("nodes", node("a"))
        await cluster.until("serviceaccounts", "default", bool)
        await cluster.create("pods", {"metadata": {"name": "p"}, "spec": template(nodeName="a")["spec"]})
        owner = {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": made["metadata"]["uid"]}
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        await cluster.api.create(leases, {"metadata": {"name": "a", "ownerReferences": [owner]}})
        await cluster.delete("nodes", "a")

        async def no_lease() -> bool | None:
            return not await cluster.api.list_all(leases) or None

        await eventually(no_lease)
        assert await cluster.get("pods", "p")
        cluster.clock.ahead += dt.timedelta(seconds=41)
        await cluster.create("pods", {"metadata": {"name": "q"}, "spec": template(nodeName="a")["spec"]})
        await cluster.pods(0)
