"""How objects end: grace, finalizers, conditions, owners, eviction and budgets, namespaces."""

from __future__ import annotations

import asyncio
import time

from contract.case import case
from contract.normal import events, faults, names, pick, verdict
from contract.things import budget, config, deployment, pod, running, secret, thing
from contract.world import PATIENCE, Answer, Json, Object, World

HOLD = "example.com/hold"


def _options(**more: Json) -> Object:
    return {"apiVersion": "v1", "kind": "DeleteOptions", **more}


def _placed(world: World) -> Object:
    """On a node of the case's own that does not exist: pods of missing nodes are cleared away after a while."""
    return {"nodeName": world.named("node")}


def _held(made: Object) -> Object:
    made["metadata"]["finalizers"] = [HOLD]
    return made


async def _release(world: World, path: str) -> Answer:
    return await world.must(world.merge(path, {"metadata": {"finalizers": None}}))


# -- grace ------------------------------------------------------------------------------------------------------------


@case
async def a_pod_without_a_node_is_gone_at_once(world: World) -> object:
    await world.have(world.at("pods"), pod())
    gone = await world.delete(world.at("pods/a"))
    return [
        pick(gone, "kind", "metadata.name", "metadata.deletionGracePeriodSeconds"),
        (await world.get(world.at("pods/a"))).code,
    ]


@case
async def a_pod_on_a_node_is_given_its_grace(world: World) -> object:
    await world.have(world.at("pods"), pod(spec=_placed(world)))
    path = world.at("pods/a")
    told = await world.delete(path)
    seen = await world.get(path)
    await world.must(world.delete(path, gracePeriodSeconds="0"))
    return [
        pick(told, "kind", "metadata.deletionGracePeriodSeconds", "metadata.deletionTimestamp"),
        pick(seen, "metadata.deletionGracePeriodSeconds", "metadata.generation"),
        (await world.get(path)).code,
    ]


@case
async def the_grace_of_a_request_beats_that_of_the_pod(world: World) -> object:
    await world.have(world.at("pods"), pod(spec=_placed(world)))
    path = world.at("pods/a")
    first = await world.delete(path, _options(gracePeriodSeconds=12))
    shorter = await world.delete(path, _options(gracePeriodSeconds=5))
    longer = await world.delete(path, _options(gracePeriodSeconds=500))
    await world.must(world.delete(path, _options(gracePeriodSeconds=0)))
    field = "metadata.deletionGracePeriodSeconds"
    return [pick(first, field), pick(shorter, field), pick(longer, field), (await world.get(path)).code]


@case
async def a_finished_pod_is_gone_at_once(world: World) -> object:
    await world.have(world.at("pods"), pod(spec=_placed(world)))
    path = world.at("pods/a")
    await world.must(world.merge(f"{path}/status", {"status": {"phase": "Succeeded"}}))
    await world.must(world.delete(path))
    return (await world.get(path)).code


@case
async def a_negative_grace_is_one_second(world: World) -> object:
    await world.have(world.at("pods"), pod(spec=_placed(world)))
    path = world.at("pods/a")
    told = await world.delete(path, _options(gracePeriodSeconds=-5))
    await world.delete(path, gracePeriodSeconds="0")
    return pick(told, "metadata.deletionGracePeriodSeconds")


@case
async def a_pod_that_is_ending_tells_so_once_and_then_is_gone(world: World) -> object:
    made = await world.have(world.at("pods"), pod(spec=_placed(world)))
    path = world.at("pods/a")
    await world.must(world.delete(path))
    await world.must(world.delete(path, gracePeriodSeconds="0"))
    async with world.watching(world.at("pods"), resourceVersion=made.version) as stream:
        seen = await stream.until(lambda event: event["type"] == "DELETED")
    return events(seen, lambda thing: thing["metadata"].get("deletionGracePeriodSeconds"))


# -- finalizers and conditions ----------------------------------------------------------------------------------------


@case
async def a_held_object_stays_until_it_is_released(world: World) -> object:
    await world.have(world.at("configmaps"), _held(config()))
    path = world.at("configmaps/a")
    told = await world.delete(path)
    again = await world.delete(path)
    seen = await world.get(path)
    released = await _release(world, path)
    return [
        pick(told, "kind", "metadata", "data"),
        pick(again, "kind", "metadata.deletionTimestamp"),
        pick(seen, "metadata"),
        pick(released, "kind", "metadata"),
        (await world.get(path)).code,
    ]


