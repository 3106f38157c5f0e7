"""The bind verb: who binds, what a late answer means, and what kube-scheduler believes when it is told an untruth."""

import asyncio
from collections.abc import Callable

import pytest

from e2e.scheduling_kit import (
    Load,
    Scheduling,
    bind,
    bind_for,
    cleaned,
    fleet_pod,
    has_failed,
    is_refused,
    scheduled,
    tampered,
)
from testbed.api import Object, path_of
from testbed.extender import ExtenderCall
from testbed.extender_answers import accept_only, fail, hold, say
from testbed.manifests import is_bound

pytestmark = pytest.mark.xdist_group("fleet")
Unique = Callable[[str], str]
NODE = "kwok-00041"
OTHER = "kwok-00042"
DEFAULT_LIMIT = 5.0


@pytest.mark.smoke
async def test_an_extender_that_binds_does_so_in_place_of_the_scheduler_and_its_annotations_arrive(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("bound")
    scheduling.extender.script(name, "filter", accept_only(NODE))
    scheduling.extender.script(name, "bind", bind_for(scheduling.api, cards="0,3"))
    async with cleaned(scheduling.cluster, name):
        made = await scheduling.api.create(fleet_pod(name, extender="binder", scheduler="all-nodes"))
        seen = await scheduling.cluster.until_pod(name, is_bound)
    assert seen["spec"]["nodeName"] == NODE
    assert seen["metadata"]["annotations"] == {"cards": "0,3"}
    (call,) = scheduling.extender.calls(name, "bind")
    assert call.body == {
        "PodName": name,
        "PodNamespace": "default",
        "PodUID": made["metadata"]["uid"],
        "Node": NODE,
    }


async def test_a_bind_error_leaves_the_pod_as_it_was_and_starts_again_with_filter(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("error")
    extender = scheduling.extender
    extender.script(name, "bind", fail("the card was taken"), bind_for(scheduling.api, cards="1"))
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name, extender="binder", on=NODE))
        failed = await scheduling.cluster.until_pod(name, has_failed)
        assert scheduled(failed)["message"] == "the card was taken"
        assert not is_bound(failed)
        assert not tampered(failed)
        await scheduling.cluster.until_pod(name, is_bound)
    assert [call.verb for call in extender.calls(name)] == ["filter", "bind", "filter", "bind"]
    first, second = extender.calls(name, "bind")
    assert second.moment - first.moment > 0.9


async def test_a_pod_bound_in_time_but_answered_too_late_is_not_scheduled_again_yet_marked_as_not_scheduled(
    scheduling: Scheduling, unique: Unique
) -> None:
    """The condition is a lie: kube-scheduler writes it on a pod that is bound and may be running."""
    name, marker = unique("late-answer"), unique("marker")
    extender, released = scheduling.extender, asyncio.Event()

    async def bind_and_keep_silent(call: ExtenderCall) -> Object:
        await bind(scheduling.api, name, NODE, Load(annotations={"cards": "2"}, uid=call.body["PodUID"]))
        await released.wait()
        return {}

    extender.script(name, "bind", bind_and_keep_silent)
    async with cleaned(scheduling.cluster, name, marker):
        try:
            await scheduling.api.create(fleet_pod(name, extender="binder", on=NODE))
            (call,) = await extender.wait_for_call(name, "bind")
            seen = await scheduling.cluster.until_pod(name, has_failed)
            waited = asyncio.get_running_loop().time() - call.moment
        finally:
            released.set()
        assert "Client.Timeout exceeded" in scheduled(seen)["message"]
        # Half of it, because the call is seen later than it is sent on a busy machine.
        assert waited > DEFAULT_LIMIT / 2
        assert seen["spec"]["nodeName"] == NODE
        assert seen["metadata"]["annotations"] == {"cards": "2"}
        # It waits out the same back-off as the pod would, had it been put back into the queue before.
        extender.script(marker, "filter", fail("later"), accept_only(NODE))
        await scheduling.api.create(fleet_pod(marker, extender="plain", on=NODE))
        await scheduling.cluster.until_pod(marker, is_bound)
    assert [call.verb for call in extender.calls(name)] == ["filter", "bind"]


