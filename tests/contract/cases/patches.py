"""JSON patch, merge patch and strategic merge patch."""

from __future__ import annotations

from typing import Any

from contract.case import case
from contract.normal import faults, pick, verdict
from contract.things import config, deployment, pod
from contract.world import JSON, MERGE_PATCH, World

DEPLOYMENTS = "apps/v1"


async def _config(world: World) -> str:
    await world.have(world.at("configmaps"), config(data={"a": "1", "b": "2"}, color="red"))
    return world.at("configmaps/a")


async def _deployment(world: World) -> str:
    """With two containers, and paused so that no controller writes to it."""
    made = deployment(paused=True)
    made["spec"]["template"]["spec"]["containers"] = [
        {"name": "one", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "two", "image": "i", "args": ["x", "y"], "ports": [{"containerPort": 80}]},
    ]
    await world.have(world.at("deployments", DEPLOYMENTS), made)
    return world.at("deployments/a", DEPLOYMENTS)


@case
async def a_merge_patch_sets_and_removes(world: World) -> object:
    path = await _config(world)
    change = {"data": {"a": None, "c": "3"}, "metadata": {"labels": {"color": None, "size": "big"}}}
    return pick(await world.merge(path, change), "data", "metadata.labels")


@case
async def a_merge_patch_of_nothing_makes_no_new_version(world: World) -> object:
    path = await _config(world)
    before = await world.get(path)
    after = await world.merge(path, {"data": {"a": "1"}})
    return [after.code, before.version == after.version]


@case
async def a_merge_patch_replaces_lists(world: World) -> object:
    path = await _deployment(world)
    change = {"spec": {"template": {"spec": {"containers": [{"name": "new", "image": "j"}]}}}}
    return pick(await world.merge(path, change), "spec.template.spec.containers", "metadata.generation")


@case
async def a_merge_patch_that_names_an_old_version_is_a_conflict(world: World) -> object:
    path = await _config(world)
    old = await world.get(path)
    await world.must(world.merge(path, {"data": {"a": "9"}}))
    return await world.merge(path, {"metadata": {"resourceVersion": old.version}, "data": {"a": "8"}})


@case
async def a_merge_patch_that_names_the_version_of_now_is_done(world: World) -> object:
    path = await _config(world)
    now = await world.get(path)
    change = {"metadata": {"resourceVersion": now.version}, "data": {"a": "8"}}
    return pick(await world.merge(path, change), "data")


@case
async def a_merge_patch_cannot_rename(world: World) -> object:
    path = await _config(world)
    return await world.merge(path, {"metadata": {"name": "other"}})


@case
async def a_merge_patch_cannot_move_to_another_namespace(world: World) -> object:
    path = await _config(world)
    return await world.merge(path, {"metadata": {"namespace": "default"}})


@case
async def a_merge_patch_that_names_another_uid_is_invalid(world: World) -> object:
    path = await _config(world)
    return faults(await world.merge(path, {"metadata": {"uid": "0f6a2f24-0000-4000-8000-000000000000"}}))


@case
async def a_patch_that_is_no_object_is_a_bad_request(world: World) -> object:
    path = await _config(world)
    return [verdict(await world.merge(path, ["a"])), verdict(await world.merge(path, "text"))]


@case
async def a_patch_that_is_no_json_is_a_bad_request(world: World) -> object:
    path = await _config(world)
    return verdict(await world.ask("PATCH", path, b"{", content=MERGE_PATCH))


@case
async def a_patch_of_an_unknown_kind_is_not_supported(world: World) -> object:
    path = await _config(world)
    return [
        await world.ask("PATCH", path, {}, content=JSON),
        await world.ask("PATCH", path, {}, content="application/odd-patch"),
    ]


@case
async def a_json_patch_adds_replaces_and_removes(world: World) -> object:
    path = await _config(world)
    changed = await world.json_patch(
        path,
        {"op": "add", "path": "/data/c", "value": "3"},
        {"op": "replace", "path": "/data/a", "value": "one"},
        {"op": "remove", "path": "/data/b"},
        {"op": "add", "path": "/metadata/labels/example.com~1x", "value": "y"},
    )
    return pick(changed, "data", "metadata.labels")


@case
async def a_json_patch_copies_moves_and_tests(world: World) -> object:
    path = await _config(world)
    changed = await world.json_patch(
        path,
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "copy", "from": "/data/a", "path": "/data/c"},
        {"op": "move", "from": "/data/b", "path": "/data/d"},
    )
    return pick(changed, "data")


@case
async def a_json_patch_whose_test_fails_changes_nothing(world: World) -> object:
    path = await _config(world)
    refused = await world.json_patch(
        path,
        {"op": "replace", "path": "/data/b", "value": "changed"},
        {"op": "test", "path": "/data/a", "value": "other"},
    )
    return [refused, pick(await world.get(path), "data")]


@case
async def a_json_patch_of_what_is_not_there_removes_nothing_and_may_add(world: World) -> object:
    path = await _config(world)
    return [
        await world.json_patch(path, {"op": "remove", "path": "/data/zzz"}),
        await world.json_patch(path, {"op": "replace", "path": "/data/zzz", "value": "x"}),
        await world.json_patch(path, {"op": "add", "path": "/nowhere/deep", "value": "x"}),
    ]


@case
async def a_json_patch_inserts_into_lists_and_appends(world: World) -> object:
    path = await _deployment(world)
    place = "/spec/template/spec/containers/1/args"
    changed = await world.json_patch(
        path,
        {"op": "add", "path": f"{place}/0", "value": "first"},
        {"op": "add", "path": f"{place}/-", "value": "last"},
        {"op": "remove", "path": f"{place}/1"},
    )
    return pick(changed, "spec.template.spec.containers.1.args")


