"""Kinds that people define: how a definition is checked and served, and how its objects are."""

from __future__ import annotations

from contract.case import case
from contract.definitions import DEFINITIONS, VERSION, defined, established, widgets
from contract.normal import events, faults, field, names, owners, pick, rows, verdict
from contract.things import definition, widget
from contract.world import METADATA, TABLE, Answer, Object, World


def _path(world: World, plural: str = "widgets") -> str:
    return world.top(f"{DEFINITIONS}/{plural}.{world.group}", VERSION)


def _schema(made: Object) -> Object:
    return made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@case
async def a_definition_is_completed_and_established(world: World) -> object:
    made = await world.post(world.top(DEFINITIONS, VERSION), definition(world))
    done = await world.until(_path(world), established)
    return [
        pick(made, "spec.conversion", "spec.names", "metadata.generation", "spec.versions.0.schema"),
        sorted([each["type"], each["status"], each["reason"]] for each in done["status"]["conditions"]),
        pick(done, "status.acceptedNames", "status.storedVersions"),
    ]


@case
async def a_defined_kind_is_discovered(world: World) -> object:
    made = definition(world, subresources={"status": {}})
    made["spec"]["names"] |= {"shortNames": ["wg"], "categories": ["all"]}
    await defined(world, made)

    answer = await world.until(f"/apis/{world.group}/v1", lambda answer: answer.code == 200)
    group = await world.until(f"/apis/{world.group}", lambda answer: answer.code == 200)
    return [
        pick(answer, "groupVersion"),
        [
            {key: value for key, value in each.items() if key != "storageVersionHash"}
            for each in answer["resources"]
        ],
        group,
    ]


@case
async def a_defined_kind_has_a_schema_to_read(world: World) -> object:
    await defined(world)
    path = f"apis/{world.group}/v1"
    await world.until("/openapi/v3", lambda answer: path in answer["paths"])
    answer = await world.get(f"/openapi/v3/{path}")
    schemas = answer["components"]["schemas"]
    name = next(name for name in schemas if name.endswith(".Widget"))
    return [
        name.endswith(f"{world.tag}.v1.Widget"),
        schemas[name]["x-kubernetes-group-version-kind"],
        field(schemas[name], "properties.spec"),
        sorted(schemas[name]["properties"]),
    ]


@case
async def a_defined_object_lives_like_others(world: World) -> object:
    path = await defined(world)
    made = await world.post(path, widget(world))
    listed = await world.get(path)
    changed = await world.merge(f"{path}/a", {"spec": {"size": 2}})
    return [
        made,
        owners(made),
        pick(listed, "kind", "apiVersion"),
        names(listed),
        pick(changed, "spec", "metadata.generation"),
        await world.delete(f"{path}/a"),
    ]


@case
async def a_defined_object_gets_its_defaults(world: World) -> object:
    path = await defined(world)
    return pick(await world.post(path, widget(world, spec={"size": 1})), "spec")


@case
async def a_defined_object_loses_what_is_not_in_its_schema(world: World) -> object:
    path = await defined(world)
    odd = widget(world, spec={"size": 1, "odd": 1}, odd={"deep": True})
    warned = await world.post(path, odd)
    return [
        pick(warned, "spec"),
        "odd" in warned.body,
        warned.warnings,
        await world.post(path, odd, fieldValidation="Strict"),
    ]


@case
async def a_definition_may_keep_unknown_fields(world: World) -> object:
    made = definition(world)
    _schema(made)["properties"]["spec"]["x-kubernetes-preserve-unknown-fields"] = True
    path = await defined(world, made)
    return pick(await world.post(path, widget(world, spec={"size": 1, "odd": {"deep": [1, 2]}})), "spec")


@case
async def a_defined_object_is_checked_by_its_schema(world: World) -> object:
    path = await defined(world)
    broken: dict[str, Object] = {
        "missing": {},
        "too large": {"size": 11},
        "too small": {"size": -1},
        "not one of": {"size": 1, "color": "green"},
        "too many": {"size": 1, "parts": ["a", "b", "c", "d"]},
        "wrong pattern": {"size": 1, "note": "ABC"},
        "too long": {"size": 1, "note": "abcdefgh"},
        "wrong type": {"size": "one"},
        "wrong item": {"size": 1, "parts": [1]},
        "several": {"size": 99, "color": "green", "note": "TOO LONG"},
    }
    return {why: faults(await world.post(path, widget(world, spec=spec))) for why, spec in broken.items()}


@case
async def a_defined_object_without_a_status_part_keeps_its_status(world: World) -> object:
    path = await defined(world)
    made = await world.post(path, widget(world, status={"state": "good"}))
    return [pick(made, "status"), (await world.get(f"{path}/a/status")).code]