@case
async def an_object_being_deleted_takes_no_new_finalizers(world: World) -> object:
    await world.have(world.at("configmaps"), _held(config()))
    path = world.at("configmaps/a")
    await world.must(world.delete(path))
    more = await world.merge(path, {"metadata": {"finalizers": [HOLD, "example.com/more"]}})
    data = await world.merge(path, {"data": {"still": "changes"}})
    await _release(world, path)
    return [faults(more), pick(data, "data")]


@case
async def an_object_being_deleted_keeps_its_name_taken(world: World) -> object:
    await world.have(world.at("configmaps"), _held(config()))
    path = world.at("configmaps/a")
    await world.must(world.delete(path))
    answer = await world.post(world.at("configmaps"), config())
    await _release(world, path)
    return answer


@case
async def a_held_pod_on_a_node_waits_for_both(world: World) -> object:
    await world.have(world.at("pods"), _held(pod(spec=_placed(world))))
    path = world.at("pods/a")
    await world.must(world.delete(path))
    await world.must(world.delete(path, gracePeriodSeconds="0"))
    waiting = await world.get(path)
    await _release(world, path)
    return [
        pick(waiting, "metadata.deletionGracePeriodSeconds", "metadata.finalizers"),
        (await world.get(path)).code,
    ]


@case
async def a_deletion_on_condition_of_another_uid_is_a_conflict(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    other = "0f6a2f24-0000-4000-8000-000000000000"
    answer = await world.delete(world.at("configmaps/a"), _options(preconditions={"uid": other}))
    return [
        answer.code,
        answer["reason"],
        answer["message"].partition(":")[0],
        (await world.get(world.at("configmaps/a"))).code,
    ]


@case
async def a_deletion_on_condition_of_an_old_version_is_a_conflict(world: World) -> object:
    old = await world.have(world.at("configmaps"), config())
    await world.must(world.merge(world.at("configmaps/a"), {"data": {"x": "y"}}))
    wanted = _options(preconditions={"resourceVersion": old.version})
    answer = await world.delete(world.at("configmaps/a"), wanted)
    return [answer.code, answer["reason"], answer["message"].partition(":")[0]]


@case
async def a_deletion_on_true_conditions_is_done(world: World) -> object:
    now = await world.have(world.at("configmaps"), config())
    wanted = _options(preconditions={"resourceVersion": now.version, "uid": now.uid})
    return (await world.delete(world.at("configmaps/a"), wanted)).code


@case
async def a_deletion_with_nonsense_is_a_bad_request(world: World) -> object:
    await world.have(world.at("configmaps"), config())
    path = world.at("configmaps/a")
    return [
        await world.delete(path, propagationPolicy="Odd"),
        await world.delete(path, _options(propagationPolicy="Orphan", orphanDependents=True)),
        verdict(await world.delete(path, gracePeriodSeconds="soon")),
        verdict(await world.ask("DELETE", path, b"{")),
        verdict(await world.delete(path, thing("ConfigMap", "a"))),
        (await world.get(path)).code,
    ]


# -- owners -----------------------------------------------------------------------------------------------------------


async def _family(world: World, *, blocking: bool = True) -> None:
    owner = await world.have(world.at("configmaps"), config("owner"))
    child = config("child")
    child["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": owner.uid,
            "blockOwnerDeletion": blocking,
        }
    ]
    await world.have(world.at("configmaps"), child)


@case
async def what_an_owner_leaves_is_deleted_after_it(world: World) -> object:
    await _family(world)
    gone = await world.delete(world.at("configmaps/owner"))
    await world.until_gone(world.at("configmaps/child"))
    return gone


@case
async def what_is_orphaned_stays_without_its_owner(world: World) -> object:
    await _family(world)
    gone = await world.delete(world.at("configmaps/owner"), propagationPolicy="Orphan")
    await world.until_gone(world.at("configmaps/owner"))
    return [
        pick(gone, "kind", "metadata.finalizers"),
        pick(await world.get(world.at("configmaps/child")), "metadata.ownerReferences"),
    ]