async def test_a_late_bind_and_its_repetition_cannot_both_win(scheduling: Scheduling, unique: Unique) -> None:
    """Two pods at once. In one the repetition comes first; in the other it comes last, with another node in mind."""
    again_first, again_last, marker = unique("again-first"), unique("again-last"), unique("marker")
    names = (again_first, again_last)
    extender = scheduling.extender
    late = {name: asyncio.Event() for name in names}
    second_filter = asyncio.Event()

    for name in names:
        first = hold(late[name], bind_for(scheduling.api, winner="first"))
        extender.script(name, "bind", first, bind_for(scheduling.api, winner="second"))
    extender.script(again_first, "filter", accept_only(NODE), accept_only(OTHER))
    extender.script(again_last, "filter", accept_only(NODE), hold(second_filter, accept_only(OTHER)))
    async with cleaned(scheduling.cluster, *names, marker):
        try:
            for name in names:
                await scheduling.api.create(fleet_pod(name, extender="binder", scheduler="all-nodes"))

            # Its second try binds; the first wakes up afterwards.
            repeated = await scheduling.cluster.until_pod(again_first, is_bound)
            late[again_first].set()
            await extender.wait_for_ending(again_first, "bind", count=2)
            unchanged = await scheduling.api.get(path_of("Pod", again_first))

            # Its first try binds while the second is being decided.
            await extender.wait_for_call(again_last, "filter", count=2)
            late[again_last].set()
            awaited = await scheduling.cluster.until_pod(again_last, is_bound)
            second_filter.set()
            await scheduling.api.create(fleet_pod(marker, extender="plain"))
            await scheduling.cluster.until_pod(marker, is_bound)
            kept = await scheduling.api.get(path_of("Pod", again_last))
        finally:
            for event in (*late.values(), second_filter):
                event.set()
    for seen in (repeated, unchanged):
        assert (seen["spec"]["nodeName"], seen["metadata"]["annotations"]) == (OTHER, {"winner": "second"})
    for seen in (awaited, kept):
        assert (seen["spec"]["nodeName"], seen["metadata"]["annotations"]) == (NODE, {"winner": "first"})


async def test_a_false_success_leaves_a_pod_that_nobody_schedules_while_its_place_is_taken(
    scheduling: Scheduling, unique: Unique
) -> None:
    name, neighbour, marker = unique("false"), unique("neighbour"), unique("marker")
    extender, api = scheduling.extender, scheduling.api
    extender.script(name, "bind", say("{}"))
    async with cleaned(scheduling.cluster, name, neighbour, marker):
        await api.create(fleet_pod(name, extender="binder", on=NODE, cpu="40"))
        await extender.wait_for_ending(name, "bind")
        # A change that would bring any waiting pod back into the queue.
        await api.patch(path_of("Pod", name), {"metadata": {"labels": {"touched": "yes"}}})
        await api.create(fleet_pod(neighbour, on=NODE, cpu="40"))
        refused = await scheduling.cluster.until_pod(neighbour, is_refused)
        assert "Insufficient cpu" in scheduled(refused)["message"]
        extender.script(marker, "filter", fail("later"), accept_only(OTHER))
        await api.create(fleet_pod(marker, extender="plain", on=OTHER))
        await scheduling.cluster.until_pod(marker, is_bound)
        seen = await api.get(path_of("Pod", name))
        assert not is_bound(seen)
        assert not scheduled(seen), "nothing on the pod tells that anything is wrong"
        assert [call.verb for call in extender.calls(name)] == ["filter", "bind"]
        # Its deletion gives the place back.
        await api.delete(path_of("Pod", name), grace=0)
        await scheduling.cluster.until_pod(neighbour, is_bound)


async def test_a_pod_left_by_a_false_success_can_still_be_bound_by_hand(
    scheduling: Scheduling, unique: Unique
) -> None:
    name = unique("false")
    scheduling.extender.script(name, "bind", say("{}"))
    async with cleaned(scheduling.cluster, name):
        await scheduling.api.create(fleet_pod(name, extender="binder", on=NODE))
        await scheduling.extender.wait_for_ending(name, "bind")
        await bind(scheduling.api, name, OTHER, Load(annotations={"cards": "5"}))
        seen = await scheduling.cluster.until_pod(name, is_bound)
    assert (seen["spec"]["nodeName"], seen["metadata"]["annotations"]) == (OTHER, {"cards": "5"})


async def test_of_many_calls_at_once_each_has_a_connection_and_only_two_of_them_are_kept(
    scheduling: Scheduling, unique: Unique
) -> None:
    bursts = [[unique(f"burst-{burst}-{number}") for number in range(6)] for burst in range(2)]
    extender = scheduling.extender
    async with cleaned(scheduling.cluster, *bursts[0], *bursts[1]):
        for names in bursts:
            together = asyncio.Event()
            for name in names:
                extender.script(name, "bind", hold(together, bind_for(scheduling.api)))
            made = [fleet_pod(name, extender="binder", on=NODE) for name in names]
            await asyncio.gather(*(scheduling.api.create(one) for one in made))
            for name in names:
                await extender.wait_for_call(name, "bind")
            together.set()
            for name in names:
                await scheduling.cluster.until_pod(name, is_bound)
    first, second = ({extender.calls(name, "bind")[0].port for name in names} for names in bursts)
    assert len(first) == len(second) == 6
    assert len(first & second) <= 2