@case
async def a_defined_status_is_written_apart(world: World) -> object:
    path = await defined(world, definition(world, subresources={"status": {}}))
    made = await world.post(path, widget(world, status={"state": "dropped"}))
    status = await world.merge(f"{path}/a/status", {"status": {"state": "good"}, "spec": {"size": 9}})
    spec = await world.merge(f"{path}/a", {"status": {"state": "bad"}, "spec": {"size": 3}})
    fields = ("spec.size", "status", "metadata.generation")
    return [pick(made, *fields), pick(status, *fields), pick(spec, *fields)]


@case
async def a_defined_scale_is_read_and_written(world: World) -> object:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    path = await defined(world, definition(world, subresources={"status": {}, "scale": scale}))
    await world.have(path, widget(world))
    read = await world.get(f"{path}/a/scale")
    changed = await world.merge(f"{path}/a/scale", {"spec": {"replicas": 4}})
    return [read, pick(changed, "spec", "status"), pick(await world.get(f"{path}/a"), "spec.replicas")]


@case
async def a_defined_kind_prints_its_columns(world: World) -> object:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {
            "name": "Color",
            "type": "string",
            "jsonPath": ".spec.color",
            "priority": 1,
            "description": "its color",
        },
        {"name": "Born", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    path = await defined(world, definition(world, additionalPrinterColumns=columns))
    await world.have(path, widget(world))
    answer = await world.ask("GET", path, accept=TABLE)
    shown = rows(answer)
    for row in shown:
        row["Born"] = "AGE"
    names_apart = [
        {key: value for key, value in each.items() if key != "description"}
        for each in answer["columnDefinitions"]
    ]
    return [names_apart, shown]


@case
async def a_defined_kind_without_columns_prints_its_age(world: World) -> object:
    path = await defined(world)
    await world.have(path, widget(world))
    answer = await world.ask("GET", path, accept=TABLE)
    return [[each["name"] for each in answer["columnDefinitions"]], rows(answer)]


@case
async def a_defined_object_is_told_by_its_metadata(world: World) -> object:
    path = await defined(world)
    await world.have(path, widget(world))
    return await world.ask("GET", f"{path}/a", accept=METADATA)


@case
async def a_defined_object_is_watched(world: World) -> object:
    path = await defined(world)
    made = await world.have(path, widget(world))
    await world.must(world.merge(f"{path}/a", {"spec": {"size": 2}}))
    await world.must(world.delete(f"{path}/a"))
    async with world.watching(path, resourceVersion=made.version) as stream:
        return events(await stream.take(2), lambda thing: thing["spec"]["size"])


@case
async def a_defined_object_is_applied(world: World) -> object:
    path = await defined(world)
    first = await world.apply(f"{path}/a", widget(world, spec={"size": 1, "parts": ["a"]}))
    second = await world.apply(f"{path}/a", widget(world, spec={"size": 2}))
    conflict = await world.apply(f"{path}/a", widget(world, spec={"size": 3}), manager="bob")
    return [owners(first), pick(second, "spec"), owners(second), conflict]


@case
async def a_defined_object_takes_no_strategic_patch(world: World) -> object:
    path = await defined(world)
    await world.have(path, widget(world))
    return await world.strategic(f"{path}/a", {"spec": {"size": 2}})


@case
async def a_defined_object_is_replaced_only_with_a_version(world: World) -> object:
    path = await defined(world)
    made = await world.have(path, widget(world))
    body = made.body
    body["spec"]["size"] = 5
    done = await world.put(f"{path}/a", body)
    return [
        await world.put(f"{path}/a", widget(world)),
        pick(done, "spec"),
        verdict(await world.put(f"{path}/a", body)),
    ]


@case
async def a_defined_kind_may_have_no_namespace(world: World) -> object:
    path = await defined(world, definition(world, scope="Cluster"))
    made = await world.post(path, widget(world))
    return [pick(made, "metadata"), (await world.get(widgets(world))).code]


@case
async def a_schema_may_be_changed(world: World) -> object:
    path = await defined(world)
    await world.have(path, widget(world, spec={"size": 1, "color": "red"}))
    patch = {
        "op": "replace",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color/enum",
        "value": ["green"],
    }
    changed = await world.json_patch(_path(world), patch)

    async def tried() -> Answer:
        return await world.post(path, widget(world, "b", spec={"size": 1, "color": "green"}), dryRun="All")

    answer = await tried()
    for _ in range(500):
        if answer.code == 201:
            break
        answer = await tried()
    unrelated = await world.merge(f"{path}/a", {"spec": {"size": 2}})
    worse = await world.merge(f"{path}/a", {"spec": {"color": "blue"}})
    return [pick(changed, "metadata.generation"), answer.code, pick(unrelated, "spec"), verdict(worse)]


@case
async def a_deleted_definition_takes_its_objects_along(world: World) -> object:
    path = await defined(world)
    await world.have(path, widget(world))
    told = await world.delete(_path(world))
    await world.until_gone(_path(world))
    gone = await world.until(path, lambda answer: answer.code == 404)
    return [pick(told, "kind", "metadata.finalizers"), gone]


@case
async def an_unknown_kind_of_a_known_group_is_not_found(world: World) -> object:
    await defined(world)
    return [
        await world.get(world.at("gadgets", f"{world.group}/v1")),
        await world.get(world.at("widgets", f"{world.group}/v2")),
        await world.get(world.at("widgets", f"none.{world.group}/v1")),
    ]


@case
async def a_definition_is_named_after_its_kind_and_group(world: World) -> object:
    made = definition(world)
    made["metadata"]["name"] = f"other.{world.group}"
    return faults(await world.post(world.top(DEFINITIONS, VERSION), made))


@case
async def a_definition_needs_a_schema(world: World) -> object:
    made = definition(world)
    del made["spec"]["versions"][0]["schema"]
    return faults(await world.post(world.top(DEFINITIONS, VERSION), made))


@case
async def a_definition_stores_exactly_one_version(world: World) -> object:
    made = definition(world)
    made["spec"]["versions"][0]["storage"] = False
    answer = await world.post(world.top(DEFINITIONS, VERSION), made)
    two = definition(world)
    two["spec"]["versions"].append({**two["spec"]["versions"][0], "name": "v2"})
    other = await world.post(world.top(DEFINITIONS, VERSION), two)
    return [
        [each["field"] for each in answer["details"]["causes"]],
        [each["field"] for each in other["details"]["causes"]],
    ]


@case
async def a_schema_says_what_everything_is(world: World) -> object:
    made = definition(world)
    _schema(made)["properties"]["spec"]["properties"] |= {"untyped": {}, "list": {"type": "array"}}
    return faults(await world.post(world.top(DEFINITIONS, VERSION), made))


@case
async def a_schema_with_an_impossible_default_is_refused(world: World) -> object:
    made = definition(world)
    _schema(made)["properties"]["spec"]["properties"]["size"]["default"] = "text"
    return faults(await world.post(world.top(DEFINITIONS, VERSION), made))


@case
async def a_definition_of_a_group_of_kubernetes_needs_approval(world: World) -> object:
    made = definition(world)
    made["spec"]["group"] = f"{world.tag}.k8s.io"
    made["metadata"]["name"] = f"widgets.{world.tag}.k8s.io"
    return faults(await world.post(world.top(DEFINITIONS, VERSION), made))


@case
async def the_scope_of_a_definition_may_not_change(world: World) -> object:
    await defined(world)
    return faults(await world.merge(_path(world), {"spec": {"scope": "Cluster"}}))


@case
async def a_version_that_is_not_served_is_not_found(world: World) -> object:
    made = definition(world)
    made["spec"]["versions"].append(
        {**made["spec"]["versions"][0], "name": "v2", "storage": False, "served": False}
    )
    path = await defined(world, made)
    return [(await world.get(path)).code, (await world.get(path.replace("/v1/", "/v2/"))).code]


@case
async def an_object_is_served_in_every_version(world: World) -> object:
    made = definition(world)
    made["spec"]["versions"].append({**made["spec"]["versions"][0], "name": "v2", "storage": False})
    path = await defined(world, made)
    await world.have(path, widget(world))
    other = await world.until(path.replace("/v1/", "/v2/") + "/a", lambda answer: answer.code == 200)
    return pick(other, "apiVersion", "kind", "spec")


@case
async def numbers_and_words_may_share_a_place(world: World) -> object:
    made = definition(world)
    _schema(made)["properties"]["spec"]["properties"]["amount"] = {"x-kubernetes-int-or-string": True}
    _schema(made)["properties"]["spec"]["properties"]["maybe"] = {"type": "string", "nullable": True}
    path = await defined(world, made)
    return [
        pick(await world.post(path, widget(world, "a", spec={"size": 1, "amount": 5})), "spec"),
        pick(
            await world.post(path, widget(world, "b", spec={"size": 1, "amount": "5Gi", "maybe": None})),
            "spec",
        ),
        verdict(await world.post(path, widget(world, "c", spec={"size": 1, "amount": [5]}))),
    ]


@case
async def maps_of_a_schema_have_free_keys(world: World) -> object:
    made = definition(world)
    _schema(made)["properties"]["spec"]["properties"]["extra"] = {
        "type": "object",
        "additionalProperties": {"type": "integer", "maximum": 5},
    }
    path = await defined(world, made)
    return [
        pick(await world.post(path, widget(world, spec={"size": 1, "extra": {"x": 1, "y": 2}})), "spec"),
        faults(await world.post(path, widget(world, "b", spec={"size": 1, "extra": {"x": 9}}))),
    ]


@case
async def a_rule_in_a_schema_is_enforced(world: World) -> object:
    made = definition(world)
    rule = {"rule": "self.size != 7", "message": "seven is taken"}
    _schema(made)["properties"]["spec"]["x-kubernetes-validations"] = [rule]
    path = await defined(world, made)
    return faults(await world.post(path, widget(world, spec={"size": 7})))
