"""The parts of an object that are written apart: status, scale, ephemeral containers."""

from __future__ import annotations

from contract.case import case
from contract.normal import faults, pick, verdict
from contract.things import deployment, node, pod, running
from contract.world import Object, World

APPS = "apps/v1"


async def _pod(world: World) -> str:
    await world.have(world.at("pods"), pod())
    return world.at("pods/a")


async def _deployment(world: World) -> str:
    """Paused, and seen by its controller, which then leaves it alone."""
    await world.have(world.at("deployments", APPS), deployment(paused=True))
    path = world.at("deployments/a", APPS)
    await world.until(path, lambda answer: "observedGeneration" in answer["status"])
    return path


@case
async def a_status_in_a_new_object_is_dropped(world: World) -> object:
    return pick(await world.post(world.at("pods"), pod() | running()), "status")


@case
async def a_status_in_an_update_is_dropped(world: World) -> object:
    path = await _pod(world)
    return pick(await world.merge(path, running()), "status.phase")


@case
async def a_status_is_written_by_its_own_address(world: World) -> object:
    path = await _pod(world)
    changed = await world.merge(f"{path}/status", running())
    return pick(changed, "status", "metadata.generation")


@case
async def a_spec_written_to_the_status_is_dropped(world: World) -> object:
    path = await _deployment(world)
    body = (await world.get(path)).body
    body["spec"]["replicas"] = 7
    body["status"]["collisionCount"] = 3
    body["metadata"]["labels"] = {"x": "y"}
    changed = await world.put(f"{path}/status", body)
    return pick(changed, "spec.replicas", "status.collisionCount", "metadata.labels", "metadata.generation")


@case
async def a_pods_status_update_may_carry_annotations(world: World) -> object:
    path = await _pod(world)
    change = {"metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}, **running()}
    return pick(
        await world.merge(f"{path}/status", change), "metadata.annotations", "metadata.labels", "status.phase"
    )


@case
async def a_nodes_status_update_may_carry_labels(world: World) -> object:
    made = node(world)
    await world.have(world.top("nodes"), made)
    path = world.top(f"nodes/{made['metadata']['name']}")
    change = {"metadata": {"labels": {"c": "d"}}, "status": {"capacity": {"example.com/card": "8"}}}
    return pick(
        await world.strategic(f"{path}/status", change),
        "metadata.labels",
        "status.capacity",
        "status.allocatable",
    )


@case
async def a_status_is_read_by_its_own_address(world: World) -> object:
    path = await _pod(world)
    return pick(await world.get(f"{path}/status"), "kind", "metadata.name", "spec.schedulerName", "status")


@case
async def conditions_are_merged_by_type(world: World) -> object:
    path = await _pod(world)
    for kind, status in (("Ready", "False"), ("example.com/x", "True"), ("Ready", "True")):
        condition = {"type": kind, "status": status}
        await world.must(world.strategic(f"{path}/status", {"status": {"conditions": [condition]}}))
    return pick(await world.get(path), "status.conditions")


@case
async def a_status_of_an_object_that_is_not_there_is_not_found(world: World) -> object:
    return await world.merge(world.at("pods/a/status"), running())


@case
async def a_kind_without_a_status_has_no_address_for_it(world: World) -> object:
    return await world.get(world.at("configmaps/a/status"))


@case
async def a_scale_is_read(world: World) -> object:
    path = await _deployment(world)
    return await world.get(f"{path}/scale")


@case
async def a_scale_is_replaced(world: World) -> object:
    path = await _deployment(world)
    scale = (await world.get(f"{path}/scale")).body
    scale["spec"]["replicas"] = 0
    same = await world.put(f"{path}/scale", scale)
    scale = same.body
    scale["spec"]["replicas"] = 4
    changed = await world.put(f"{path}/scale", scale, dryRun="All")
    return [pick(same, "kind", "spec"), pick(changed, "spec")]


@case
async def a_scale_is_patched_and_moves_the_generation(world: World) -> object:
    path = await _deployment(world)
    changed = await world.merge(f"{path}/scale", {"spec": {"replicas": 2}})
    return [pick(changed, "spec"), pick(await world.get(path), "spec.replicas", "metadata.generation")]


@case
async def a_scale_below_nothing_is_invalid(world: World) -> object:
    path = await _deployment(world)
    return faults(await world.merge(f"{path}/scale", {"spec": {"replicas": -1}}))


@case
async def a_scale_of_an_old_version_is_a_conflict(world: World) -> object:
    path = await _deployment(world)
    scale = (await world.get(f"{path}/scale")).body
    await world.must(world.merge(path, {"spec": {"minReadySeconds": 1}}))
    return await world.put(f"{path}/scale", scale)


@case
async def what_has_no_scale_is_not_found(world: World) -> object:
    await _pod(world)
    return await world.get(world.at("pods/a/scale"))


@case
async def an_ephemeral_container_is_added(world: World) -> object:
    path = await _pod(world)
    change: Object = {"spec": {"ephemeralContainers": [{"name": "look", "image": "i"}]}}
    changed = await world.strategic(f"{path}/ephemeralcontainers", change)
    return [
        pick(changed, "spec.ephemeralContainers", "metadata.generation"),
        verdict(
            await world.strategic(path, {"spec": {"ephemeralContainers": [{"name": "b", "image": "i"}]}})
        ),
    ]


@case
async def a_deployments_status_is_empty_at_first(world: World) -> object:
    wanted = deployment(replicas=0) | {"status": {"replicas": 5}}
    return pick(await world.post(world.at("deployments", APPS), wanted, dryRun="All"), "status")


@case
async def a_namespaced_request_for_nodes_is_not_found(world: World) -> object:
    return [await world.get(world.at("nodes")), await world.get(world.top("pods/a"))]
