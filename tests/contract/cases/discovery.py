"""What a client finds out before it asks for anything: versions, groups, resources, schemas, health."""

from __future__ import annotations

from typing import Any

from contract.case import case
from contract.normal import field, pick
from contract.world import Answer, World
from tangram.sandbox.apiserver.builtin import BUILT_IN

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def _served(group: str, version: str) -> set[str]:
    return {kind.plural for kind in BUILT_IN if kind.group == group and kind.version == version}


def _resources(answer: Answer, group: str, version: str) -> dict[str, Any]:
    """The entries of the kinds both servers have, without the hash only one of them knows how to make."""
    wanted = _served(group, version)
    return {
        each["name"]: {key: value for key, value in each.items() if key != "storageVersionHash"}
        for each in answer["resources"]
        if each["name"].partition("/")[0] in wanted and _subresource_served(group, each["name"])
    }


def _subresource_served(group: str, name: str) -> bool:
    plural, _, part = name.partition("/")
    kind = next(each for each in BUILT_IN if (each.group, each.plural) == (group, plural))
    return not part or kind.subresource(part) is not None


async def _group(world: World, group: str, version: str = "v1") -> object:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    answer = await world.get(path)
    return pick(answer, "kind", "apiVersion", "groupVersion") | {
        "resources": _resources(answer, group, version)
    }


@case
async def the_version_is_that_of_kubernetes(world: World) -> object:
    return pick(await world.get("/version"), "major", "minor", "gitVersion")


@case
async def healthz_says_ok(world: World) -> object:
    return await world.get("/healthz")


@case
async def readyz_says_ok(world: World) -> object:
    return await world.get("/readyz")


@case
async def livez_says_ok(world: World) -> object:
    return await world.get("/livez")


@case
async def the_core_versions_are_listed(world: World) -> object:
    return pick(await world.get("/api"), "kind", "versions")


@case
async def the_groups_of_the_kinds_served_are_listed_in_order(world: World) -> object:
    answer = await world.get("/apis")
    wanted = {kind.group for kind in BUILT_IN}
    return {
        "kind": answer["kind"],
        "apiVersion": answer["apiVersion"],
        "groups": [
            {"name": each["name"], "preferred": each["preferredVersion"]}
            for each in answer["groups"]
            if each["name"] in wanted
        ],
    }


@case
async def one_group_is_described(world: World) -> object:
    return await world.get("/apis/batch")


@case
async def the_core_resources_are_described(world: World) -> object:
    return await _group(world, "")


@case
async def the_resources_of_apps_are_described(world: World) -> object:
    return await _group(world, "apps")


@case
async def the_resources_of_batch_are_described(world: World) -> object:
    return await _group(world, "batch")


@case
async def the_resources_of_policy_are_described(world: World) -> object:
    return await _group(world, "policy")


@case
async def the_resources_of_coordination_are_described(world: World) -> object:
    return await _group(world, "coordination.k8s.io")


@case
async def the_resources_of_events_are_described(world: World) -> object:
    return await _group(world, "events.k8s.io")


@case
async def the_resources_of_scheduling_are_described(world: World) -> object:
    return await _group(world, "scheduling.k8s.io")


@case
async def the_resources_of_access_control_are_described(world: World) -> object:
    return await _group(world, "rbac.authorization.k8s.io")


@case
async def the_resources_of_admission_are_described(world: World) -> object:
    return await _group(world, "admissionregistration.k8s.io")


@case
async def the_resources_of_definitions_are_described(world: World) -> object:
    return await _group(world, "apiextensions.k8s.io")


@case
async def the_reviews_of_identity_are_described(world: World) -> object:
    return await _group(world, "authentication.k8s.io")


@case
async def the_reviews_of_rights_are_described(world: World) -> object:
    return await _group(world, "authorization.k8s.io")


@case
async def a_group_that_is_not_served_is_not_found(world: World) -> object:
    return await world.get("/apis/nothing.example.com/v1")


async def _aggregated(world: World, path: str) -> object:
    answer = await world.ask("GET", path, accept=f"{AGGREGATED},application/json")
    wanted = {(kind.group, kind.plural): kind for kind in BUILT_IN}
    groups: dict[str, Any] = {}
    for group in answer["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            for resource in version["resources"]:
                kind = wanted.get((name, resource["resource"]))
                if kind is None or kind.version != version["version"]:
                    continue
                parts = [
                    part for part in resource.get("subresources", []) if kind.subresource(part["subresource"])
                ]
                groups.setdefault(name, {})[resource["resource"]] = resource | {"subresources": parts}
    return {"code": answer.code, "content": answer.content, "kind": answer["kind"], "groups": groups}


@case
async def the_core_is_discovered_in_one_answer(world: World) -> object:
    return await _aggregated(world, "/api")


@case
async def every_group_is_discovered_in_one_answer(world: World) -> object:
    return await _aggregated(world, "/apis")


@case
async def the_schemas_of_version_three_are_listed_by_group(world: World) -> object:
    answer = await world.get("/openapi/v3")
    wanted = {f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}" for kind in BUILT_IN}
    return {
        "code": answer.code,
        "paths": sorted(path for path in answer["paths"] if path in wanted),
        "hashed": all("?hash=" in each["serverRelativeURL"] for each in answer["paths"].values()),
    }


@case
async def the_schema_of_a_group_tells_its_kinds_and_merge_keys(world: World) -> object:
    answer = await world.get("/openapi/v3/apis/apps/v1")
    schemas = answer["components"]["schemas"]
    return {
        "code": answer.code,
        "kind": field(schemas["io.k8s.api.apps.v1.Deployment"], "x-kubernetes-group-version-kind"),
        "fields": sorted(schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]),
        "required": schemas["io.k8s.api.apps.v1.DeploymentSpec"]["required"],
        "containers": {
            key: value
            for key, value in schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"].items()
            if key.startswith("x-")
        },
        "verbs": sorted(answer["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]),
    }


@case
async def the_schemas_of_version_two_come_in_one_document(world: World) -> object:
    answer = await world.get("/openapi/v2")
    shape = answer["definitions"]["io.k8s.api.core.v1.Pod"]
    return {
        "code": answer.code,
        "swagger": answer["swagger"],
        "kind": shape["x-kubernetes-group-version-kind"],
        "fields": sorted(shape["properties"]),
    }


@case
async def the_schemas_of_version_two_come_as_protobuf_too(world: World) -> object:
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    answer = await world.ask("GET", "/openapi/v2", accept=accept)
    return {"code": answer.code, "content": answer.content}