@case
async def a_json_patch_that_is_no_list_is_a_bad_request(world: World) -> object:
    path = await _config(world)
    return verdict(await world.ask("PATCH", path, {"op": "add"}, content="application/json-patch+json"))


@case
async def a_json_patch_with_an_unknown_operation_is_refused(world: World) -> object:
    path = await _config(world)
    return verdict(await world.json_patch(path, {"op": "frobnicate", "path": "/data"}))


@case
async def a_json_patch_to_a_wrong_type_is_refused(world: World) -> object:
    path = await _config(world)
    return verdict(await world.json_patch(path, {"op": "replace", "path": "/data", "value": "text"}))


@case
async def a_strategic_patch_merges_containers_by_name(world: World) -> object:
    path = await _deployment(world)
    change = {"spec": {"template": {"spec": {"containers": [{"name": "two", "image": "j", "args": ["z"]}]}}}}
    return pick(await world.strategic(path, change), "spec.template.spec.containers")


@case
async def a_strategic_patch_adds_and_deletes_elements(world: World) -> object:
    path = await _deployment(world)
    containers: list[Any] = [
        {"$patch": "delete", "name": "one"},
        {"name": "three", "image": "k"},
        {"name": "two", "ports": [{"containerPort": 81}]},
    ]
    change = {"spec": {"template": {"spec": {"containers": containers}}}}
    return pick(await world.strategic(path, change), "spec.template.spec.containers")


@case
async def a_strategic_patch_deletes_inside_an_element(world: World) -> object:
    path = await _deployment(world)
    env = [{"name": "A", "$patch": "delete"}, {"name": "C", "value": "3"}]
    change = {"spec": {"template": {"spec": {"containers": [{"name": "one", "env": env}]}}}}
    return pick(await world.strategic(path, change), "spec.template.spec.containers.0.env")


@case
async def a_strategic_patch_replaces_a_whole_list(world: World) -> object:
    path = await _deployment(world)
    containers = [{"$patch": "replace"}, {"name": "only", "image": "k"}]
    change = {"spec": {"template": {"spec": {"containers": containers}}}}
    return pick(await world.strategic(path, change), "spec.template.spec.containers")


@case
async def a_strategic_patch_orders_elements(world: World) -> object:
    path = await _deployment(world)
    change = {
        "spec": {
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "new"}, {"name": "two"}, {"name": "one"}],
                    "containers": [{"name": "new", "image": "k"}],
                }
            }
        }
    }
    changed = await world.strategic(path, change)
    return [changed.code, [each["name"] for each in changed["spec"]["template"]["spec"]["containers"]]]


@case
async def a_strategic_patch_retains_only_the_keys_it_names(world: World) -> object:
    path = await _deployment(world)
    change = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    return pick(await world.strategic(path, change), "spec.strategy")


@case
async def a_strategic_patch_without_retaining_keeps_what_then_is_invalid(world: World) -> object:
    path = await _deployment(world)
    return await world.strategic(path, {"spec": {"strategy": {"type": "Recreate"}}})


@case
async def a_strategic_patch_deletes_from_a_list_of_plain_values(world: World) -> object:
    made = config()
    made["metadata"]["finalizers"] = ["example.com/a", "example.com/b"]
    await world.have(world.at("configmaps"), made)
    path = world.at("configmaps/a")
    changed = await world.strategic(
        path, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
    )
    added = await world.strategic(path, {"metadata": {"finalizers": ["example.com/c"]}})
    await world.must(world.merge(path, {"metadata": {"finalizers": None}}))
    return [pick(changed, "metadata.finalizers"), pick(added, "metadata.finalizers")]


@case
async def a_strategic_patch_removes_with_null(world: World) -> object:
    path = await _config(world)
    return pick(
        await world.strategic(path, {"data": {"a": None}, "metadata": {"labels": None}}), "data", "metadata"
    )


@case
async def a_strategic_patch_replaces_a_map_on_request(world: World) -> object:
    path = await _config(world)
    return pick(await world.strategic(path, {"data": {"$patch": "replace", "z": "26"}}), "data")


@case
async def a_strategic_patch_without_its_merge_key_is_refused(world: World) -> object:
    path = await _deployment(world)
    change = {"spec": {"template": {"spec": {"containers": [{"image": "j"}]}}}}
    return verdict(await world.strategic(path, change))


@case
async def a_strategic_patch_of_tolerations_replaces_them(world: World) -> object:
    first = {"key": "a", "operator": "Exists"}
    await world.have(world.at("pods"), pod(spec={"tolerations": [first]}))
    wider = [first, {"key": "b", "operator": "Exists"}]
    changed = await world.strategic(world.at("pods/a"), {"spec": {"tolerations": wider}})
    return pick(changed, "spec.tolerations")


@case
async def a_patch_that_breaks_a_rule_is_invalid(world: World) -> object:
    path = await _deployment(world)
    return await world.merge(path, {"spec": {"replicas": -1}})


@case
async def a_field_that_may_not_change_is_said_so(world: World) -> object:
    path = await _deployment(world)
    change = {
        "spec": {
            "selector": {"matchLabels": {"app": "b"}},
            "template": {"metadata": {"labels": {"app": "b"}}},
        }
    }
    return await world.merge(path, change)


@case
async def only_a_changed_spec_makes_a_new_generation(world: World) -> object:
    path = await _deployment(world)
    first = await world.merge(path, {"metadata": {"labels": {"x": "y"}}})
    second = await world.merge(path, {"spec": {"minReadySeconds": 5}})
    return [first["metadata"]["generation"], second["metadata"]["generation"]]