@case
async def an_owner_in_the_foreground_goes_last(world: World) -> object:
    await _family(world)
    gone = await world.delete(world.at("configmaps/owner"), _options(propagationPolicy="Foreground"))
    await world.until_gone(world.at("configmaps/owner"))
    return [
        pick(gone, "kind", "metadata.finalizers", "metadata.deletionGracePeriodSeconds"),
        (await world.get(world.at("configmaps/child"))).code,
    ]


@case
async def an_owner_that_never_was_takes_its_child_along(world: World) -> object:
    child = config("child")
    child["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "ghost",
            "uid": "0f6a2f24-0000-4000-8000-000000000000",
        }
    ]
    await world.have(world.at("configmaps"), child)
    await world.until_gone(world.at("configmaps/child"))
    return "gone"


@case
async def a_deployment_brings_and_takes_its_replica_set_and_pods(world: World) -> object:
    await world.have(world.at("deployments", "apps/v1"), deployment(replicas=2))
    pods = await world.until(world.at("pods"), lambda answer: len(answer["items"]) == 2)
    owners = [each["metadata"]["ownerReferences"][0]["kind"] for each in pods["items"]]
    await world.must(world.delete(world.at("deployments/a", "apps/v1")))
    await world.until(world.at("replicasets", "apps/v1"), lambda answer: answer["items"] == [])
    await world.until(world.at("pods"), lambda answer: answer["items"] == [])
    return owners


@case
async def an_orphaned_deployment_leaves_its_replica_set(world: World) -> object:
    await world.have(world.at("deployments", "apps/v1"), deployment(replicas=0))
    await world.until(world.at("replicasets", "apps/v1"), lambda answer: len(answer["items"]) == 1)
    await world.must(world.delete(world.at("deployments/a", "apps/v1"), propagationPolicy="Orphan"))
    await world.until_gone(world.at("deployments/a", "apps/v1"))
    left = await world.get(world.at("replicasets", "apps/v1"))
    return [each["metadata"].get("ownerReferences") for each in left["items"]]


# -- eviction ---------------------------------------------------------------------------------------------------------


def _eviction(name: str = "a", **more: Json) -> Object:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


async def _guarded(world: World, **spec: Json) -> str:
    """A ready pod and a budget that has been counted."""
    await world.have(world.at("pods"), pod("a", _placed(world), app="a"))
    await world.must(world.merge(world.at("pods/a/status"), running()))
    await world.have(world.at("poddisruptionbudgets", "policy/v1"), budget(**spec))
    await world.until(
        world.at("poddisruptionbudgets/a", "policy/v1"),
        lambda answer: (
            answer.body.get("status", {}).get("expectedPods", 0) == 1
            and answer["status"]["currentHealthy"] == 1
        ),
    )
    return world.at("pods/a/eviction")


@case
async def an_evicted_pod_is_deleted(world: World) -> object:
    await world.have(world.at("pods"), pod(spec=_placed(world)))
    answer = await world.post(world.at("pods/a/eviction"), _eviction())
    seen = await world.get(world.at("pods/a"))
    await world.must(world.delete(world.at("pods/a"), gracePeriodSeconds="0"))
    return [answer, pick(seen, "metadata.deletionGracePeriodSeconds", "status.conditions")]


@case
async def an_eviction_against_its_budget_is_put_off(world: World) -> object:
    path = await _guarded(world, minAvailable=1)
    return [await world.post(path, _eviction()), (await world.get(world.at("pods/a"))).code]


@case
async def an_eviction_within_its_budget_is_done_and_counted(world: World) -> object:
    path = await _guarded(world, minAvailable=0)
    return await world.post(path, _eviction())


@case
async def a_pending_pod_is_evicted_whatever_its_budget_says(world: World) -> object:
    await world.have(world.at("pods"), pod(app="a"))
    await world.have(world.at("poddisruptionbudgets", "policy/v1"), budget(minAvailable=1))
    await world.until(
        world.at("poddisruptionbudgets/a", "policy/v1"),
        lambda answer: answer.body.get("status", {}).get("expectedPods", 0) == 1,
    )
    return (await world.post(world.at("pods/a/eviction"), _eviction())).code


