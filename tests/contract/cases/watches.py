"""Watches: where they begin, what they tell, and how they end. A last object of each case is the fence that ends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from contract.case import case
from contract.definitions import defined
from contract.normal import events, field
from contract.things import secret
from contract.world import METADATA, TABLE, Object, World


def _named(name: str) -> Callable[[Object], bool]:
    def check(event: Object) -> bool:
        return field(event, "object.metadata.name") == name

    return check


def _color(thing: Mapping[str, Any]) -> object:
    return field(thing, "metadata.labels.color")


async def _have(world: World, *names: str, color: str = "red") -> str:
    version = ""
    for name in names:
        version = (await world.have(world.at("secrets"), secret(name, color=color))).version
    return version


@case
async def a_watch_from_a_version_tells_what_came_after(world: World) -> object:
    path = world.at("secrets")
    first = await _have(world, "a")
    await _have(world, "b")
    await world.must(world.merge(f"{path}/a", {"metadata": {"labels": {"color": "blue"}}}))
    await world.must(world.delete(f"{path}/b"))
    async with world.watching(path, resourceVersion=first) as stream:
        return [stream.code, events(await stream.take(3), _color)]


@case
async def a_watch_from_any_version_begins_with_what_is_there(world: World) -> object:
    path = world.at("secrets")
    await _have(world, "b", "a")
    async with world.watching(path, resourceVersion="0") as stream:
        first = await stream.take(2)
        await _have(world, "c")
        return [sorted(events(first)), events(await stream.take(1))]


@case
async def a_watch_without_a_version_begins_with_what_is_there(world: World) -> object:
    path = world.at("secrets")
    await _have(world, "a")
    async with world.watching(path) as stream:
        first = await stream.take(1)
        await world.must(world.delete(f"{path}/a"))
        return events(first) + events(await stream.take(1))


@case
async def a_deleted_object_is_told_as_it_last_was_with_a_new_version(world: World) -> object:
    path = world.at("secrets")
    version = await _have(world, "a")
    await world.must(world.delete(f"{path}/a"))
    async with world.watching(path, resourceVersion=version) as stream:
        [event] = await stream.take(1)
    thing = event["object"]
    return [event["type"], thing, int(thing["metadata"]["resourceVersion"]) > int(version)]


@case
async def a_changed_label_leaves_and_enters_a_watch(world: World) -> object:
    path = world.at("secrets")
    version = await _have(world, "a")
    for color in ("blue", "red", "red", "blue"):
        await world.must(world.merge(f"{path}/a", {"metadata": {"labels": {"color": color}}}))
    await world.must(world.merge(f"{path}/a", {"metadata": {"annotations": {"unseen": "yes"}}}))
    await _have(world, "fence")
    async with world.watching(path, resourceVersion=version, labelSelector="color=red") as stream:
        return events(await stream.until(_named("fence")), _color)


@case
async def a_watch_by_field_follows_one_object(world: World) -> object:
    path = world.at("secrets")
    version = await _have(world, "a")
    await _have(world, "b", "c")
    await world.must(world.delete(f"{path}/c"))
    await world.must(world.delete(f"{path}/b"))
    async with world.watching(path, resourceVersion=version, fieldSelector="metadata.name=b") as stream:
        return events(await stream.take(2))


@case
async def a_watch_ends_when_its_time_is_over(world: World) -> object:
    async with world.watching(world.at("secrets"), timeoutSeconds="1") as stream:
        return [stream.code, await stream.to_the_end()]


@case
async def a_watch_of_one_object_by_its_address_is_followed(world: World) -> object:
    await _have(world, "a", "b")
    path = world.at("secrets")
    async with world.watching(path, fieldSelector="metadata.name=a") as stream:
        first = await stream.take(1)
        await world.must(world.delete(f"{path}/b"))
        await world.must(world.delete(f"{path}/a"))
        return events(first) + events(await stream.take(1))


@case
async def a_watch_from_before_what_is_remembered_is_gone(world: World) -> object:
    path = await defined(world)
    async with world.watching(path, resourceVersion="1") as stream:
        event = await stream.next()
        status = event["object"]
        return [
            stream.code,
            event["type"],
            status["code"],
            status["reason"],
            status["message"].partition(":")[0],
        ]


@case
async def a_watch_from_a_version_that_is_none_is_refused(world: World) -> object:
    async with world.watching(world.at("secrets"), resourceVersion="abc") as stream:
        return [stream.code, stream.refusal]


@case
async def a_watch_can_begin_with_a_list_and_a_bookmark(world: World) -> object:
    path = world.at("secrets")
    await _have(world, "b", "a")
    query = {
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    async with world.watching(path, **query) as stream:
        first = await stream.until(lambda event: event["type"] == "BOOKMARK")
        await _have(world, "c")
        after = await stream.take(1)
    mark = first[-1]["object"]
    return [events(first[:-1]), mark, events(after)]


@case
async def a_watch_that_sends_the_list_needs_a_match(world: World) -> object:
    answers: list[Any] = []
    for query in (
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
    ):
        async with world.watching(world.at("secrets"), timeoutSeconds="1", **query) as stream:
            answers.append([stream.code, stream.refusal])
    return answers


@case
async def a_list_cannot_send_initial_events(world: World) -> object:
    return await world.get(world.at("secrets"), sendInitialEvents="true", resourceVersionMatch="NotOlderThan")


@case
async def a_watch_without_initial_events_begins_now(world: World) -> object:
    path = world.at("secrets")
    await _have(world, "a")
    query = {
        "sendInitialEvents": "false",
        "allowWatchBookmarks": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    async with world.watching(path, **query) as stream:
        await _have(world, "b")
        return events(await stream.until(_named("b")))


@case
async def a_watch_tells_metadata_alone(world: World) -> object:
    version = await _have(world, "a")
    await _have(world, "b")
    async with world.watching(world.at("secrets"), resourceVersion=version, accept=METADATA) as stream:
        return [stream.code, stream.refusal or await stream.take(1)]


@case
async def a_watch_tells_tables_and_their_columns_once(world: World) -> object:
    version = await _have(world, "a")
    await _have(world, "b", "c")
    async with world.watching(world.at("secrets"), resourceVersion=version, accept=TABLE) as stream:
        seen = await stream.take(2)
    return [
        (
            event["type"],
            event["object"]["kind"],
            len(event["object"]["columnDefinitions"] or []),
            [row["cells"][:3] for row in event["object"]["rows"]],
        )
        for event in seen
    ]


@case
async def a_watch_over_all_namespaces_selects_by_label(world: World) -> object:
    version = await _have(world, "a")
    await world.have(world.at("secrets"), secret("b", mine=world.tag))
    query = {"resourceVersion": version, "labelSelector": f"mine={world.tag}"}
    async with world.watching(world.top("secrets"), **query) as stream:
        return events(await stream.take(1), lambda thing: thing["metadata"]["namespace"])


@case
async def the_old_address_of_watches_works(world: World) -> object:
    await _have(world, "a")
    path = world.at("secrets").replace("/api/v1/", "/api/v1/watch/")
    async with world.server.admin.get(path, params={"timeoutSeconds": "1"}) as response:
        line = await response.content.readline()
    return [response.status, line[:15].decode()]


@case
async def a_dry_change_is_not_told(world: World) -> object:
    path = world.at("secrets")
    version = await _have(world, "a")
    await world.must(world.merge(f"{path}/a", {"metadata": {"labels": {"x": "y"}}}, dryRun="All"))
    await world.must(world.delete(f"{path}/a", dryRun="All"))
    await _have(world, "fence")
    async with world.watching(path, resourceVersion=version) as stream:
        return events(await stream.until(_named("fence")))


@case
async def a_change_of_nothing_is_not_told(world: World) -> object:
    path = world.at("secrets")
    version = await _have(world, "a")
    await world.must(world.merge(f"{path}/a", {"metadata": {"labels": {"color": "red"}}}))
    await _have(world, "fence")
    async with world.watching(path, resourceVersion=version) as stream:
        return events(await stream.until(_named("fence")))


@case
async def every_event_carries_the_version_it_made(world: World) -> object:
    path = world.at("secrets")
    version = await _have(world, "a")
    changed = await world.must(world.merge(f"{path}/a", {"metadata": {"labels": {"color": "blue"}}}))
    async with world.watching(path, resourceVersion=version) as stream:
        [event] = await stream.take(1)
    return event["object"]["metadata"]["resourceVersion"] == changed.version
