"""Binding pods to nodes, by which everything our scheduler decides becomes true."""

from __future__ import annotations

from contract.case import case
from contract.normal import pick, verdict
from contract.things import pod, running
from contract.world import Json, Object, World


def _binding(world: World, name: str = "a", node: str | None = None, **metadata: Json) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": world.named("node") if node is None else node},
    }


async def _pod(world: World, made: Object | None = None) -> str:
    await world.have(world.at("pods"), made or pod())
    return world.at("pods/a")


@case
async def a_bound_pod_names_its_node(world: World) -> object:
    path = await _pod(world)
    return [
        await world.post(f"{path}/binding", _binding(world)),
        pick(await world.get(path), "spec.nodeName", "status.conditions", "status.phase"),
    ]


@case
async def the_annotations_of_a_binding_are_merged_into_the_pod(world: World) -> object:
    made = pod()
    made["metadata"]["annotations"] = {"kept": "yes", "changed": "before"}
    path = await _pod(world, made)
    await world.must(
        world.post(f"{path}/binding", _binding(world, annotations={"changed": "after", "new": "yes"}))
    )
    return pick(await world.get(path), "metadata.annotations")


@case
async def the_labels_of_a_binding_are_merged_into_the_pod(world: World) -> object:
    path = await _pod(world, pod(color="red"))
    await world.must(world.post(f"{path}/binding", _binding(world, labels={"color": "blue", "size": "1"})))
    return pick(await world.get(path), "metadata.labels")


@case
async def the_annotations_of_a_binding_are_not_validated(world: World) -> object:
    path = await _pod(world)
    answer = await world.post(
        f"{path}/binding", _binding(world, annotations={"not a valid key!": "x"}, labels={"l": "no good"})
    )
    return [
        answer.code,
        pick(await world.get(path), "metadata.annotations", "metadata.labels", "spec.nodeName"),
        verdict(await world.merge(path, {"metadata": {"annotations": {"later": "x"}}})),
    ]


@case
async def a_pod_is_bound_once(world: World) -> object:
    path = await _pod(world)
    await world.must(world.post(f"{path}/binding", _binding(world)))
    return [
        await world.post(f"{path}/binding", _binding(world)),
        await world.post(f"{path}/binding", _binding(world, node=world.named("other"))),
    ]


@case
async def a_pod_that_is_not_there_cannot_be_bound(world: World) -> object:
    return await world.post(world.at("pods/a/binding"), _binding(world))


@case
async def a_binding_for_another_uid_is_a_conflict(world: World) -> object:
    path = await _pod(world)
    other = "0f6a2f24-0000-4000-8000-000000000000"
    return [
        await world.post(f"{path}/binding", _binding(world, uid=other)),
        pick(await world.get(path), "spec.nodeName"),
    ]


@case
async def a_binding_for_its_own_uid_and_version_is_done(world: World) -> object:
    path = await _pod(world)
    now = await world.get(path)
    return await world.post(f"{path}/binding", _binding(world, uid=now.uid, resourceVersion=now.version))


@case
async def a_binding_for_an_old_version_is_a_conflict(world: World) -> object:
    path = await _pod(world)
    old = await world.get(path)
    await world.must(world.merge(path, {"metadata": {"labels": {"x": "y"}}}))
    return await world.post(f"{path}/binding", _binding(world, resourceVersion=old.version))


@case
async def a_gated_pod_cannot_be_bound(world: World) -> object:
    path = await _pod(world, pod(spec={"schedulingGates": [{"name": "example.com/wait"}]}))
    return await world.post(f"{path}/binding", _binding(world))


@case
async def a_pod_being_deleted_cannot_be_bound(world: World) -> object:
    made = pod()
    made["metadata"]["finalizers"] = ["example.com/hold"]
    path = await _pod(world, made)
    await world.must(world.delete(path))
    answer = await world.post(f"{path}/binding", _binding(world))
    await world.must(world.merge(path, {"metadata": {"finalizers": None}}))
    return answer


@case
async def a_binding_needs_a_node(world: World) -> object:
    path = await _pod(world)
    odd = _binding(world)
    odd["target"]["kind"] = "Rack"
    return [
        await world.post(f"{path}/binding", _binding(world, node="")),
        await world.post(f"{path}/binding", odd),
        pick(await world.get(path), "spec.nodeName"),
    ]


@case
async def a_binding_of_another_name_is_a_bad_request(world: World) -> object:
    path = await _pod(world)
    return await world.post(f"{path}/binding", _binding(world, name="b"))


@case
async def a_dry_binding_binds_nothing(world: World) -> object:
    path = await _pod(world)
    answer = await world.post(f"{path}/binding", _binding(world), dryRun="All")
    return [answer.code, pick(await world.get(path), "spec.nodeName")]


@case
async def a_pod_is_bound_by_the_collection_of_bindings_too(world: World) -> object:
    path = await _pod(world)
    return [
        await world.post(world.at("bindings"), _binding(world, annotations={"a": "b"})),
        pick(await world.get(path), "spec.nodeName", "metadata.annotations"),
    ]


@case
async def a_pod_made_with_a_node_needs_no_binding(world: World) -> object:
    path = await _pod(world, pod(spec={"nodeName": world.named("node")}))
    return [
        pick(await world.get(path), "spec.nodeName", "status"),
        verdict(await world.post(f"{path}/binding", _binding(world))),
    ]


@case
async def a_node_is_nominated_by_the_status(world: World) -> object:
    path = await _pod(world)
    changed = await world.merge(f"{path}/status", {"status": {"nominatedNodeName": world.named("node")}})
    await world.must(world.post(f"{path}/binding", _binding(world, node=world.named("other"))))
    return [
        pick(changed, "status.nominatedNodeName"),
        pick(await world.get(path), "status.nominatedNodeName", "spec.nodeName"),
    ]


@case
async def a_finished_pod_can_still_be_bound(world: World) -> object:
    path = await _pod(world)
    done = running()
    done["status"]["phase"] = "Succeeded"
    await world.must(world.merge(f"{path}/status", done))
    return verdict(await world.post(f"{path}/binding", _binding(world)))