@case
async def a_pod_under_two_budgets_cannot_be_evicted(world: World) -> object:
    path = await _guarded(world, minAvailable=0)
    await world.have(world.at("poddisruptionbudgets", "policy/v1"), budget("b", minAvailable=0))
    answer = await world.post(path, _eviction())
    last = time.monotonic() + PATIENCE
    while answer.code in {201, 429} and time.monotonic() < last:
        await asyncio.sleep(0.05)
        answer = await world.post(path, _eviction())
    return [answer.code, answer.body.get("message")]


@case
async def an_eviction_of_nothing_is_not_found(world: World) -> object:
    return await world.post(world.at("pods/a/eviction"), _eviction())


@case
async def a_dry_eviction_leaves_the_pod(world: World) -> object:
    await world.have(world.at("pods"), pod(spec=_placed(world)))
    answer = await world.post(world.at("pods/a/eviction"), _eviction(deleteOptions={"dryRun": ["All"]}))
    return [answer.code, pick(await world.get(world.at("pods/a")), "metadata.deletionTimestamp")]


@case
async def an_eviction_may_choose_its_grace(world: World) -> object:
    await world.have(world.at("pods"), pod(spec=_placed(world)))
    answer = await world.post(world.at("pods/a/eviction"), _eviction(deleteOptions={"gracePeriodSeconds": 7}))
    return [answer.code, pick(await world.get(world.at("pods/a")), "metadata.deletionGracePeriodSeconds")]


@case
async def an_eviction_of_another_name_is_a_bad_request(world: World) -> object:
    await world.have(world.at("pods"), pod())
    return await world.post(world.at("pods/a/eviction"), _eviction("b"))


@case
async def an_eviction_on_condition_of_another_uid_is_a_conflict(world: World) -> object:
    await world.have(world.at("pods"), pod())
    other = "0f6a2f24-0000-4000-8000-000000000000"
    answer = await world.post(
        world.at("pods/a/eviction"), _eviction(deleteOptions={"preconditions": {"uid": other}})
    )
    return verdict(answer)


# -- namespaces -------------------------------------------------------------------------------------------------------


@case
async def a_deleted_namespace_takes_everything_along(world: World) -> object:
    path = world.top(f"namespaces/{world.namespace}")
    await world.have(world.at("configmaps"), config())
    await world.have(world.at("pods"), pod())
    told = await world.delete(path)
    await world.until_gone(path)
    return [
        pick(told, "kind", "metadata.name", "spec", "status.phase"),
        names(await world.get(world.at("configmaps"))),
        names(await world.get(world.at("pods"))),
    ]


@case
async def an_ending_namespace_takes_nothing_new(world: World) -> object:
    path = world.top(f"namespaces/{world.namespace}")
    await world.have(world.at("configmaps"), _held(config("held")))
    await world.must(world.delete(path))
    seen = await world.until(path, lambda answer: answer["status"]["phase"] == "Terminating")
    refused = await world.post(world.at("secrets"), secret())
    await _release(world, world.at("configmaps/held"))
    await world.until_gone(path)
    return [pick(seen, "status.phase", "spec"), refused]


@case
async def a_namespace_is_not_deleted_twice(world: World) -> object:
    path = world.top(f"namespaces/{world.namespace}")
    await world.have(world.at("configmaps"), _held(config("held")))
    await world.must(world.delete(path))
    again = await world.delete(path)
    await _release(world, world.at("configmaps/held"))
    await world.until_gone(path)
    return [again.code, again.body.get("reason"), again["kind"]]


@case
async def the_first_namespaces_cannot_be_deleted(world: World) -> object:
    return [
        await world.delete(world.top("namespaces/default")),
        await world.delete(world.top("namespaces/kube-system")),
    ]


@case
async def namespaces_cannot_be_deleted_together(world: World) -> object:
    return await world.delete(world.top("namespaces"), labelSelector="no=such")


@case
async def a_namespace_has_a_plain_name(world: World) -> object:
    return await world.post(world.top("namespaces"), thing("Namespace", f"{world.tag}.dotted"))


@case
async def a_new_namespace_gets_an_account(world: World) -> object:
    name = world.named("fresh")
    await world.have(world.top("namespaces"), thing("Namespace", name))
    path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    return pick(await world.until(path, lambda answer: answer.code == 200), "kind", "metadata")
