"""Requests that cannot be done, and events, which two groups share."""

from __future__ import annotations

from contract.case import case
from contract.normal import faults, names, pick, verdict
from contract.things import config, pod, thing
from contract.world import Json, Object, World


@case
async def a_creation_without_a_body_is_a_bad_request(world: World) -> object:
    return [
        verdict(await world.ask("POST", world.at("configmaps"), b"")),
        verdict(await world.ask("POST", world.at("configmaps"))),
    ]


@case
async def a_body_that_is_no_json_is_a_bad_request(world: World) -> object:
    return verdict(await world.ask("POST", world.at("configmaps"), b"{not json"))


@case
async def a_body_of_an_unknown_type_is_not_supported(world: World) -> object:
    return [
        await world.ask("POST", world.at("configmaps"), b"x", content="text/plain"),
        await world.ask("POST", world.at("configmaps"), b"x", content="application/xml"),
    ]


@case
async def a_body_of_another_kind_is_a_bad_request(world: World) -> object:
    return [
        verdict(await world.post(world.at("configmaps"), thing("Secret", "a"))),
        verdict(await world.post(world.at("configmaps"), thing("ConfigMap", "a", "v2"))),
        verdict(await world.post(world.at("deployments", "apps/v1"), pod())),
    ]


@case
async def a_body_without_a_kind_is_taken_for_the_right_one(world: World) -> object:
    made = config()
    del made["kind"], made["apiVersion"]
    return pick(await world.post(world.at("configmaps"), made), "kind", "apiVersion", "data")


@case
async def a_body_that_is_a_list_is_a_bad_request(world: World) -> object:
    return verdict(await world.post(world.at("configmaps"), [config()]))


@case
async def an_unknown_path_is_not_found(world: World) -> object:
    return [
        await world.get("/nowhere"),
        await world.get("/api/v2/pods"),
        await world.get("/api/v1/nothings"),
        await world.get("/apis/apps/v1beta9/deployments"),
        await world.get(world.at("nothings/a")),
    ]


@case
async def a_method_that_is_not_served_is_not_allowed(world: World) -> object:
    return [
        await world.ask("POST", world.at("configmaps/a"), config()),
        await world.ask("PUT", world.at("configmaps"), config()),
        await world.ask("PATCH", world.at("configmaps"), {}, content="application/merge-patch+json"),
        await world.ask("DELETE", "/version"),
    ]


@case
async def a_creation_over_all_namespaces_is_not_allowed(world: World) -> object:
    made = config()
    made["metadata"]["namespace"] = world.namespace
    return await world.post(world.top("configmaps"), made)


@case
async def a_request_that_is_too_large_is_refused(world: World) -> object:
    answer = await world.post(world.at("configmaps"), config(data={"a": "x" * (4 * 1024 * 1024)}))
    return [answer.code, answer["reason"]]


@case
async def options_that_make_no_sense_are_refused_or_overlooked(world: World) -> object:
    return [
        verdict(await world.get(world.at("pods"), watch="false")),
        verdict(await world.get(world.at("pods"), timeoutSeconds="long")),
        verdict(await world.get(world.at("pods"), unknownOption="x")),
    ]


@case
async def a_pretty_answer_is_indented(world: World) -> object:
    async with world.server.admin.get("/api/v1/namespaces/default", params={"pretty": "true"}) as response:
        text = await response.text()
    return [response.status, text.startswith('{\n  "'), '\n  "metadata": {\n    "' in text]


@case
async def a_head_request_is_refused_or_answered(world: World) -> object:
    return (await world.ask("HEAD", "/api/v1/namespaces/default")).code


# -- events -----------------------------------------------------------------------------------------------------------


def _event(world: World, **more: Json) -> Object:
    return thing(
        "Event",
        "a.1",
        involvedObject={"kind": "Pod", "name": "a", "namespace": world.namespace, "apiVersion": "v1"},
        reason="Tested",
        message="it was tested",
        type="Normal",
        source={"component": "contract"},
        firstTimestamp="2024-01-01T00:00:00Z",
        lastTimestamp="2024-01-01T00:00:00Z",
        count=1,
        **more,
    )


def _new_event(world: World) -> Object:
    return thing(
        "Event",
        "b.1",
        "events.k8s.io/v1",
        regarding={"kind": "Pod", "name": "a", "namespace": world.namespace, "apiVersion": "v1"},
        reason="Tested",
        note="it was tested",
        type="Normal",
        action="Testing",
        eventTime="2024-01-01T00:00:00.000000Z",
        reportingController="example.com/contract",
        reportingInstance="contract-1",
    )


@case
async def an_event_of_the_core_is_read_in_both_groups(world: World) -> object:
    made = await world.post(world.at("events"), _event(world))
    return [made, await world.get(world.at("events/a.1", "events.k8s.io/v1"))]


@case
async def an_event_of_its_own_group_is_read_in_both_groups(world: World) -> object:
    made = await world.post(world.at("events", "events.k8s.io/v1"), _new_event(world))
    return [made, await world.get(world.at("events/b.1"))]


@case
async def events_are_selected_by_what_they_are_about(world: World) -> object:
    await world.have(world.at("events"), _event(world))
    await world.have(world.at("events", "events.k8s.io/v1"), _new_event(world))
    other = _event(world)
    other["metadata"]["name"] = "c.1"
    other["involvedObject"]["name"] = "c"
    other["type"] = "Warning"
    await world.have(world.at("events"), other)
    return {
        selector: names(await world.get(world.at("events"), fieldSelector=selector))
        for selector in (
            "involvedObject.name=a",
            "involvedObject.kind=Pod,type=Warning",
            "reason=Tested",
            "source=contract",
            f"involvedObject.namespace={world.namespace}",
            "involvedObject.uid=",
        )
    }


@case
async def an_event_is_about_something_in_its_namespace(world: World) -> object:
    wrong = _event(world)
    wrong["involvedObject"]["namespace"] = "default"
    return faults(await world.post(world.at("events"), wrong))


@case
async def an_event_of_its_own_group_is_complete(world: World) -> object:
    wrong = _new_event(world)
    del wrong["action"], wrong["reportingInstance"]
    return faults(await world.post(world.at("events", "events.k8s.io/v1"), wrong))


@case
async def an_event_counts_up_by_a_patch(world: World) -> object:
    await world.have(world.at("events"), _event(world))
    change = {"count": 2, "lastTimestamp": "2024-01-01T00:05:00Z"}
    return pick(await world.strategic(world.at("events/a.1"), change), "count", "firstTimestamp", "reason")
